#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs unmodified RDMA programs over build/softverbs and build/lib, as an ordinary user.

  tests/programs/run.py [--full] [--only GLOB] [--list] [--results FILE] [--build DIR]

As root it becomes the user nobody (or who called sudo) for the programs, and works in a network namespace of its own.
--full runs the rows of both kinds; --only those whose name matches the pattern or contains the text, whatever their kind.
--results gets JSON for ./check. --build names another build directory than build/.
"""
import argparse
import fnmatch
import json
import os
import signal
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clients  # noqa: E402
import rows  # noqa: E402
import rows_cm  # noqa: E402,F401
import rows_hosts  # noqa: E402,F401
import rows_mcast  # noqa: E402,F401
import rows_stacks  # noqa: E402,F401
import rows_sysview  # noqa: E402,F401
import rows_tools  # noqa: E402,F401
from world import TOP, Failed, Skipped, World  # noqa: E402

COLOURS = {'pass': '32', 'fail': '31', 'skip': '33'}


def run_row(world, name, function):
    started = time.monotonic()
    result, words = 'pass', ''
    try:
        function(world)
    except Skipped as e:
        result, words = 'skip', str(e)
    except Failed as e:
        result, words = 'fail', str(e)
    except Exception:  # a row that breaks is a row that fails
        result, words = 'fail', traceback.format_exc()
    finally:
        clients.remember(name, result, [process.argv for process in world.processes])
        world.end_row()
    return {'name': name, 'result': result, 'words': words, 'seconds': round(time.monotonic() - started, 2)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--full', action='store_true')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--only')
    parser.add_argument('--results')
    parser.add_argument('--build', default=f'{TOP}/build')
    options = parser.parse_args()
    chosen = [(name, f) for name, f, when in rows.ROWS
              if (fnmatch.fnmatch(name, options.only) or options.only in name if options.only else options.full
                  or when == 'quick')]
    if options.list:
        print('\n'.join(name for name, _ in chosen))
        return 0
    if not chosen:
        print(f'no row matches {options.only}', file=sys.stderr)
        return 2
    # Asked to end, we end what we started first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    world = World(os.path.abspath(options.build))
    terminal = sys.stdout.isatty() and not os.environ.get('NO_COLOR')
    results = []
    print(f'    as {world.user}, {"in a network namespace of our own" if world.own_namespace else "in this network namespace"}')
    try:
        for name, function in chosen:
            if terminal:
                print(f'\r    {len(results) + 1} of {len(chosen)}: {name}\033[K', end='', flush=True)
            results.append(run_row(world, name, function))
            row = results[-1]
            if options.results is None or row['result'] != 'pass':
                word = f'\033[{COLOURS[row["result"]]}m{row["result"]}\033[0m' if terminal else row['result']
                start, end = ('\r', '\033[K') if terminal else ('', '')
                print(f'{start}    {word} {row["seconds"]:6.2f} s  {name}{end}', flush=True)
            if options.results is None and row['words']:
                print('\n'.join('          ' + line for line in row['words'].strip().split('\n')[-40:]), flush=True)
    finally:
        world.close()
        if options.results:
            with open(options.results, 'w') as f:
                json.dump(results, f)
        if terminal:
            print('\r\033[K', end='')
    count = [sum(r['result'] == kind for r in results) for kind in ('pass', 'fail', 'skip')]
    if options.results is None:
        print('{} passed, {} failed, {} skipped'.format(*count))
    return 1 if count[1] else 0


if __name__ == '__main__':
    sys.exit(main())
