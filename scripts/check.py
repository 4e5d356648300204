#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Builds softverbs and runs its tests.

Usage: ./check [--full | --interop] [GROUP...]

Groups, in this order (all of them when none is named):
  style     layer list, headers, borders, manual pages
  unit      tests beside the sources
  sim       the protocol on a virtual clock: random runs, storyboards
  platform  what we lean on in the kernel
  abi       symbols, layouts, the clients' needs
  broker    softverbsd and its clients: deaths, restarts, nonsense
  fuzz      each fuzz target, 10 seconds or 3 (--full: 60)
  asan      unit, sim, platform and broker under AddressSanitizer and UBSan
  tsan      the threaded parts under ThreadSanitizer
  programs  unmodified RDMA programs over softverbs (see tests/programs/run.py)
  interop   against Linux's rxe in a QEMU guest (with --full; --interop: this alone)

--full runs the long forms. The last line is "N passed, N failed, N skipped"; the exit status is 0 when nothing failed.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GROUPS = ['style', 'unit', 'sim', 'platform', 'abi', 'broker', 'fuzz', 'asan', 'tsan', 'programs']
ONLY_FULL = ['interop']  # minutes long, and needs what not every machine has
CPUS = os.cpu_count() or 1
# Folders whose tests run under ThreadSanitizer: those with threads, or with memory that two processes share.
THREADED = ('base', 'ipc', 'link', 'hca', 'node', 'process', 'verbs')
# Tests that say nothing more, or can't run, under a sanitizer: they look at the built libraries or load them into
# foreign programs.
# Of the tests through the whole library, those that the quick form runs under ThreadSanitizer: those with threads, and both links.
THREADED_VERBS = ('verbs/contract-shm', 'verbs/fault-shm', 'verbs/completions-shm', 'verbs/completions-wire', 'verbs/events-wire',
                  'verbs/cq-shm', 'verbs/cm-shm')
# What the quick form leaves out under AddressSanitizer: the other link of what ran over one, and figures.
SANITIZED_ON_THE_WIRE = ('verbs/errors-wire', 'verbs/completions-wire')
SANITIZED_LATER = ('net/storm-wire', 'rc_goodput', 'rc_ladder', 'uc_storm', 'cli/bench', 'broker/processes', 'pyverbs/suite')
# Fuzz targets that the quick form gives 10 seconds: what a stranger's packet, ring or message reaches first.
FUZZ_LONG = ('wire_packet', 'rc_responder', 'rc_requester', 'link_ring', 'ipc_message')
NOT_SANITIZED = ('style', 'abi', 'programs')
BUILDS = {  # directory -> (environment, options)
    'build': ({}, ['-Dtests=true', '-Dfuzz=false']),
    'build-asan': ({'CC': 'clang'}, ['-Dtests=true', '-Dfuzz=true', '-Db_sanitize=address,undefined', '-Db_lundef=false',
                                     '-Doptimization=1', '-Ddebug=false',  # lines are all that a report needs
                                     '-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined '
                                     '-fno-omit-frame-pointer -gline-tables-only']),
    'build-tsan': ({'CC': 'clang'}, ['-Dtests=true', '-Dfuzz=false', '-Db_sanitize=thread', '-Db_lundef=false',
                                     '-Ddebug=false', '-Dc_args=-gline-tables-only']),
}
NEEDS = {'fuzz': 'build-asan', 'asan': 'build-asan', 'tsan': 'build-tsan'}
SANITIZER_ENV = {
    'ASAN_OPTIONS': 'detect_leaks=1:abort_on_error=0:exitcode=99',
    'UBSAN_OPTIONS': 'print_stacktrace=1:halt_on_error=1:exitcode=99',
    'TSAN_OPTIONS': 'halt_on_error=1:second_deadlock_stack=1:exitcode=99',
}

COLOUR = sys.stdout.isatty() and not os.environ.get('NO_COLOR')


def paint(code, text):
    return f'\033[{code}m{text}\033[0m' if COLOUR else text


def step(text):
    print(paint('32', '==>'), text, flush=True)


