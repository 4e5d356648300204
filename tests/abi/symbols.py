#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every public name of one library, at its version: symbols.py LIBRARY LIST.

The list (NAME VERSION [compat]) is a fact about the reference libraries. The library must export exactly that: each pair, with
the default mark where the list has no "compat", no pair more; and the loader must find each by name and version, which is what
programs that dlopen do.
"""
import ctypes
import re
import subprocess
import sys


PRIVATE = 'SOFTVERBS_PRIVATE'  # what our own libraries call in each other


def read_list(path):
    pairs = {}
    for line in open(path, encoding='ascii'):
        words = line.split('#')[0].split()
        if words:
            name, version, *mark = words
            assert mark in ([], ['compat']), line
            assert (name, version) not in pairs, line
            pairs[name, version] = not mark
    return pairs


def read_library(path):
    out = subprocess.run(['readelf', '--dyn-syms', '-W', path], check=True, capture_output=True, text=True).stdout
    pairs = {}
    for line in out.splitlines():
        words = line.split()
        # Num: Value Size Type Bind Vis Ndx Name@[@]Version; the version nodes themselves are ABS objects.
        if len(words) < 8 or words[6] in ('UND', 'Ndx', 'ABS'):
            continue
        name, at, version = re.fullmatch(r'([^@]+)(@{0,2})(.*)', words[7]).groups()
        if version == PRIVATE:
            continue
        pairs[name, version] = at == '@@'
    return pairs


def main():
    library, path = sys.argv[1:]
    want, have = read_list(path), read_library(library)
    wrong = []
    for pair in sorted(want.keys() | have.keys()):
        if pair not in have:
            wrong.append(f'missing: {pair[0]} {pair[1]}')
        elif pair not in want:
            wrong.append(f'not in the list: {pair[0]} {pair[1] or "(no version)"}')
        elif want[pair] != have[pair]:
            wrong.append(f'{pair[0]} {pair[1]}: {"must" if want[pair] else "must not"} be the default version')

    loaded = ctypes.CDLL(library)
    dlvsym = ctypes.CDLL(None).dlvsym
    dlvsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    dlvsym.restype = ctypes.c_void_p
    for name, version in want:
        if not dlvsym(loaded._handle, name.encode(), version.encode()):
            wrong.append(f'dlvsym does not find {name} {version}')

    print(f'{library}: {len(want)} names wanted, {len(have)} found')
    for line in wrong:
        print('  ' + line)
    return 1 if wrong or not want else 0


sys.exit(main())
