#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""rdma-core's own tests, as Debian's python3-pyverbs ships them, over a build of softverbs; and docs/conformance.md held to
what was seen.

  tests/pyverbs/run.py BUILD_DIRECTORY [OBJECTS_PROGRAM] [--full] [--update]

As an ordinary user, in a network namespace of its own where it may make one. Quick: the whole suite on sv_lo, RoCE v2 over IPv4.
--full (or SOFTVERBS_CHECK=full): sv_lo and a veth device, IPv4 and IPv6. --update rewrites the tables of the page instead of
comparing them. Exit status 77: python3-pyverbs is not installed.
"""
import argparse
import gzip
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'programs'))
from world import TOP, Failed, World, need  # noqa: E402

PAGE = f'{TOP}/docs/conformance.md'
SUITE = '/usr/share/doc/rdma-core/tests'
SECONDS = 120  # for one run of the suite, which takes about 10
# Files of other vendors' extensions, which ask for that vendor's device: not of the RoCE class.
OTHERS = re.compile(r'test_(mlx5_(?!timestamp\.)|efa|cuda)')
# What a skip says -> why it is skipped here. What is on the host's side may differ on another host.
HOST = ' (host)'
CAUSES = [
    (r'Allocating dmabuf is not supported', 'no GPU that gives out dma-bufs (/dev/dri/renderD128)' + HOST),
    (r'no huge pages of size 2M', 'no huge pages are set aside (vm.nr_hugepages)' + HOST),
    (r'Must be run by root|must be done by root', 'raw packet QPs and flow steering ask for root; as root they are EOPNOTSUPP: '
     'frames are not ours to send'),
    (r'Extended CQ is not supported$', 'tag matching: no adapter of RoCE alone has it, EOPNOTSUPP'),
    (r'Converting timestamp to nanoseconds', "asks mlx5dv for the clock of mlx5, which this device is not"),
]


def cause_of(words):
    return next((why for pattern, why in CAUSES if re.search(pattern, words)), None)


def unpack(directory):
    os.makedirs(directory)
    for name in os.listdir(SUITE):
        path = f'{SUITE}/{name}'
        if name.endswith('.py.gz'):
            with gzip.open(path) as f, open(f'{directory}/{name[:-3]}', 'wb') as out:
                shutil.copyfileobj(f, out)
        elif name.endswith('.py'):
            shutil.copy(path, directory)


class Suite:
    """The suite, unpacked for the world's user."""

    def __init__(self, world):
        self.world, self.directory = world, f'{world.work}/tests'
        unpack(self.directory)
        shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'suite.py'), f'{world.work}/suite.py')
        os.chmod(f'{world.work}/suite.py', 0o644)

    def run(self, device, version):
        """name -> (result, words, seconds) of the tests of the RoCE class."""
        out = f'{self.world.work}/results-{device}-{version}'
        with open(out, 'w'):
            os.chmod(out, 0o666)
        process = self.world.start(['/bin/sh', '-c', f'exec /usr/bin/python3 "$@" 3>>{out}', 'sh', f'{self.world.work}/suite.py',
                                    self.directory, device, version], via='run', env={'PYTHONDONTWRITEBYTECODE': '1'})
        status = process.wait(SECONDS)
        results = {}
        with open(out, encoding='utf-8') as f:
            for line in f:
                one = json.loads(line)
                before = results.get(one['name'])
                if before is None or before[0] == 'begun':
                    results[one['name']] = (one['result'], one['words'], one.get('seconds', 0))
        if status != 0:
            last = next((name for name, r in results.items() if r[0] == 'begun'), 'none')
            end = 'still running' if status is None else f'ended with {status}'
            raise Failed(f'the suite on {device}, IPv{version}: {end}; the test under way: {last}\n{process.text()}')
        return {name: r for name, r in results.items() if not OTHERS.match(name)}


# --- docs/conformance.md ---

def section(text, name):
    """(start, end) of what is between the markers."""
    found = re.search(rf'<!-- {name}: begin[^>]*-->\n(.*?)<!-- {name}: end -->', text, re.S)
    need(found, f'docs/conformance.md has no part "{name}"')
    return found.span(1)


def rows_of(text, name):
    start, end = section(text, name)
    lines = [line for line in text[start:end].split('\n') if line.startswith('|')][2:]
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]


def table(head, rows):
    lines = ['| ' + ' | '.join(head) + ' |', '|' + ' --- |' * len(head)]
    return '\n' + '\n'.join(lines + ['| ' + ' | '.join(map(str, row)) + ' |' for row in rows]) + '\n\n'


