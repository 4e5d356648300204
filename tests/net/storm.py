#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A storm: 24 processes that create, connect, send, destroy and are killed at random, as an ordinary user.

  storm.py BUILD shm|wire [SECONDS [SEED]]     5 s; 600 s with SOFTVERBS_LONG=1

No worker may hang or report an error, and when all are gone the broker has nobody left, frees every slot and ends. Brokers are
killed, too. Prints its seed. 77: no network namespace of our own can be made.
"""
import json
import os
import random
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hosts import Failed, Hosts, Skipped, need, run, until_true  # noqa: E402

WORKERS = 24


def brokers(hosts):
    found = []
    for pid in run('ip', 'netns', 'pids', f'{hosts.prefix}a', check=False).split():
        try:
            if open(f'/proc/{pid}/comm').read() == 'softverbsd\n':
                found.append(int(pid))
        except OSError:
            pass
    return found


def storm(hosts, link, seconds, seed):
    chance = random.Random(seed)
    env = {'SOFTVERBS_LOCAL': link, 'SOFTVERBS_IDLE_SECONDS': '1'}
    workers, total, killed, started, broker_kills = [None] * WORKERS, [0, 0, 0], 0, 0, 0
    end = time.monotonic() + seconds
    directory = f'{hosts.work}/addresses'
    os.mkdir(directory)
    os.chmod(directory, 0o777)

    def reap(worker):
        text = worker.expect(0)
        said = re.search(r'(\d+) completions, (\d+) failed, (\d+) connections', text)
        need(said, f'a worker says {text}')
        need('softverbs:' not in text, f'a worker complains: {text}')
        for k in range(3):
            total[k] += int(said.group(k + 1))

    def forget(worker):
        worker.end()
        hosts.processes.remove(worker)

    while time.monotonic() < end:
        for i in range(WORKERS):
            worker = workers[i]
            if worker is not None and not worker.alive():
                reap(worker)
                forget(worker)
                worker = None
            if worker is not None and time.monotonic() > worker.due:
                stat = hosts.softverbs('a', 'stat', '--qps')
                raise Failed(f'worker {i} (pid {worker.pid}) hangs: {worker.text()}\n{stat}\n{stack(worker.pid)}')
            if worker is None:
                life = chance.randrange(50, 4000)
                worker = hosts.start('a', [f'{hosts.build}/tests/net/storm_worker', directory, str(i), str(WORKERS),
                                           str(chance.randrange(1 << 60)), str(life)], env)
                worker.due = time.monotonic() + life / 1000 + 30
                started += 1
            elif chance.random() < 0.02:
                worker.signal(signal.SIGKILL)
                need(worker.wait(5) is not None, 'a killed worker stays')
                forget(worker)
                killed += 1
                worker = None
            workers[i] = worker
        if chance.random() < 0.02:
            for pid in brokers(hosts):
                os.kill(pid, signal.SIGKILL)
                broker_kills += 1
        time.sleep(0.05)  # the pace of the storm
    for worker in filter(None, workers):
        need(worker.wait(40) is not None, f'a worker hangs at the end: {worker.text()}\n{stack(worker.pid)}')
        reap(worker)
        forget(worker)
    print(f'{link}: {started} processes, {killed} killed, {broker_kills} brokers killed, {total[0]} completions of which '
          f'{total[1]} in error, {total[2]} connections', flush=True)
    need(total[0] - total[1] > 100 and total[2] > 50, 'there was hardly any traffic')

    def empty():
        stat = json.loads(hosts.softverbs('a', 'stat', '--json'))
        return not stat['processes'] and (stat['broker'] is None or not stat['broker']['clients'] and not stat['broker']['pairs'])
    until_true(empty, 10, lambda: f'the broker is not empty: {hosts.softverbs("a", "stat")}')
    until_true(lambda: not brokers(hosts), 15, lambda: f'the broker does not end: {hosts.softverbs("a", "stat")}')


def stack(pid):
    try:
        return '\n'.join(f'{t}: {open(f"/proc/{pid}/task/{t}/wchan").read()}, {open(f"/proc/{pid}/task/{t}/syscall").read()}'
                         for t in os.listdir(f'/proc/{pid}/task'))
    except OSError as e:
        return str(e)


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ('shm', 'wire'):
        print(__doc__, file=sys.stderr)
        return 2
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 600 if os.environ.get('SOFTVERBS_LONG') else 5
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else int.from_bytes(os.urandom(4), 'little')
    print(f'{sys.argv[2]}, {seconds:.0f} s, seed {seed}', flush=True)
    try:
        with Hosts(sys.argv[1]) as hosts:
            storm(hosts, sys.argv[2], seconds, seed)
    except Skipped as e:
        print(f'skipped: {e}')
        return 77
    except Failed as e:
        print(f'FAILED: {e}')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