class Progress:
    """A line that says what runs, rewritten in place on a terminal and printed every 30 s elsewhere."""

    def __init__(self, text):
        self.text, self.started, self.stop = text, time.monotonic(), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self.stop.wait(1 if COLOUR else 30):
            age = time.monotonic() - self.started
            if COLOUR:
                sys.stdout.write(f'\r    {self.text}: {age:.0f} s \033[K')
                sys.stdout.flush()
            else:
                print(f'    {self.text}: {age:.0f} s so far', flush=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        if COLOUR:
            sys.stdout.write('\r\033[K')
            sys.stdout.flush()


class Tally:
    def __init__(self):
        self.groups = {}  # name -> [passed, failed, skipped, seconds]

    def add(self, group, result, name, words=''):
        """result: 'pass', 'fail', 'skip'. Failures and skips are printed with their words."""
        row = self.groups.setdefault(group, [0, 0, 0, 0.0])
        row[('pass', 'fail', 'skip').index(result)] += 1
        if result == 'fail':
            print(f'    {paint("31", "FAILED")}  {name}')
            for line in words.strip().split('\n')[-25:]:
                print(f'            {line}')
        elif result == 'skip':
            print(f'    {paint("33", "skipped")} {name}: {words.strip()}')
        sys.stdout.flush()

    def total(self):
        return [sum(row[i] for row in self.groups.values()) for i in range(3)]


def run(command, text, **kw):
    """Runs quietly with a progress line; returns (exit status, output)."""
    with Progress(text):
        done = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors='replace', **kw)
    return done.returncode, done.stdout


# --- building ---------------------------------------------------------------

def targets_of(directory, full):
    """What ninja is to make: all, or in the quick form what the chosen tests under ThreadSanitizer run and load."""
    if full or directory != 'build-tsan':
        return []
    read = [json.loads(subprocess.run(['meson', 'introspect', what, directory], cwd=TOP, capture_output=True, text=True,
                                      check=True).stdout) for what in ('--tests', '--targets')]
    needed = {target for test in read[0] if under_tsan(test['name'], full) for target in test['depends']}
    files = [f for target in read[1] if target['id'] in needed for f in target['filename']]
    return [os.path.relpath(f, f'{TOP}/{directory}') for f in files]


def build(directory, tally, full):
    """Configures and compiles. True when it stands."""
    environment, options = BUILDS[directory]
    env = dict(os.environ, **environment)
    started = time.monotonic()
    if os.path.exists(f'{TOP}/{directory}/build.ninja'):
        command = ['meson', 'configure', directory] + options
    else:
        shutil.rmtree(f'{TOP}/{directory}', ignore_errors=True)
        command = ['meson', 'setup', directory] + options
    status, output = run(command, f'configuring {directory}', env=env)
    if status == 0:
        status, output = run(['ninja', '-C', directory] + targets_of(directory, full), f'compiling {directory}', env=env)
    row = tally.groups.setdefault('build', [0, 0, 0, 0.0])
    row[3] += time.monotonic() - started
    words = '\n'.join(l for l in output.split('\n') if not re.match(r'\[\d+/\d+\] (Compiling|Linking|Generating)', l))
    tally.add('build', 'pass' if status == 0 else 'fail', f'{directory} compiles without warnings', words)
    return status == 0


# --- tests that meson knows -------------------------------------------------

def meson_tests(directory):
    """name -> group, by the test's suite or the folder in its name."""
    out = subprocess.run(['meson', 'introspect', '--tests', directory], cwd=TOP, capture_output=True, text=True,
                         check=True).stdout
    groups = {}
    for test in json.loads(out):
        suites = {s.split(':')[-1] for s in test['suite']} | {test['name'].split('/')[0]}
        groups[test['name']] = next((g for g in GROUPS if g in suites and g not in ('unit', 'asan', 'tsan')), 'unit')
    return groups