def expected_rows(results):
    return [[f'`{name}`', 'pass' if result == 'pass' else 'skip', '' if result == 'pass' else cause_of(words) or words]
            for name, (result, words, _) in sorted(results.items())]


def judge(results, rows, where):
    """Lines that say what differs from the page."""
    wrong, page = [], {row[0].strip('`'): row[1:] for row in rows}
    for name, (result, words, _) in sorted(results.items()):
        if result in ('fail', 'error', 'begun'):
            wrong.append(f'{where}: {name}: {result}\n' + '\n'.join('    ' + line for line in words.strip().split('\n')[-12:]))
            continue
        should, why = page.get(name, ('missing', ''))
        if result == 'skip' and cause_of(words) is None:
            wrong.append(f'{where}: {name}: skipped, and nobody knows why: {words}')
        elif should == 'missing':
            wrong.append(f'{where}: {name}: the page does not have it')
        elif result != should and not why.endswith(HOST):
            wrong.append(f'{where}: {name}: {result}, the page says {should} {words}')
        elif result == 'skip' and cause_of(words) != why and not cause_of(words).endswith(HOST):
            wrong.append(f'{where}: {name}: skipped for another reason than the page says: {cause_of(words)}')
    wrong += [f'{where}: {name}: on the page, but no such test ran' for name in sorted(set(page) - set(results))]
    return wrong


def objects_seen(world, program):
    """[object, call, answer] as the program finds them."""
    text = world.start([program, 'sv_lo'], via='plain').expect(20)
    return [line.split('\t') for line in text.strip().split('\n') if line.count('\t') == 2]


def objects_judge(seen, rows):
    wrong, page = [], {(row[0], row[1]): row[2] for row in rows}
    for what, call, answer in seen:
        should = page.pop((what, call), None)
        if should is None:
            wrong.append(f'objects: {call} ({what}) is not on the page; it answers {answer}')
        elif should != answer:
            wrong.append(f'objects: {call} ({what}) answers {answer}, the page says {should}')
    return wrong + [f'objects: {call} ({what}) is on the page, but was not tried' for what, call in page]


def objects_rows(seen, rows):
    """The page's reasons stay."""
    why = {(row[0], row[1]): row[3] for row in rows}
    return [[what, call, answer, why.get((what, call), '')] for what, call, answer in seen]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('build')
    parser.add_argument('objects', nargs='?')
    parser.add_argument('--full', action='store_true', default=os.environ.get('SOFTVERBS_CHECK') == 'full')
    parser.add_argument('--update', action='store_true')
    options = parser.parse_args()
    if not os.path.exists(f'{SUITE}/run_tests.py'):
        print('python3-pyverbs is not installed')
        return 77
    world = World(os.path.abspath(options.build))
    wrong = []
    try:
        with open(PAGE, encoding='utf-8') as f:
            text = f.read()
        suite = Suite(world)
        runs = [('sv_lo', '4')]
        if options.full:
            runs.append(('sv_lo', '6'))
            runs += [('sv_sv0', '4'), ('sv_sv0', '6')] if world.own_namespace else []
        for device, version in runs:
            results = suite.run(device, version)
            where = f'{device}, IPv{version}'
            counts = {r: sum(x[0] == r for x in results.values()) for r in ('pass', 'skip', 'fail', 'error')}
            print(f'{where}: {len(results)} tests: ' + ', '.join(f'{n} {r}' for r, n in counts.items()))
            if options.update and (device, version) == runs[0]:
                start, end = section(text, 'suite')
                text = text[:start] + table(['test', 'result', 'cause'], expected_rows(results)) + text[end:]
            wrong += judge(results, rows_of(text, 'suite'), where)
        page = rows_of(text, 'suite')
        sentence = f'{sum(row[1] == "pass" for row in page)} of {len(page)} pass,'
        if options.update:
            text = re.sub(r'\w+ of \w+ pass,', sentence, text)
        if sentence not in text:
            wrong.append(f'the page must say: {sentence}')
        if options.objects:
            program = shutil.copy(options.objects, f'{world.work}/objects')
            os.chmod(program, 0o755)
            seen = objects_seen(world, program)
            if options.update:
                start, end = section(text, 'objects')
                rows = objects_rows(seen, rows_of(text, 'objects'))
                text = text[:start] + table(['object', 'call', 'answer', 'why'], rows) + text[end:]
            wrong += objects_judge(seen, rows_of(text, 'objects'))
        if options.update:
            with open(PAGE, 'w', encoding='utf-8') as f:
                f.write(text)
    except Failed as e:
        wrong.append(str(e))
    finally:
        world.close()
    print('\n'.join(wrong))
    return 1 if wrong else 0


sys.exit(main())
