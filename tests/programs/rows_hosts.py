# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rows of several hosts: RoCEv1, RoCEv2 over IPv4 and over IPv6, with both sizes of frames, over good and bad networks."""
import json
import os
import re
import signal
import time

from capture import Capture
from hosts import Hosts
from icrc import roce_packet
from rows import check_capture, need_program, row, rows_for
from world import Failed, Skipped, need, perftest_sizes, until

WAYS = ('v1', 'v1 IPv4', 'v2/IPv4', 'v2/IPv6')
MTUS = (1500, 9000)
PINGPONGS = ('ibv_rc_pingpong', 'ibv_uc_pingpong', 'ibv_ud_pingpong', 'ibv_srq_pingpong', 'ibv_xsrq_pingpong')
PERFTEST = tuple(f'ib_{o}_{k}' for o in ('send', 'write', 'read', 'atomic') for k in ('bw', 'lat'))
LOSSY = '--loss 10 --reorder 50 --seed 7'


def index_of(hosts, host, way):
    """The GID index of this host for a way."""
    if host.gids is None:
        text = hosts.enter(host.holder, [f'{hosts.world.product}/softverbs', 'devices', '--json']).expect(10)
        host.gids = next(d for d in json.loads(text)['devices'] if d['name'] == host.device)['gids']
    wanted = {'v1': 'fe80', 'v1 IPv4': '::ffff:', 'v2/IPv4': '::ffff:', 'v2/IPv6': host.ipv6}[way]
    return str(next(g['index'] for g in host.gids if g['type'] == f'RoCE {way[:2]}' and g['gid'].startswith(wanted)))


def pingpong(hosts, a, b, tool, way, iterations=200, more=()):
    server, client = index_of(hosts, a, way), index_of(hosts, b, way)
    need(server == client, 'the hosts are made alike')
    text = pair_by_device(hosts, a, b, [tool, '-g', server, '-n', str(iterations), *more], '-d')
    need(re.search(r'\d+ iters in|success', text), f'no result\n{text}')


def lossy_pingpong(hosts, a, b, tool, way, iterations):
    """Who is done goes, and the other's last acknowledgement may be the one that was lost: that side fails, as over any adapter."""
    for _ in range(3):
        try:
            return pingpong(hosts, a, b, tool, way, iterations)
        except Failed as e:
            said = str(e)
            if 'retry counter exceeded' not in said or 'iters in' not in said:
                raise
    raise Failed(f'three times in a row\n{said}')


def perftest(hosts, a, b, tool, way, more=()):
    text = pair_by_device(hosts, a, b, [tool, '-x', index_of(hosts, a, way), '-F', *more], '-d')
    need(perftest_sizes(text) and 'rror' not in text, text)


def pair_by_device(hosts, a, b, command, option):
    """A pair in which each side names the device of its own host."""
    return hosts.pair(a, b, command, sides=((option, a.device), (option, b.device)))


def env_of(way):
    return {'SOFTVERBS_CM_ROCE': 'v1'} if way.startswith('v1') else {}


def until_heard(hosts, b, argv, server, seconds=15):
    """A client that nobody hears yet is refused at once, and another one is started."""
    end = time.monotonic() + seconds
    while True:
        client = hosts.start(b, argv)
        until(lambda: not client.alive() or not server.alive(), seconds, lambda: f'{argv} hangs\n{server.text()}\n{client.text()}')
        if client.wait(5) == 0 or not server.alive() or time.monotonic() > end:
            break
        time.sleep(0.05)
    if client.wait(5) != 0 or server.wait(5) != 0:
        raise Failed(f'{argv}: {client.status()}\n{client.text()}\nserver: {server.status()}\n{server.text()}')
    return client.text()


def rping(hosts, a, b, way, count=10):
    address, port = a.ipv6 if way.endswith('IPv6') else a.ipv4, str(hosts.world.new_port())
    server = hosts.start(a, ['rping', '-s', '-a', address, '-p', port, '-C', str(count), '-V'])
    text = until_heard(hosts, b, ['rping', '-c', '-a', address, '-p', port, '-C', str(count), '-V', '-v'], server)
    need(text.count('ping data') == count, text)


def mckey_start(hosts, listeners, sender, group, six=False):
    """It waits for 3 s by itself before it sends."""
    def argv(host):
        return ['mckey', '-m', group, '-b', host.ipv6 if six else host.ipv4, '-C', '10']
    return [hosts.start(h, argv(h)) for h in listeners] + [hosts.start(sender, [*argv(sender), '-s'])]


