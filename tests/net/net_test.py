#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Unmodified RDMA programs between two network namespaces, over a good and a bad network.

  net_test.py BUILD [GROUP...]     groups: quick, plain, limits, capture, unacked, bad; none: quick, and with SOFTVERBS_LONG=1 all

As root only (it makes the namespaces); else it says so and ends with 77.
"""
import os
import re
import struct
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hosts import Failed, Hosts, Skipped, need  # noqa: E402
from icrc import is_right, roce_packet  # noqa: E402
from world import perftest_sizes  # noqa: E402

PINGPONGS = ('ibv_rc_pingpong', 'ibv_uc_pingpong', 'ibv_ud_pingpong', 'ibv_srq_pingpong')
PERFTESTS = ('ib_write_bw -n 1000', 'ib_write_lat -n 500', 'ib_send_bw -n 1000', 'ib_send_lat -n 500', 'ib_read_bw -n 500',
             'ib_read_lat -n 500', 'ib_atomic_bw -n 1000', 'ib_atomic_lat -n 500', 'ib_send_lat -c UC -n 500',
             'ib_write_lat -c UC -n 500', 'ib_send_lat -c UD -n 500')
# In packets per million. A late packet waits a millisecond: those behind it overtake it.
BAD = {
    '1 % loss': ['--loss', '10000'],
    '5 % late': ['--late', '50000', '--delay', '1000'],
    '1 % loss and 5 % late': ['--loss', '10000', '--late', '50000', '--delay', '1000'],
    '1 % twice': ['--twice', '10000'],
    '1 % damaged': ['--damage', '10000'],
    '5 % loss, 20 % late, 2 % twice, 1 % damaged': ['--loss', '50000', '--late', '200000', '--delay', '3000', '--twice', '20000',
                                                    '--damage', '10000'],
}
BAD_RC = ('ib_write_bw -n 300', 'ib_write_lat -n 1000', 'ib_send_bw -n 300', 'ib_send_bw -b -q 4 -s 8192 -n 300',
          'ib_send_lat -n 1000', 'ib_read_bw -n 200', 'ib_read_lat -n 500 -s 20000', 'ib_atomic_bw -n 1000',
          'ib_atomic_lat -n 500', 'ib_send_bw -s 4096 -r 4 -t 64 -n 2000', 'ib_send_bw -e -q 8 -s 8192 -n 100',
          'ib_send_bw --use-srq -q 4 -s 4096 -n 200', 'ib_read_bw -b -q 4 -s 30000 -n 50', 'ib_atomic_bw -q 4 -n 200')
SHOWN = ('retransmitted_packets', 'timeouts', 'tail_probes', 'naks_sent', 'duplicates', 'out_of_order', 'window_shrinks',
         'drop_icrc', 'rnr_naks_sent')


def say(words):
    print(words, flush=True)


def pingpong(hosts, tool, version, options=(), env=None):
    text = hosts.pair([tool, '-n', '300', '-s', '1024' if 'ud' in tool else '9000', *options], version, env=env, index_flag='-g')
    need(re.search(r'\d+ iters in', text), f'{tool}: no result\n{text}')


def perftest(hosts, command, version, env=None, seconds=60, watch=None):
    text = hosts.pair([*command.split(), '-F'], version, env=env, seconds=seconds, watch=watch)
    need(perftest_sizes(text) and 'rror' not in text, f'{command}: no result\n{text}')
    return text


def plain(build, pingpongs, perftests, mtus=(1500, 9000), gso=('auto', 'off')):
    for mtu in mtus:
        with Hosts(build, mtu) as hosts:
            for switch in gso:
                for version in (4, 6):
                    env = {'SOFTVERBS_GSO': switch}
                    started = time.monotonic()
                    for tool in pingpongs:
                        pingpong(hosts, tool, version, env=env)
                    for command in perftests:
                        perftest(hosts, command, version, env)
                    say(f'MTU {mtu}, GSO {switch}, IPv{version}: {len(pingpongs) + len(perftests)} programs, '
                        f'{time.monotonic() - started:.1f} s')


def limits(build):
    """A path MTU above the interface's is refused at RTR, on both sides; the largest below it works."""
    for mtu, largest, refused in ((1500, 1024, 2048), (9000, 4096, None), (2000, 1024, 2048), (2200, 2048, 4096)):
        with Hosts(build, mtu) as hosts:
            for version in (4, 6):
                pingpong(hosts, 'ibv_rc_pingpong', version, ['-m', str(largest)])
                if refused is None:
                    continue
                server, client = hosts.start_pair(['ibv_rc_pingpong', '-m', str(refused), '-n', '10'], version, index_flag='-g')
                need(client.wait(10) not in (0, None) and server.wait(10) not in (0, None),
                     f'path MTU {refused} was taken with an interface MTU of {mtu}\n{client.text()}')
                need('RTR' in server.text() + client.text(), f'no word of RTR\n{server.text()}\n{client.text()}')
        say(f'MTU {mtu}: path MTU {largest} works' + (f', {refused} is refused' if refused else ''))


