#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Run by `meson install`: build/lib/ goes as it is to LIBDIR/softverbs, the manual pages to their sections.
set -eu
to=$MESON_INSTALL_DESTDIR_PREFIX/$1
man=$MESON_INSTALL_DESTDIR_PREFIX/$2
mkdir -p "$to"
for file in "$MESON_BUILD_ROOT"/lib/*.so* "$MESON_BUILD_ROOT/lib/softverbsd"; do
	[ -d "$file" ] || cp -Pf "$file" "$to/"
done
for page in "$MESON_SOURCE_ROOT"/man/*.[1-8]; do
	section=${page##*.}
	mkdir -p "$man/man$section"
	cp -f "$page" "$man/man$section/"
done
