#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Holds docs/seeds.md to the tree.

  seeds.py BUILD     each row is there once, and all that it names exists
  seeds.py self      a page with a fault of each kind is refused
"""
import json
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROWS = [f'{letter}{n}' for letter, last in (('A', 13), ('B', 19), ('C', 11), ('D', 27)) for n in range(1, last + 1)]
# The second proposal's rows come one by one.
MORE = {f'{letter}{n}' for letter, last in (('E', 12), ('F', 12), ('G', 4), ('H', 8), ('I', 1), ('J', 12), ('K', 25), ('X', 3))
        for n in range(1, last + 1)}
RESULTS = ('passes', 'historic')


def read(path):
    with open(f'{TOP}/{path}', encoding='utf-8', errors='replace') as f:
        return f.read()


def tests_of(build):
    with open(f'{build}/meson-info/intro-tests.json') as f:
        return {test['name'] for test in json.load(f)}


def programs():
    sys.path.insert(0, f'{TOP}/tests/programs')
    import run  # its modules register their rows
    return {name for name, _, _ in run.rows.ROWS}


def wrong_with(name, tests, rows):
    """None, or why this proof is none."""
    if name in tests:
        return None
    if name.startswith('row: '):
        return None if name[5:] in rows else f'there is no row "{name[5:]}"'
    path, _, case = name.partition(': ')
    if not os.path.exists(f'{TOP}/{path}') or '/' not in path:
        return f'"{name}" is neither a test nor a file'
    if case and not re.search(rf'["\s(]{re.escape(case)}["\s,()]', read(path)):
        return f'{path} has no case "{case}"'
    return None


def complaints(page, tests, rows):
    seen = []
    for line in page.split('\n'):
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if not line.startswith('| ') or not re.fullmatch(r'[A-Z]\d+', cells[0]):
            continue
        seen.append(cells[0])
        if len(cells) != 4 or cells[3] not in RESULTS:
            yield f'{cells[0]}: the result is none of {", ".join(RESULTS)}'
            continue
        proofs = re.findall(r'`([^`]+)`', cells[2])
        if not proofs and cells[3] != 'historic':
            yield f'{cells[0]}: no proof'
        for proof in proofs:
            why = wrong_with(proof, tests, rows)
            if why:
                yield f'{cells[0]}: {why}'
    for row in ROWS:
        if seen.count(row) != 1:
            yield f'{row} is there {seen.count(row)} times'
    for row in sorted(MORE):
        if seen.count(row) > 1:
            yield f'{row} is there {seen.count(row)} times'
    for row in set(seen) - set(ROWS) - MORE:
        yield f'{row} is no row of the proposals'


def self_test():
    good = '\n'.join(f'| {row} | what | `some/test`, `row: a program`, `tests/style/seeds.py: self_test` | passes |' for row in ROWS)
    tests, rows = {'some/test'}, {'a program'}
    faults = {
        '': 0,
        '| A1 | what | `some/test` | passes |': 1,
        '| E1 | what | `some/test` | passes |': 0,
        '| E1 | what | `some/test` | passes |\n| E1 | what | `some/test` | passes |': 1,
        '| Z1 | what | `some/test` | passes |': 1,
    }
    changes = [('| passes |', '| fails |'), ('some/test', 'other/test'), ('row: a program', 'row: another'),
               ('seeds.py: self_test', 'seeds.py: nothing'), ('seeds.py: self_test', 'nothing.py'),
               ('`some/test`, `row: a program`, `tests/style/seeds.py: self_test`', 'words'), ('| A1 |', '| A1b |')]
    for extra, count in faults.items():
        got = list(complaints(f'{good}\n{extra}', tests, rows))
        assert len(got) == count, (extra, got)
    for old, new in changes:
        got = list(complaints(good.replace(old, new, 1), tests, rows))
        assert len(got) == 1, (old, got)
    return []


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = self_test() if sys.argv[1] == 'self' else list(complaints(read('docs/seeds.md'), tests_of(sys.argv[1]), programs()))
    for words in found:
        print(f'docs/seeds.md: {words}')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