def capture(build):
    """Every ICRC on the veth is right, by the second implementation; identification and DF are as wire says."""
    commands = ('ib_write_bw -n 20 -s 10000', 'ib_send_lat -n 20 -s 5', 'ib_read_bw -n 20 -s 10000', 'ib_atomic_bw -n 20',
                'ib_send_lat -c UD -n 20 -s 700', 'ib_write_lat -c UC -n 20 -s 3000')
    for gso in ('off', 'auto'):
        with Hosts(build) as hosts:
            for host in 'ab':
                hosts.offloads(host, False)
            for version in (4, 6):
                captures = [hosts.capture(host) for host in 'ab']
                for command in commands:
                    perftest(hosts, command, version, {'SOFTVERBS_GSO': gso})
                lost = sum(c.stop() for c in captures)
                packets = [p for p in (roce_packet(f) for c in captures for _, f in c.frames) if p]
                need(lost == 0 and len(packets) > 200, f'{len(packets)} packets captured, {lost} lost')
                wrong = [p for p in packets if not is_right(p)]
                need(not wrong, f'{len(wrong)} of {len(packets)} ICRCs are wrong, one in {wrong[0].hex() if wrong else ""}')
                if version == 4:
                    ids = [struct.unpack('>HH', p[4:8]) for p in packets]
                    need(all(flags == 0x4000 for _, flags in ids), 'a packet may be fragmented')
                    need(gso == 'auto' or all(number == 0 for number, _ in ids), 'an identification that is not 0 without GSO')
                    need(gso == 'off' or any(number != 0 for number, _ in ids), 'GSO was not used')
                say(f'capture, GSO {gso}, IPv{version}: {len(packets)} packets, every ICRC is right')


def last_column(text, lat):
    """MB/s, or microseconds (median)."""
    fields = [line.split() for line in text.split('\n') if re.match(r'^ \d+\s+\d+\s+[\d.]+', line)][-1]
    return f'{fields[4]} µs' if lat else f'{fields[3]} MB/s'


def bad(build, kinds, commands, pingpongs=('ibv_rc_pingpong', 'ibv_srq_pingpong'), seed=None):
    for kind in kinds:
        number = seed if seed is not None else int.from_bytes(os.urandom(4), 'little')
        say(f'{kind}, seed {number}')
        with Hosts(build, bad=[*BAD[kind], '--seed', str(number)]) as hosts:
            for tool in pingpongs:
                pingpong(hosts, tool, 4, ['-c'] if tool == 'ibv_rc_pingpong' else [])
            for i, command in enumerate(commands):
                seen = {}

                def watch():
                    for host in 'ab':
                        for name, value in hosts.counters(host).items():
                            seen[host, name] = max(value, seen.get((host, name), 0))
                started = time.monotonic()
                text = perftest(hosts, command, (4, 6)[i % 2], seconds=120, watch=watch)
                said = ', '.join(f'{name} {sum(v for (_, n), v in seen.items() if n == name)}' for name in SHOWN
                                 if any(n == name and v for (_, n), v in seen.items()))
                say(f'  {command:36} {time.monotonic() - started:5.1f} s {last_column(text, "_lat" in command):>14}  {said}')
            did = hosts.end_relay()
            say(f'  the network: {did}')
            word = {'loss': 'lost', 'late': 'late', 'twice': 'twice', 'damaged': 'damaged'}
            need(all(did[w] > 0 for k, w in word.items() if k in kind), f'the network was not bad: {did}')


def unacked(build):
    """UC and UD in bulk: senders pace themselves. On a busy machine something may be lost; then the counters say where."""
    with Hosts(build) as hosts:
        for command in ('ib_send_bw -c UC -s 65536 -n 1000', 'ib_send_bw -c UC -s 1048576 -n 100',
                        'ib_send_bw -c UD -s 1024 -n 5000', 'ib_write_bw -c UC -s 65536 -n 1000'):
            whole = 0
            for _ in range(4):
                server, client = hosts.start_pair([*command.split(), '-F'])
                client.expect(20)
                if server.wait(2) == 0:
                    whole += 1
                else:  # it waits for what was lost, for ever
                    drops = {k: v for k, v in hosts.counters('a').items() if 'drop' in k and v}
                    need(drops.get('drop_receive_full', 0) > 0,
                         f'{command}: lost, and nobody counted it: {drops}\n{server.text()}')
                    say(f'  {command}: {drops}')
                server.end()
                hosts.processes.remove(server)
            say(f'{command}: {whole} of 4 without loss')
            need(whole >= 2, f'{command}: lost in {4 - whole} of 4 runs')


def quick(build):
    plain(build, ('ibv_rc_pingpong', 'ibv_ud_pingpong'), ('ib_write_bw -n 300',), mtus=(1500,), gso=('auto',))
    bad(build, ['1 % loss and 5 % late'], ('ib_write_bw -n 50', 'ib_read_bw -n 30', 'ib_atomic_bw -n 300'),
        pingpongs=('ibv_rc_pingpong',))


GROUPS = {
    'quick': quick,
    'plain': lambda build: plain(build, PINGPONGS, PERFTESTS),
    'limits': limits,
    'capture': capture,
    'unacked': unacked,
    'bad': lambda build: bad(build, BAD, BAD_RC),
}


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(GROUPS):
        print(__doc__, file=sys.stderr)
        return 2
    chosen = sys.argv[2:] or (list(GROUPS) if os.environ.get('SOFTVERBS_LONG') else ['quick'])
    failed = False
    for group in chosen:
        started = time.monotonic()
        try:
            GROUPS[group](sys.argv[1])
            say(f'{group}: passed, {time.monotonic() - started:.0f} s')
        except Skipped as e:
            say(f'skipped: {e}')
            return 77
        except Failed as e:
            failed = True
            say(f'{group}: FAILED: {e}')
        except Exception:
            failed = True
            say(f'{group}: FAILED: {traceback.format_exc()}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