def mckey_expect(processes):
    for process in processes:
        text = process.expect(15)
        need('data transfers complete' in text and 'return status 0' in text, f'{" ".join(process.argv)}\n{text}')


def need_hosts(*programs):
    need_program('unshare', 'nsenter', 'ip', *programs)


# --- quick ------------------------------------------------------------------

@row('hosts: four of them, each way once')
def _(w):
    need_hosts('ibv_rc_pingpong')
    with Hosts(w, 4) as hosts:
        for (a, b), way in zip(hosts.pairs(), WAYS):
            pingpong(hosts, a, b, 'ibv_rc_pingpong', way, 50)


def capture_at(hosts, host):
    """What the switch sends to this host."""
    try:
        return Capture(f's{host.number}', hosts.switch_net.pid)
    except PermissionError:
        raise Skipped('capturing in another namespace needs root')


@row('hosts: RoCE v1 between two, as an ordinary user: nothing but v1, every frame decodes, every ICRC is right')
def _(w):
    need_hosts('ibv_rc_pingpong', 'ibv_ud_pingpong', 'rping', 'tshark')
    with Hosts(w, env=env_of('v1')) as hosts:
        a, b = hosts.hosts
        captures = [capture_at(hosts, host) for host in hosts.hosts] if os.getuid() == 0 else []
        try:
            pingpong(hosts, a, b, 'ibv_rc_pingpong', 'v1', 50)
            pingpong(hosts, a, b, 'ibv_ud_pingpong', 'v1 IPv4', 50, ('-s', '1024'))
            rping(hosts, a, b, 'v1', 5)
        finally:
            lost = [c.stop() for c in captures]
        if captures:  # both directions as one
            captures[0].frames += captures[1].frames
            check_capture(w, captures[0], sum(lost))
            frames = [f for _, f in captures[0].frames if roce_packet(f)]
            need(not [f for f in frames if f[12:14] != b'\x89\x15'], 'RoCE v2 among it')
            need(not [f for f in frames if f[0] & 1], 'unicast was sent to a group or to all')


@row('hosts: multicast, v1 and v2 side by side: right MACs, joins are seen', 'full')
def _(w):
    need_hosts('mckey', 'tshark')
    with Hosts(w, 2, env=env_of('v1')) as v1, Hosts(w, 2) as v2:
        captures = [capture_at(hosts, hosts.hosts[1]) for hosts in (v1, v2)]
        try:
            started = [mckey_start(v1, v1.hosts, v1.hosts[0], '239.77.0.1'), mckey_start(v2, v2.hosts, v2.hosts[0], '239.77.0.1'),
                       mckey_start(v2, v2.hosts, v2.hosts[0], 'ff0e::77:2', True)]
            for processes in started:
                mckey_expect(processes)
        finally:
            lost = [c.stop() for c in captures]
        seen = []
        for capture, loss in zip(captures, lost):
            check_capture(w, capture, loss, 9)
            seen.append({(f[0:6].hex(), f[12:14].hex()) for _, f in capture.frames if roce_packet(f)})
        need(seen[0] == {('3333ef4d0001', '8915')}, f'v1 frames: {seen[0]}')
        plain = [f for _, f in captures[1].frames]
        need([f for f in plain if f[12:14] == b'\x08\x00' and f[23] == 2], 'no IGMP report was seen')
        need([f for f in plain if f[12:14] == b'\x86\xdd' and f[20] == 0 and f[54] == 58 and f[62] == 143], 'no MLD report was seen')
        need(seen[1] == {('01005e4d0001', '0800'), ('333300770002', '86dd')}, f'v2 frames: {seen[1]}')


# --- in full ----------------------------------------------------------------

@rows_for('hosts: four, MTU %s, %s: %s', [(m, way, tool) for m in MTUS for way in WAYS for tool in PINGPONGS], 'full')
def _(w, mtu, way, tool):
    need_hosts(tool)
    with Hosts(w, 4, mtu) as hosts:
        for a, b in hosts.pairs():
            pingpong(hosts, a, b, tool, way, more=('-s', '1024') if 'ud' in tool else ())


