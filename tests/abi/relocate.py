#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every installed client of the RDMA libraries relocates against ours: relocate.py DIRECTORY.

All files of the packages below that need one of the libraries go through `ldd -r` with LD_LIBRARY_PATH set to the directory:
each of the libraries must come from there, and no symbol or version may be missing. Most of these programs are linked so that one
missing name keeps them from starting. Exit 77 when no client is installed.
"""
import os
import re
import subprocess
import sys

LIBRARIES = ['libibverbs.so.1', 'librdmacm.so.1', 'libefa.so.1', 'libmlx5.so.1', 'libmlx4.so.1', 'libhns.so.1', 'libmana.so.1',
             'libibumad.so.3']

PACKAGES = ['fio', 'ibacm', 'ibverbs-utils', 'infiniband-diags', 'libdapl2', 'libfabric1', 'libfabric-bin', 'libibmad5',
            'libibnetdisc5', 'libibnetdisc5t64', 'libiscsi7', 'libopenmpi3', 'libopenmpi3t64', 'librpma0', 'libucx0',
            'openmpi-bin', 'perftest', 'python3-pyverbs', 'qperf', 'rdmacm-utils', 'srptools', 'tgt', 'ucx-utils']


def package_files(package):
    out = subprocess.run(['dpkg', '-L', package], capture_output=True, text=True)
    files = out.stdout.splitlines() if out.returncode == 0 else []
    return [f for f in files if os.path.isfile(f) and not os.path.islink(f)]


def needs(path):
    with open(path, 'rb') as f:
        if f.read(4) != b'\x7fELF':
            return []
    out = subprocess.run(['readelf', '-d', '-W', path], capture_output=True, text=True).stdout
    return [n for n in re.findall(r'\(NEEDED\).*\[(.*)\]', out) if n in LIBRARIES]


def undefined_without_us(path):
    """What a module lacks with the distribution's libraries, too: names of the program that loads it (Open MPI's, an interpreter's)."""
    env = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'}
    out = subprocess.run(['ldd', '-r', path], env=env, capture_output=True, text=True)
    return set(re.findall(r'undefined symbol: ([^\s,]+)', out.stdout + out.stderr))


def faults(path, directory, needed):
    lacks = None
    env = dict(os.environ, LD_LIBRARY_PATH=directory)
    out = subprocess.run(['ldd', '-r', path], env=env, capture_output=True, text=True)
    bad = []
    for line in (out.stdout + out.stderr).splitlines():
        undefined = re.match(r'undefined symbol: ([^\s,]+)', line.strip())
        if undefined:
            lacks = undefined_without_us(path) if lacks is None else lacks
            if undefined.group(1) not in lacks:
                bad.append(line.strip())
        elif 'not found' in line or 'not defined' in line:
            bad.append(line.strip())
    for library in needed:
        if f'{library} => {directory}/' not in out.stdout:
            bad.append(f'{library} does not come from {directory}')
    return bad


def main():
    directory = os.path.realpath(sys.argv[1])
    clients = bad = 0
    for package in PACKAGES:
        for path in package_files(package):
            needed = needs(path)
            if not needed:
                continue
            clients += 1
            found = faults(path, directory, needed)
            if found:
                bad += 1
                print(f'{path} ({package}):')
                for line in found:
                    print('  ' + line)
    print(f'{clients} clients, {bad} do not relocate')
    if clients == 0:
        print('skipped: none of the client packages is installed')
        return 77
    return 1 if bad else 0


sys.exit(main())
