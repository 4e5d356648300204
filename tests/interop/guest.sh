#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Makes what a guest of tests/interop boots: Debian's kernel image with its own modules, among them rdma_rxe, and an initramfs
# of the RDMA programs that are installed here (Debian's, not ours: ibverbs-utils, perftest, and libibverbs with its rxe
# provider). Only the kernel is downloaded; nothing is installed and nothing leaves the directory.
#
#   guest.sh DIRECTORY [PROGRAM...]
#
# Leaves DIRECTORY/kernel and DIRECTORY/initramfs; does nothing when they are there and younger than what they are made of.
# PROGRAM: of ours, put into the guest's /opt. Ends with 77 and a reason when this machine cannot make a guest.
set -eu
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
here=$(cd "$(dirname "$0")" && pwd)
out=$1
shift

skip() { printf '%s\n' "$*" >&2; exit 77; }

TOOLS="ip rdma ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ib_send_bw ib_send_lat ib_write_bw
	ib_write_lat ib_read_bw ib_read_lat ib_atomic_bw ib_atomic_lat rping ucmatose udaddy mckey"
MODULES="virtio_pci virtio_console virtio_net crc32_generic ib_uverbs rdma_ucm rdma_rxe"

[ "$(uname -m)" = x86_64 ] || skip "the guest is x86_64 only"
for tool in qemu-system-x86_64 cpio xz modprobe depmod readelf apt-get dpkg-deb; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done
busybox=$(command -v busybox) || skip "busybox-static is not installed"
! readelf -lW "$busybox" | grep -q INTERP || skip "busybox is not the static one (package busybox-static)"
provider=$(dpkg-query -L ibverbs-providers 2>/dev/null | grep '/librxe-rdmav[0-9]*\.so$') ||
	skip "ibverbs-providers is not installed"
# Loaded by pthread_exit and pthread_cancel, which rping ends with.
unwinder=$(ldconfig -p | sed -n 's/.*libgcc_s\.so\.1 (.*x86-64.*=> //p' | head -n 1)
paths=
for tool in $TOOLS; do
	path=$(command -v "$tool") || skip "$tool is not installed"
	paths="$paths $path"
done

mkdir -p "$out"
out=$(cd "$out" && pwd)
exec 9>"$out/lock"
flock 9

# The stable name of the kernel depends on the one with a version in it.
kernel_fetch() {
	image=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$image" ] || skip "apt knows no linux-image-amd64 (Debian's kernel)"
	work=$out/kernel.work
	rm -rf "$work"
	mkdir "$work"
	(cd "$work" && apt-get -q -o APT::Sandbox::User=root download "$image" >log 2>&1) ||
		skip "$image cannot be downloaded: $(tail -n 1 "$work/log")"
	dpkg-deb --fsys-tarfile "$work/$image"_*.deb | tar -x -C "$work" ./boot ./lib/modules
	version=$(ls "$work/lib/modules")
	depmod -b "$work" "$version"
	root=$work/root/usr/lib/modules/$version
	mkdir -p "$root"
	for module in $MODULES; do
		modprobe -d "$work" -S "$version" --show-depends "$module"
	done | sed -n "s,^insmod $work/lib/modules/$version/\([^ ]*\).*,\1,p" | sort -u | while read -r file; do
		mkdir -p "$root/$(dirname "$file")"
		cp "$work/lib/modules/$version/$file" "$root/$file"
	done
	cp "$work/lib/modules/$version"/modules.order "$work/lib/modules/$version"/modules.builtin* "$root/"
	depmod -b "$work/root/usr" "$version"
	# Unpacked here, in a moment; QEMU starts an ELF kernel by its PVH note. Emulated, unpacking takes the guest seconds.
	packed=$work/boot/vmlinuz-$version
	start=$(grep -abo "$(printf '\375')7zXZ" "$packed" | head -n 1 | cut -d: -f1)
	tail -c "+$((${start:-0} + 1))" "$packed" | xz -qdc >"$work/vmlinux" 2>/dev/null || :
	readelf -nW "$work/vmlinux" 2>/dev/null | grep -q Xen || cp "$packed" "$work/vmlinux"
	rm -rf "$out/modules"
	mv "$work/root" "$out/modules"
	mv "$work/vmlinux" "$out/kernel"
	printf '%s\n' "$MODULES" >"$out/kernel.made"
	rm -rf "$work"
}

# in_guest FILE...: copies it under its own name, and the libraries that it needs. ld.so.cache is not copied: the guest makes do
# with the paths that are built in.
in_guest() {
	for file; do
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file"
		env -u LD_LIBRARY_PATH -u LD_PRELOAD ldd "$file" 2>/dev/null |
			sed -n 's/^.*=> \(\/[^ ]*\) (0x.*/\1/p; s/^\s*\(\/[^ ]*\) (0x.*/\1/p' | while read -r library; do
			[ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"; }
		done
	done
}

initramfs_make() {
	root=$out/root
	rm -rf "$root"
	mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/opt" "$root/etc/libibverbs.d" \
		"$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/run"
	for directory in bin sbin lib lib64; do
		ln -s "usr/$directory" "$root/$directory"
	done
	cp -R "$out/modules/usr/lib/modules" "$root/usr/lib/"
	cp "$busybox" "$root/usr/bin/busybox"
	ln -s busybox "$root/usr/bin/sh" # init makes the other links
	ln -s "$(command -v ip)" "$root/opt/ip" # busybox's shell takes its own ip before any other
	# shellcheck disable=SC2086
	in_guest $paths "$provider" $unwinder
	echo 'driver rxe' >"$root/etc/libibverbs.d/rxe.driver"
	echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
	cp "$here/init" "$root/init"
	for program; do
		in_guest "$(cd "$(dirname "$program")" && pwd)/$(basename "$program")"
		cp "$program" "$root/opt/"
	done
	(cd "$root" && find . -print0 | sort -z | cpio --quiet --null -o -H newc -R 0:0) >"$out/initramfs.new"
	mv "$out/initramfs.new" "$out/initramfs"
	rm -rf "$root"
}

# The modules are in the stamp: when the list grows, they are fetched anew.
[ -e "$out/kernel" ] && [ "$(cat "$out/kernel.made" 2>/dev/null)" = "$MODULES" ] || kernel_fetch
fresh=yes
# shellcheck disable=SC2086
for file in "$out/kernel" "$here/init" "$here/guest.sh" "$provider" $paths "$@"; do
	[ "$out/initramfs" -nt "$file" ] || fresh=
done
[ -n "$fresh" ] || initramfs_make "$@"
