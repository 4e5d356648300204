# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What quickstart and check have in common: to be sourced by sh, from the top of the checkout.

PACKAGES_BUILD="gcc libc6-dev meson ninja-build pkg-config python3 libisal-dev libnl-route-3-dev libjansson-dev libibverbs-dev librdmacm-dev libibumad-dev"
PACKAGES_TRY="perftest ibverbs-utils"
PACKAGES_CHECK="clang python3-pyverbs libcmocka-dev libclang-rt-dev llvm mandoc rdmacm-utils libfabric-bin qperf fio tshark valgrind iproute2 ethtool procps binutils ucx-utils openmpi-bin libopenmpi-dev busybox-static"
PACKAGES_INTEROP="qemu-system-x86 cpio kmod xz-utils ethtool ibverbs-providers hpcc"

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') green=$(printf '\033[32m') red=$(printf '\033[31m') plain=$(printf '\033[0m')
else
	bold='' green='' red='' plain=''
fi

say() { printf '%s\n' "$*"; }
step() { printf '%s==>%s %s\n' "$green" "$plain" "$*"; }
die() { printf '%s%s%s\n' "$red" "$*" "$plain" >&2; exit 1; }

# packages_missing NAME...: those that are not installed.
packages_missing() {
	for package; do
		case " $(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null)" in
			*" installed "*) ;;
			*) printf '%s ' "$package" ;;
		esac
	done
}

# packages_known NAME...: those that the package lists of this release have; the contents of some packages moved between releases.
packages_known() {
	for package; do
		[ -z "$(apt-cache show "$package" 2>/dev/null)" ] || printf '%s ' "$package"
	done
}

# packages_install WHAT NAME...: installs what is missing, says what it does, is silent when nothing is.
packages_install() {
	purpose=$1
	shift
	command -v dpkg-query >/dev/null 2>&1 ||
		die "This script installs packages with apt-get, and here is no dpkg. On another distribution install the counterparts of:
  $*
and run: meson setup build -Dtests=false && ninja -C build"
	missing=$(packages_missing "$@")
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" = 0 ]; then
		as_root=
	elif command -v sudo >/dev/null 2>&1; then
		as_root=sudo
	else
		die "Missing $purpose: ${missing}
Installing packages needs root, and here is no sudo. As root: apt-get install --no-install-recommends $missing
Then run this again."
	fi
	step "Installing $purpose: $missing"
	log=$(mktemp)
	install="env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends"
	# The package lists may be old or absent: one update, one more try.
	if ! $as_root $install $missing >"$log" 2>&1 && ! { $as_root apt-get update -q && $as_root $install $(packages_known $missing); } >"$log" 2>&1; then
		tail -n 15 "$log" >&2
		rm -f "$log"
		die "apt-get could not install them; its last words are above."
	fi
	rm -f "$log"
}

# Configures build/ if need be (with the options given) and compiles it.
build_product() {
	if [ ! -f build/build.ninja ]; then
		step "Configuring build/"
		meson setup build "$@" >build.log 2>&1 || { tail -n 20 build.log >&2; die "meson setup failed; the whole log is build.log."; }
		rm -f build.log
	fi
	step "Compiling (about a minute the first time)"
	log=$(mktemp)
	if ! ninja -C build >"$log" 2>&1; then
		grep -v '^\[' "$log" | tail -n 40 >&2
		rm -f "$log"
		die "The build failed; the compiler's words are above. Repeat with: ninja -C build"
	fi
	rm -f "$log"
}

# Sets `as_user` (a command prefix, possibly empty), `user` and `product` (a directory with softverbs and lib/ that this user can read).
# The caller calls product_forget when done.
ordinary_user() {
	as_user= user=$(id -un) product=$PWD/build product_copy=
	[ "$(id -u)" = 0 ] || return 0
	user=nobody
	[ -z "${SUDO_USER:-}" ] || [ "$SUDO_USER" = root ] || user=$SUDO_USER
	as_user="runuser -u $user --"
	$as_user true 2>/dev/null || die "Cannot become the user $user to run the programs; is runuser (package util-linux) there?"
	# Run from build/, unless that user may not look into it, as in /root.
	if ! $as_user sh -c "test -x '$product/softverbs' && test -r '$product/lib/libibverbs.so.1' && test -x '$product/lib/softverbsd'" 2>/dev/null; then
		product_copy=$(mktemp -d)
		chmod 755 "$product_copy"
		cp build/softverbs "$product_copy/"
		mkdir "$product_copy/lib"
		for file in build/lib/*.so* build/lib/softverbsd; do
			[ -d "$file" ] || cp -P "$file" "$product_copy/lib/"
		done
		chmod -R a+rX "$product_copy"
		product=$product_copy
	fi
}

product_forget() { [ -z "${product_copy:-}" ] || rm -rf "$product_copy"; }