@rows_for('hosts: four, MTU %s, %s: %s', [(m, way, tool) for m in MTUS for way in WAYS for tool in PERFTEST], 'full')
def _(w, mtu, way, tool):
    need_hosts(tool)
    with Hosts(w, 4, mtu) as hosts:
        for a, b in hosts.pairs():
            perftest(hosts, a, b, tool, way, ('-n', '200'))


@rows_for('hosts: four, MTU %s, %s: rping, udaddy', [(m, way) for m in MTUS for way in WAYS], 'full')
def _(w, mtu, way):
    need_hosts('rping', 'udaddy')
    with Hosts(w, 4, mtu, env=env_of(way)) as hosts:
        for a, b in hosts.pairs():
            rping(hosts, a, b, way)
            server = hosts.start(a, ['udaddy', '-b', a.ipv6 if way.endswith('IPv6') else a.ipv4])
            until_heard(hosts, b, ['udaddy', '-s', a.ipv6 if way.endswith('IPv6') else a.ipv4], server)


@rows_for('hosts: four, mckey, %s', [('v1',), ('v2/IPv4',), ('v2/IPv6',)], 'full')
def _(w, way):
    need_hosts('mckey')
    with Hosts(w, 4, env=env_of(way)) as hosts:
        # Another one listens on the sender's own host.
        mckey_expect(mckey_start(hosts, hosts.hosts, hosts.hosts[0], 'ff0e::77:1' if way.endswith('IPv6') else '239.77.0.1',
                                 way.endswith('IPv6')))


@row('hosts: a v1 group is left when its member is killed', 'full')
def _(w):
    need_hosts('mckey')
    with Hosts(w, 1, env=env_of('v1')) as hosts:
        host = hosts.hosts[0]

        def is_in():
            with open(f'/proc/{host.holder.pid}/net/dev_mcast') as f:
                return '3333ef4d0009' in f.read()
        need(not is_in(), 'before anybody joined')
        member = hosts.start(host, ['mckey', '-m', '239.77.0.9', '-b', host.ipv4])
        until(lambda: is_in() or not member.alive(), 5, lambda: f'it does not join\n{member.text()}')
        need(member.alive(), member.text())
        member.signal(signal.SIGKILL)
        until(lambda: not is_in(), 5, 'the membership outlives its process')


@row('hosts: v1 here, v2 there: nothing passes, both sides give up', 'full')
def _(w):
    need_hosts('ibv_rc_pingpong')
    with Hosts(w) as hosts:
        a, b = hosts.hosts
        sides = [('-d', h.device, '-g', index_of(hosts, h, way)) for h, way in ((a, 'v1 IPv4'), (b, 'v2/IPv4'))]
        try:
            hosts.pair(a, b, ['ibv_rc_pingpong', '-n', '10'], sides=sides)
        except Failed as e:
            need('retry counter exceeded' in str(e), str(e))
        else:
            raise Failed('packets passed')


@rows_for('hosts: 1 %% lost, 5 %% reordered, MTU %s, %s', [(m, way) for m in MTUS for way in WAYS], 'full')
def _(w, mtu, way):
    need_hosts('ibv_rc_pingpong', 'ib_write_bw', 'rping')
    with Hosts(w, 4, mtu, lossy=LOSSY, env={'SOFTVERBS_GSO': 'off', **env_of(way)}) as hosts:
        for a, b in hosts.pairs():
            lossy_pingpong(hosts, a, b, 'ibv_rc_pingpong', way, 300)
            perftest(hosts, a, b, 'ib_write_bw', way, ('-n', '50'))
            perftest(hosts, a, b, 'ib_read_lat', way, ('-n', '200'))
            rping(hosts, a, b, way)
        hosts.switch.signal(15)
        said = hosts.switch.expect(5)
        lost, reordered = map(int, re.search(r'lost (\d+), reordered (\d+)', said).groups())
        need(lost > 100 and reordered > 500, f'the network was too good: {said}')


@rows_for('hosts: 5 ms away, %s', [('v1',), ('v2/IPv4',)], 'full')
def _(w, way):
    need_hosts('ibv_rc_pingpong')
    with Hosts(w, 2, lossy='--delay 5000', env={'SOFTVERBS_GSO': 'off'}) as hosts:
        pingpong(hosts, *hosts.hosts, 'ibv_rc_pingpong', way, 50)
        perftest(hosts, *hosts.hosts, 'ib_write_bw', way, ('-n', '100'))