def run_meson(tally, group, directory, names, full, env=None):
    if not names:
        tally.add(group, 'fail', group, 'no tests were found: has the build lost them?')
        return
    log = f'{TOP}/{directory}/meson-logs/testlog.json'
    if os.path.exists(log):
        os.unlink(log)
    command = ['meson', 'test', '-C', directory, '--no-rebuild', '--print-errorlogs', '-t',
               '4' if env else '2'] + sorted(names)
    environment = dict(os.environ, SOFTVERBS_CHECK='full' if full else 'quick', **({'SOFTVERBS_LONG': '1'} if full else {}), **(env or {}))
    status, output = run(command, f'{group}: {len(names)} tests', env=environment)
    seen = set()
    if os.path.exists(log):
        for line in open(log, encoding='utf-8', errors='replace'):
            test = json.loads(line)
            name = test['name'].split(' / ')[-1].split(':')[-1]
            words = (test.get('stdout') or '') + (test.get('stderr') or '')
            seen.add(name)
            if test['result'] in ('OK', 'EXPECTEDFAIL'):
                tally.add(group, 'pass', name)
            elif test['result'] == 'SKIP':
                reasons = [l for l in words.strip().split('\n') if l.strip()]
                tally.add(group, 'skip', name, reasons[-1] if reasons else 'the test gives no reason')
            else:
                tally.add(group, 'fail', name, f'{words}\n[{test["result"]}, {test.get("duration", 0):.1f} s]')
    for name in set(names) - seen:
        tally.add(group, 'fail', name, f'did not run; meson test ended with {status}:\n{output[-2000:]}')


# --- fuzz -------------------------------------------------------------------

