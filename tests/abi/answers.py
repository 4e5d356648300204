#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every function of a thin library answers "not this device" by its own convention: answers.py LIBRARY LIST HEADER CC.

The convention is read from the return type in the installed header: a pointer is NULL with errno EOPNOTSUPP, an int is
EOPNOTSUPP, a ssize_t or a descriptor is -1 with errno, a bool is false. Functions that the installed header does not know are
only called. Exit 77 when the header is not there.
"""
import ctypes
import errno
import re
import subprocess
import sys

# int functions whose result is a descriptor
DESCRIPTORS = {'mlx5dv_vfio_get_events_fd', 'mlx5dv_devx_uar_export_dmabuf_fd'}


def prototypes(header, cc):
    command = [*cc.split(), '-E', '-P', '-D_GNU_SOURCE', '-include', header, '-xc', '/dev/null']
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode != 0:
        return None
    text = re.sub(r'\s+', ' ', out.stdout)
    declaration = r'(?:^|(?<=[;}])) ?((?:[A-Za-z_]\w* )+\**) ?(\w+) ?\([^;{]*\) ?(?:__attribute__ ?[^;{]*)?;'
    return {m.group(2): m.group(1).strip() for m in re.finditer(declaration, text)}


def wrong(function, name, returns):
    ctypes.set_errno(0)
    arguments = [None] * 6
    if returns is not None and returns.endswith('*'):
        function.restype = ctypes.c_void_p
        value, err = function(*arguments), ctypes.get_errno()
        return None if value is None and err == errno.EOPNOTSUPP else f'pointer: {value}, errno {err}'
    if returns == '_Bool':
        function.restype = ctypes.c_bool
        return None if function(*arguments) is False else 'says yes'
    if returns == 'void':
        function(*arguments)
        return None
    if returns == 'ssize_t' or name in DESCRIPTORS:
        function.restype = ctypes.c_ssize_t if returns == 'ssize_t' else ctypes.c_int
        value, err = function(*arguments), ctypes.get_errno()
        return None if value == -1 and err == errno.EOPNOTSUPP else f'{value}, errno {err}'
    if returns == 'int':
        function.restype = ctypes.c_int
        value = function(*arguments)
        return None if value == errno.EOPNOTSUPP else f'int: {value}'
    if returns is None: # newer than the header
        function.restype = ctypes.c_int
        function(*arguments)
        return None
    return f'unknown return type "{returns}"'


def main():
    library, path, header, cc = sys.argv[1:]
    known = prototypes(header, cc)
    if known is None:
        print(f'skipped: no {header} here')
        return 77
    names = sorted({line.split()[0] for line in open(path, encoding='ascii') if not line.startswith('#')})
    loaded = ctypes.CDLL(library, use_errno=True)
    bad = checked = 0
    for name in names:
        checked += name in known
        fault = wrong(getattr(loaded, name), name, known.get(name))
        if fault:
            bad += 1
            print(f'  {name}: {fault}')
    print(f'{library}: {len(names)} functions, {checked} of them in {header}, {bad} wrong')
    return 1 if bad or checked == 0 else 0


sys.exit(main())
