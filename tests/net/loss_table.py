#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Goodput over a network that loses packets: selective repeat side by side with go-back-N.

  loss_table.py BUILD [--seconds S] [--runs N] [--loss PERCENT,...] [--relay | --direct]

Two hosts (network namespaces) on a veth pair; ib_write_bw -R writes 64 KiB messages from the one to the other, with and without
the option (SOFTVERBS_ECE_OPTIONS). Packets are lost both ways, by netem where the kernel has it, else, or with --relay, by
relay.c, whose own speed is then the limit; --direct loses nothing and leaves the interfaces' offloads on. Run it on a machine
that does nothing else. Needs root. Prints the rows of the table in docs/protocol/selective-repeat.md: the median of the runs,
and the least and the greatest.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hosts import Failed, Hosts, Skipped, need, need_tool  # noqa: E402

MODES = {'go-back-N': '0', 'selective repeat': '0xffffffff'}
RESULT = re.compile(r'^ 65536\s+\d+\s+[\d.]+\s+([\d.]+)', re.M)


def netem(hosts, percent):
    """False: this kernel has none."""
    for host in 'ab':
        hosts.offloads(host, False)  # else what is lost are whole bursts
        command = ['tc', '-n', f'{hosts.prefix}{host}', 'qdisc', 'replace', 'dev', f'{host}0', 'root', 'netem', 'limit', '10000']
        if percent:
            command += ['loss', f'{percent}%']
        if subprocess.run(command, capture_output=True).returncode != 0:
            return False
    return True


def has_netem(build):
    with Hosts(build) as hosts:
        return netem(hosts, 0)


def goodput(hosts, seconds, options):
    """MB/s, and the counters of the sender when it was nearly done."""
    env = {'SOFTVERBS_ECE_OPTIONS': options}
    for attempt in range(8):
        hosts.port += 1
        command = ['ib_write_bw', '-R', '-F', '-s', '65536', '-D', str(seconds), '-f', '1', '-p', str(hosts.port)]
        server = hosts.start('a', command, env)
        # Nobody can look whether a connection manager listens, and perftest listens twice, once for each connection that it makes:
        # a client that comes too early is refused, and both are started again.
        time.sleep(0.2 + 0.2 * attempt)
        client = hosts.start('b', command + [hosts.address('a')], env)
        status = client.wait(max(seconds - 0.5, 0.5))
        counters = hosts.counters('b') if status is None else {}
        status = client.wait(40)
        if status == 0:
            break
        server.end()
    found = RESULT.search(client.text())
    need(status == 0 and found, f'{" ".join(command)}: {status}\n{client.text()}\n{server.text()}')
    server.wait(5)
    return float(found.group(1)), counters


def measure(build, percent, seconds, runs, way):
    """{mode: [MB/s]}"""
    seen = {mode: [] for mode in MODES}
    for run in range(runs):
        bad = ['--loss', str(round(percent * 10000)), '--seed', str(run + 1)] if way == 'relay' else None
        with Hosts(build, bad=bad) as hosts:
            need(way != 'netem' or netem(hosts, percent), 'netem refuses')
            # In turn, so that what the machine does besides meets both.
            for mode in list(MODES) if run % 2 == 0 else list(MODES)[::-1]:
                rate, counters = goodput(hosts, seconds, MODES[mode])
                sacks = counters.get('sacks_received', 0)
                need(mode != 'go-back-N' or sacks == 0, f'{mode}: {sacks} SACKs')
                need(mode == 'go-back-N' or percent < 1 or sacks > 0, f'{mode}: no SACKs at {percent} %: {counters}')
                seen[mode].append(rate)
                print(f'    {percent} %, {mode}: {rate:.1f} MB/s, {sacks} SACKs', file=sys.stderr, flush=True)
    return seen


def cell(rates):
    return f'{statistics.median(rates):.1f} ({min(rates):.1f} to {max(rates):.1f})'


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('build')
    parser.add_argument('--seconds', type=int, default=5)
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--loss', default='0,0.1,1,3')
    parser.add_argument('--relay', action='store_true')
    parser.add_argument('--direct', action='store_true')
    options = parser.parse_args()
    try:
        for tool in ('ib_write_bw', 'ethtool', 'tc'):
            need_tool(tool)
        way = 'direct' if options.direct else 'netem' if not options.relay and has_netem(options.build) else 'relay'
        lines = []
        for percent in map(float, ['0'] if options.direct else options.loss.split(',')):
            seen = measure(options.build, percent, options.seconds, options.runs, way)
            middle = {mode: statistics.median(rates) for mode, rates in seen.items()}
            lines.append(f'| {percent:g} % | {cell(seen["go-back-N"])} | {cell(seen["selective repeat"])} | '
                         f'{middle["selective repeat"] / middle["go-back-N"]:.1f} |')
        print(f'MB/s, {way}, {options.runs} runs of {options.seconds} s: the median, the least and the greatest\n')
        print('| lost, each way | go-back-N | selective repeat | gain |\n| --- | --- | --- | --- |')
        print('\n'.join(lines))
    except Skipped as e:
        print(f'skipped: {e}')
        return 77
    except Failed as e:
        print(f'FAILED: {e}')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
