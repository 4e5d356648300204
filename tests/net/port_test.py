#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Ports and their interfaces, with unmodified programs between two network namespaces: ibv_asyncwatch hears what happens to the
interface, perftest goes through it or fails as over hardware, `softverbs devices` says what a device lacks, `softverbs stat` what the
broker drops.

  port_test.py BUILD        SOFTVERBS_LONG=1: all of it

As root only (it makes the namespaces); else it says so and ends with 77.
"""
import json
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hosts import Hosts, inside, main_ends, need, need_tool, run, until_true  # noqa: E402


def ip(hosts, host, command):
    run('ip', '-n', f'{hosts.prefix}{host}', *command.split())


def device(hosts, host):
    for d in json.loads(hosts.softverbs(host, 'devices', '--json'))['devices']:
        if d['name'] == hosts.device(host):
            return d
    return None


def tables(hosts, setting, expected):
    """What programs see of a0 under a broker of this setting, as (version, type) without link-local ones."""
    said = hosts.start('a', [f'{hosts.build}/softverbs', 'devices', '--json', 'sv_a0'], {'SOFTVERBS_GIDS': setting}, via='none').expect(20)
    gids = [g for g in json.loads(said)['devices'][0]['gids'] if not g['gid'].startswith('fe80')]
    seen = [(g['index'], 4 if g['gid'].startswith('::ffff:') else 6, g['type'][-2:]) for g in gids]
    need(seen == expected, f'{setting}: {seen}')
    for pid in run('ip', 'netns', 'pids', f'{hosts.prefix}a').split():
        os.kill(int(pid), 9)  # the next one has its own setting


def shapes(hosts):
    tables(hosts, 'v2', [(1, 4, 'v2'), (2, 6, 'v2')])
    tables(hosts, 'ipv6', [(2, 6, 'v1'), (3, 6, 'v2')])
    tables(hosts, 'all', [(2, 4, 'v1'), (3, 4, 'v2'), (4, 6, 'v1'), (5, 6, 'v2')])


def events(hosts):
    """Each change, and the line that says it."""
    watch = hosts.start('a', ['stdbuf', '-oL', 'ibv_asyncwatch', '-d', hosts.device('a')])
    seen = 0

    def lines():
        return [line for line in watch.text().split('\n') if 'event_type' in line]
    until_true(lambda: 'async event FD' in watch.text() or not watch.alive(), 10, lambda: watch.text())
    for command, expected in (('link set a0 down', '(10)'), ('link set a0 up', '(9)'),
                              ('addr add 10.98.0.9/24 dev a0', '(18)'),
                              ('addr del 10.98.0.9/24 dev a0', '(18)')):
        ip(hosts, 'a', command)
        until_true(lambda: any(expected in line for line in lines()[seen:]), 10, lambda: f'{command}: {watch.text()}')
        # An interface that goes down loses its IPv6 addresses, and gets one of them back.
        seen = len(lines())
    need(not any('LID' in line or 'PKEY' in line for line in lines()), watch.text())
    watch.end()


def down_under_traffic(hosts):
    """Down for good: the retries end, and so does the program, with completion status 12."""
    server, client = hosts.start_pair(['ib_write_bw', '-F', '-D', '20', '-u', '8', '-s', '4096'])
    until_true(lambda: sum(hosts.counters('b').get(n, 0) for n in ('sent_packets',)) > 100 or not client.alive(), 10,
               lambda: f'no traffic\n{client.text()}')
    ip(hosts, 'b', 'link set b0 down')
    need(client.wait(10) not in (0, None), f'it ended well without a link\n{client.text()}')
    need('12' in client.text(), client.text())
    need(device(hosts, 'b')['state'] == 'DOWN', 'the port is not down')
    server.end()
    ip(hosts, 'b', 'link set b0 up')


def pause_under_traffic(hosts):
    """Down for a moment: nobody notices but the retransmission counters."""
    server, client = hosts.start_pair(['ib_write_bw', '-F', '-D', '2', '-s', '4096'])
    until_true(lambda: hosts.counters('b').get('sent_packets', 0) > 100 or not client.alive(), 10,
               lambda: f'no traffic\n{client.text()}')
    ip(hosts, 'a', 'link set a0 down')
    ip(hosts, 'a', 'link set a0 up')
    need(client.wait(20) == 0 and server.wait(20) == 0, f'{client.text()}\n{server.text()}')


def reasons(hosts):
    for command, undo, reason in (('link set a0 mtu 300', 'link set a0 mtu 1500', 'MTU is too small'),
                                  ('addr flush dev a0', 'addr add 10.98.0.1/24 dev a0', 'no IP address'),
                                  ('link set a0 down', 'link set a0 up', 'is down')):
        ip(hosts, 'a', command)
        until_true(lambda: reason in (device(hosts, 'a')['reason'] or ''), 5,
                   lambda: f'{command}: {device(hosts, "a")["reason"]}')
        ip(hosts, 'a', undo)
    ip(hosts, 'b', 'link set b0 down')
    until_true(lambda: 'no carrier' in (device(hosts, 'a')['reason'] or ''), 5, lambda: f'{device(hosts, "a")["reason"]}')
    ip(hosts, 'b', 'link set b0 up')
    until_true(lambda: device(hosts, 'a')['state'] == 'ACTIVE', 5, 'a0 does not come up')


def broker_drops(hosts):
    """Datagrams to QP 1 that are none, and one whose ICRC is wrong."""
    def gsi():
        return json.loads(hosts.softverbs('a', 'stat', '--json'))['broker']['gsi']
    # UD SEND ONLY, P_Key, QP 1, Q_Key of QP 1, a MAD of zeroes, no right ICRC.
    packet = bytes.fromhex('64 00 ffff 00 000001 00000000 80010000 00 000001') + bytes(256) + bytes(4)
    before = gsi()
    with inside(f'{hosts.prefix}a', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        for data in (bytes(12), packet[:40], packet):
            sock.sendto(data, ('127.0.0.1', 4791))
    until_true(lambda: gsi()['drop_icrc'] > before['drop_icrc'] and gsi()['drop_malformed'] >= before['drop_malformed'] + 2, 5,
               lambda: f'{before} {gsi()}')
    need('drop_icrc' in hosts.softverbs('a', 'stat', '*drop*'), 'stat does not show it')


def main():
    for tool in ('ibv_asyncwatch', 'ib_write_bw', 'stdbuf'):
        need_tool(tool)
    with Hosts(sys.argv[1]) as hosts:
        shapes(hosts)
        hosts.start('a', ['ibv_asyncwatch', '-d', hosts.device('a')])  # keeps the broker
        hosts.start('b', ['ibv_asyncwatch', '-d', hosts.device('b')])
        quick = (events, down_under_traffic, broker_drops)
        for part in quick + (pause_under_traffic, reasons) * (os.environ.get('SOFTVERBS_LONG') == '1'):
            part(hosts)
            print(f'{part.__name__}: ok', flush=True)


if __name__ == '__main__':
    main_ends(main)
