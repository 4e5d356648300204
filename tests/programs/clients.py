# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""docs/clients.md held to the rows: each of its lines names a row, and that row must have run the command with that result.

A line of a table there has: program | version | command line | result | row. What can be checked is checked:

  the row exists; if it ran in this run, it passed and started a process with the words of the command line, in their order;
  the version is that of the installed package, if it is installed (another distribution may have another: then nothing is said)

The row that calls this stands last, so that the others have run. With --only it sees what there was.
"""
import functools
import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGES = {'ibv_': 'ibverbs-utils', 'ib_': 'perftest', 'qperf': 'qperf', 'fi_': 'libfabric-bin', 'fio': 'fio',
            'ucx_': 'ucx-utils', 'io_demo': 'ucx-utils', 'mpirun': 'openmpi-bin',
            **{p: 'rdmacm-utils' for p in ('rping', 'ucmatose', 'udaddy', 'cmtime', 'rdma_', 'mckey')},
            'rdma': 'iproute2'}
DEBIAN = '12'
HISTORY = {}  # row -> (result, [argv]); run.py fills it


def remember(name, result, commands):
    HISTORY[name] = (result, commands)


def lines():
    """(number, cells) of the tables' lines."""
    with open(f'{TOP}/docs/clients.md', encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            if line.startswith('| `'):
                yield number, [cell.strip().strip('`') for cell in line.strip().strip('|').split('|')]


@functools.cache
def package_version(program):
    package = next((p for prefix, p in PACKAGES.items() if program.startswith(prefix)), None)
    done = subprocess.run(['dpkg-query', '-W', '-f', '${Version}', package], capture_output=True, text=True) if package else None
    return done.stdout if done and done.returncode == 0 else None


@functools.cache
def is_debian():
    try:
        with open('/etc/os-release', encoding='utf-8') as f:
            text = f.read()
    except OSError:
        return False
    return 'ID=debian\n' in text and f'VERSION_ID="{DEBIAN}"' in text


def ran(command, argv):
    """Are the words of the command in argv, in their order?"""
    rest = iter(argv)
    return all(word in rest for word in command.split())


def complaints():
    import rows
    known = {name: when for name, _, when in rows.ROWS}
    seen, out = 0, []
    for number, cells in lines():
        where = f'docs/clients.md:{number}: '
        if len(cells) != 5:
            out.append(f'{where}{len(cells)} cells instead of 5')
            continue
        program, version, command, result, row = cells
        seen += 1
        if row not in known:
            out.append(f'{where}there is no row "{row}"')
        elif row in HISTORY and HISTORY[row][0] != 'skip':
            got, commands = HISTORY[row]
            if got != 'pass':
                out.append(f'{where}"{row}" failed')
            elif not any(ran(command, argv) for argv in commands):
                out.append(f'{where}"{row}" runs no "{command}", but {[" ".join(a) for a in commands[:4]]}')
        if not command.startswith(program):
            out.append(f'{where}"{command}" is no command of {program}')
        if not result.startswith(('runs', 'refused')):
            out.append(f'{where}the result is "runs" or "refused", and what there is to say')
        installed = package_version(program)
        if is_debian() and installed and installed != version:
            out.append(f'{where}{program} {version}: installed is {installed}')
    if seen == 0:
        out.append('docs/clients.md has no lines that could be checked')
    return out