def run_fuzz(tally, full):
    directory = f'{TOP}/build-asan/fuzz'
    found = [f'{directory}/{n}' for n in os.listdir(directory)] if os.path.isdir(directory) else []
    targets = sorted(os.path.basename(p)[5:] for p in found
                     if os.path.basename(p).startswith('fuzz_') and os.path.isfile(p) and os.access(p, os.X_OK))
    if not targets:
        tally.add('fuzz', 'fail', 'fuzz', 'no fuzz targets were found')
        return
    def seconds(name):
        return 60 if full else 10 if name in FUZZ_LONG else 3
    queue, lock = list(targets), threading.Lock()

    def worker():
        while True:
            with lock:
                if not queue:
                    return
                name = queue.pop(0)
            with tempfile.TemporaryDirectory() as work:
                os.mkdir(f'{work}/new')
                corpora = [f'{work}/new'] + [c for c in (f'{TOP}/fuzz/corpus/{name}',) if os.path.isdir(c)]
                done = subprocess.run([f'{directory}/fuzz_{name}', f'-max_total_time={seconds(name)}', '-timeout=10',
                                       '-rss_limit_mb=1024',
                                       '-print_final_stats=1', f'-artifact_prefix={work}/'] + corpora, cwd=work, text=True,
                                      errors='replace', stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      env=dict(os.environ, **SANITIZER_ENV))
                crash = [n for n in os.listdir(work) if n.startswith(('crash-', 'leak-', 'timeout-', 'oom-'))]
                for n in crash:
                    shutil.copy(f'{work}/{n}', f'{TOP}/build-asan/{name}-{n}')
                runs = re.search(r'number_of_executed_units:\s*(\d+)', done.stdout)
            ok = done.returncode == 0 and runs and int(runs.group(1)) > 0
            with lock:
                tally.add('fuzz', 'pass' if ok else 'fail', name,
                          done.stdout[-2500:] + ''.join(f'\nThe input is build-asan/{name}-{n}' for n in crash))

    with Progress(f'fuzz: {len(targets)} targets, {sum(map(seconds, targets))} s, {CPUS} at a time'):
        threads = [threading.Thread(target=worker) for _ in range(CPUS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


# --- programs ---------------------------------------------------------------

def run_programs(tally, full):
    with tempfile.NamedTemporaryFile('r', suffix='.json') as results:
        command = ['/usr/bin/python3', 'tests/programs/run.py', '--results', results.name] + (['--full'] if full else [])
        done = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE if not COLOUR else None,
                              stderr=subprocess.STDOUT if not COLOUR else None,
                              text=True, errors='replace')
        try:
            rows = json.load(results)
        except ValueError:
            rows = []
    if not rows:
        tally.add('programs', 'fail', 'programs',
                  f'the runner ended with {done.returncode} and no rows\n{(done.stdout or "")[-2000:]}')
    for row in rows:
        tally.add('programs', row['result'], row['name'], row.get('words', ''))


# --- interop ----------------------------------------------------------------

def run_interop(tally, full):
    with tempfile.NamedTemporaryFile('r', suffix='.json') as results:
        command = ['/usr/bin/python3', 'tests/interop/interop_test.py', 'build', '--results', results.name]
        status, output = run(command, 'interop', env=dict(os.environ, SOFTVERBS_CHECK='full' if full else 'quick'))
        try:
            rows = json.load(results)
        except ValueError:
            rows = []
    if not rows:
        last = (output.strip().split('\n') or [''])[-1]
        tally.add('interop', 'skip' if status == 77 else 'fail', 'interop', last if status == 77 else output[-2000:])
    for row in rows:
        tally.add('interop', row['result'], row['name'], row.get('words', ''))


def under_tsan(name, full):
    folder = name.split('/')[0]
    return folder in THREADED and folder not in NOT_SANITIZED and (full or folder != 'verbs' or name in THREADED_VERBS)


def under_asan(name):
    return name not in SANITIZED_LATER and (name in SANITIZED_ON_THE_WIRE or not re.match('verbs/.*-wire$', name))


# --- main -------------------------------------------------------------------

def main():
    arguments = sys.argv[1:]
    if '--help' in arguments or '-h' in arguments:
        print(__doc__)
        return 0
    full = '--full' in arguments
    groups = GROUPS + ONLY_FULL
    chosen = [a for a in arguments if a not in ('--full', '--interop')] or (groups if full else GROUPS)
    if '--interop' in arguments:
        chosen = ONLY_FULL
    unknown = [g for g in chosen if g not in groups]
    if unknown:
        print(f'No such group: {", ".join(unknown)}. The groups are: {", ".join(groups)}.', file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tally, began = Tally(), time.monotonic()
    stands = {}

    def needs(directory):
        if directory not in stands:
            sanitizer = next((o.split('=')[1] for o in BUILDS[directory][1] if o.startswith('-Db_sanitize')), None)
            compiler = BUILDS[directory][0].get('CC', 'gcc') + (f', {sanitizer} sanitizer' if sanitizer else '')
            step(f'Building {directory}/ ({compiler})')
            stands[directory] = build(directory, tally, full)
        return stands[directory]

    for group in [g for g in groups if g in chosen]:
        directory = NEEDS.get(group, 'build')
        built = needs(directory)
        step(group)
        started = time.monotonic()
        if not built:
            tally.add(group, 'fail', group, f'{directory} was not built')
        elif group == 'fuzz':
            run_fuzz(tally, full)
        elif group == 'programs':
            run_programs(tally, full)
        elif group == 'interop':
            run_interop(tally, full)
        else:
            tests = meson_tests(directory)
            if group == 'asan':
                names, env = [n for n, g in tests.items() if g not in NOT_SANITIZED and 'fuzz' not in g
                              and (full or under_asan(n))], SANITIZER_ENV
            elif group == 'tsan':
                names, env = [n for n, g in tests.items() if under_tsan(n, full) and g not in NOT_SANITIZED], SANITIZER_ENV
            else:
                names, env = [n for n, g in tests.items() if g == group], None
            run_meson(tally, group, directory, names, full, env)
        row = tally.groups.setdefault(group, [0, 0, 0, 0.0])
        row[3] += time.monotonic() - started

    print()
    for group, (passed, failed, skipped, seconds) in tally.groups.items():
        line = f'{group:<10} {passed:5} passed {failed:4} failed {skipped:4} skipped {seconds:7.1f} s'
        print(paint('31' if failed else '32', line))
    print(f'{"all":<10} {"":40} {time.monotonic() - began:6.1f} s')
    passed, failed, skipped = tally.total()
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
