# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The table of rows: what must be seen working, with unmodified programs.

A row is (name, function, when). `when` is 'quick' (in ./check,
                                                    3 s at most) or 'full'. Functions take the world, raise Failed or Skipped.
"""
import json
import os
import re
import signal
import subprocess
import time

from capture import Capture
from icrc import is_right, roce_packet
from world import Failed, Skipped, has_ipv6, need, need_program, perftest_sizes, until

ROWS = []
LINKS = ('shm', 'wire')
# In quick rows one way to start a program per link; in full ones both, one on each side.
VIA = {'shm': 'run', 'wire': 'plain'}
BOTH = ('run', 'plain')


def row(name, when='quick'):
    def add(function):
        ROWS.append((name, function, when))
        return function
    return add


def rows_for(name, cases, when='quick'):
    """One row for each case: name % case, function(world, *case)."""
    def add(function):
        for case in cases:
            ROWS.append((' '.join((name % tuple(str(c) for c in case)).split()), lambda w, c=case: function(w, *c), when))
        return function
    return add


# --- pairs of programs ------------------------------------------------------

def start_pair(w, command, link='shm', via=None, env=None, server_env=None, wrap=()):
    """Server, then client, of a program that takes -p PORT and a host. via: one way to start both, or a pair of ways."""
    need_program(command[0])
    port = w.new_port()
    argv = [*wrap, command[0], '-p', str(port), *command[1:]]
    via = via or VIA[link]
    server_via, client_via = via if isinstance(via, tuple) else (via, via)
    server = w.start(argv, wire=link == 'wire', via=server_via, env={**(env or {}), **(server_env or {})})
    w.wait_listening(server, port, 30 if wrap else 10)
    return server, w.start(argv + ['127.0.0.1'], wire=link == 'wire', via=client_via, env=env)


def start_sides(w, command, server_options, client_options):
    """As start_pair, over shm, when the two differ in their options."""
    need_program(command[0])
    port = w.new_port()
    argv = [command[0], '-p', str(port), *command[1:]]
    server = w.start(argv + server_options, wire=False, via='run', env={})
    w.wait_listening(server, port, 10)
    return server, w.start(argv + client_options + ['127.0.0.1'], wire=False, via='run', env={})


def pair(w, command, link='shm', seconds=20, **how):
    """Runs a pair to its end and returns what the client said."""
    server, client = start_pair(w, command, link, **how)
    until(lambda: not client.alive() or not server.alive(), seconds,
          lambda: f'{" ".join(command)} hangs\n{server.text()}\n{client.text()}')
    if client.wait(5) != 0 or server.wait(5) != 0:
        raise Failed(f'client: {" ".join(client.argv)}: {client.wait(0)}\n{client.text()}\n'
                     f'server: {server.wait(0)}\n{server.text()}')
    return client.text()


def perftest(w, command, link='shm', sizes=1, **how):
    text = pair(w, [command[0], '-F', *command[1:]], link, **how)
    got = perftest_sizes(text)
    need(len(got) >= sizes, f'{" ".join(command)}: {len(got)} results instead of {sizes}\n{text}')
    need('rror' not in text, f'{" ".join(command)} speaks of an error\n{text}')
    return text


def pingpong(w, options, link='shm', tool='ibv_rc_pingpong', **how):
    text = pair(w, [tool, *options], link, **how)
    need(re.search(r'\d+ iters in', text), f'no result\n{text}')
    return text


def devices(w):
    return {d['name']: d for d in json.loads(w.softverbs('devices', '--json'))['devices']}


def gid_index(w, device, pick):
    """The first v2 index of the device whose GID text satisfies pick; None if there is none."""
    return next((g['index'] for g in devices(w)[device]['gids'] if g['type'] == 'RoCE v2' and pick(g['gid'])), None)


def is_ipv4(gid):
    return gid.startswith('::ffff:')


def is_ipv6(gid):
    return not is_ipv4(gid) and not gid.startswith('fe80')


# --- the command ------------------------------------------------------------

@row('softverbs --version, help, and words for the lost')
def _(w):
    need(re.fullmatch(r'softverbs \d+\.\d+\.\d+\n', w.softverbs('--version')), 'version')
    for name in ('run', 'devices', 'stat', 'bench'):
        need('Examples' in w.softverbs('help', name), f'help {name} has no examples')
    need("'devices'" in w.softverbs('device', status=2), 'no suggestion for a slip of the pen')
    need('PATH' in w.softverbs('run', '--', 'no-such-program', status=127), 'a missing program')
    w.softverbs('run', '--', '/etc/passwd', status=126)
    need('shm or wire' in w.softverbs('run', '--local=air', '--', 'true', status=2), 'a wrong option')


@row('softverbs devices: table and JSON agree')
def _(w):
    table, found = w.softverbs('devices'), devices(w)
    need('sv_lo' in found, f'no sv_lo: {list(found)}')
    lo = found['sv_lo']
    need(lo['state'] == 'ACTIVE' and lo['netdev'] == 'lo' and lo['mtu'] == 4096 and lo['gids'], f'sv_lo: {lo}')
    need({g['type'] for g in lo['gids']} == {'RoCE v1', 'RoCE v2'}, f'types: {lo["gids"]}')
    need(lo['gids'][0]['index'] == 0, 'index 0')
    for name, device in found.items():
        need(name in table and device['reach'] in table, f'{name} is not in the table')
    leaves = json.loads(w.softverbs('devices', '--json'))['roce_v1_wire']
    need(('RoCE v1 reaches other hosts' if leaves else 'RoCE v1 reaches this host only') in table, f'{leaves}\n{table}')


@row('softverbs stat: sees a running pair and its counters')
def _(w):
    server, client = start_pair(w, ['ib_write_bw', '-F', '-d', 'sv_lo', '-n', '2000000'])

    def programs():
        found = json.loads(w.softverbs('stat', '--json'))
        return found, [p for p in found['processes'] if p['command'] == 'ib_write_bw']
    until(lambda: len(programs()[1]) == 2 and all(any(q['state'] in ('RTR', 'RTS') for q in p.get('queue_pairs',
                                                                                         [])) for p in programs()[1]), 5,
          lambda: json.dumps(programs(), indent=1))

    def sent():
        return sum(v for p in programs()[1] for g in p['groups'] for k, v in g['counters'].items() if 'sent' in k
                   or 'xmit' in k)
    before = sent()
    until(lambda: sent() > before, 5, 'the counters of what was sent stand still')
    need('ib_write_bw' in w.softverbs('stat', '--qps'), 'text form')
    server.end(), client.end()
    until(lambda: not programs()[1], 5, 'the dead are still listed')


# --- queries ----------------------------------------------------------------

@row('ibv_devices')
def _(w):
    need_program('ibv_devices')
    need(re.search(r'^\s+sv_lo\s+[0-9a-f]{16}', w.start(['ibv_devices']).expect(5), re.M), 'sv_lo is not listed')


@rows_for('ibv_devinfo -v (%s)', [('run',), ('plain',)])
def _(w, via):
    need_program('ibv_devinfo')
    text = w.start(['ibv_devinfo', '-v'], via=via).expect(5)
    for words in ('sv_lo', 'PORT_ACTIVE', 'link_layer:\t\tEthernet', 'GID[  0]'):
        need(words in text, f'no "{words}" in\n{text}')


@row('softverbs run --device shows what matches')
def _(w):
    need_program('ibv_devices')
    text = w.start([f'{w.product}/softverbs', 'run', '--device', 'sv_lo', '--', 'ibv_devices'], via='none').expect(5)
    need(re.findall(r'^\s+(\w+)\s+[0-9a-f]{16}', text, re.M) == ['sv_lo'], text)


# --- ibv_rc_pingpong --------------------------------------------------------

def pingpong_gid(w, link):
    return ['-d', 'sv_lo', '-g', '0' if link == 'shm' else str(gid_index(w, 'sv_lo', is_ipv4))]


@rows_for('ibv_rc_pingpong %s %s', [(o, link) for o in ('', '-e', '-c', '-e -c') for link in LINKS])
def _(w, options, link):
    pingpong(w, pingpong_gid(w, link) + options.split() + ['-n', '1000'], link)


@rows_for('ibv_rc_pingpong -c -s %s %s', [(s, link) for s in (1, 4095, 8 << 20) for link in LINKS])
def _(w, size, link):
    pingpong(w, pingpong_gid(w, link) + ['-c', '-s', str(size), '-n', '10' if size > 1 << 20 else '100', '-r', '8'], link)


SIZES = sorted({1 << n for n in range(24)} | {3, 255, 1023, 4097, 65537, 1 << 20 | 1})


@rows_for('ibv_rc_pingpong -c -s %s %s, run to plain', [(s, link) for s in SIZES for link in LINKS], 'full')
def _(w, size, link):
    pingpong(w, pingpong_gid(w, link) + ['-c', '-s', str(size), '-n', '20' if size > 1 << 20 else '200', '-r', '8'], link,
             via=BOTH)


@row('ibv_rc_pingpong: every GID index, shm')
def _(w):
    for name, device in devices(w).items():
        if device['state'] == 'ACTIVE':
            for gid in device['gids']:
                pingpong(w, ['-d', name, '-g', str(gid['index']), '-n', '50'], 'shm')


@row('ibv_rc_pingpong: every GID index that is an address, wire; others refused with one line')
def _(w):
    for name, device in devices(w).items():
        if device['state'] != 'ACTIVE':
            continue
        addresses = subprocess.run(['ip', '-o', 'addr', 'show', 'dev', device['netdev']], capture_output=True,
                                   text=True).stdout
        for gid in device['gids']:
            plain = gid['gid'].removeprefix('::ffff:')
            options = ['-d', name, '-g', str(gid['index']), '-n', '50']
            if gid['type'] == 'RoCE v2' and f' {plain}/' in addresses:
                pingpong(w, options, 'wire')
                continue
            server, client = start_pair(w, ['ibv_rc_pingpong', *options], 'wire')
            need(client.wait(5) not in (0, None) and server.wait(5) not in (0, None),
                 f'{name} index {gid["index"]} ({gid["type"]} {gid["gid"]}) is no address and was taken\n{client.text()}')
            for side in (server, client):  # who came to RTR says why, once; the other may only see it gone
                lines = [line for line in side.text().split('\n') if line.startswith('softverbs:')]
                need(len(lines) == 1 or 'RTR' not in side.text() and not lines,
                     f'{name} index {gid["index"]}: {len(lines)} lines say why, instead of 1\n{side.text()}')
            need('softverbs:' in server.text() + client.text(), f'nobody says why\n{server.text()}\n{client.text()}')


# --- the other pingpongs ----------------------------------------------------

OTHERS = ('ibv_uc_pingpong', 'ibv_ud_pingpong', 'ibv_srq_pingpong')


@rows_for('%s %s %s', [(tool, o, link) for tool in OTHERS for o in ('', '-e', '-c') for link in LINKS])
def _(w, tool, options, link):
    pingpong(w, pingpong_gid(w, link) + options.split() + ['-n', '500'], link, tool)


@rows_for('%s: every GID index, shm', [(tool,) for tool in OTHERS])
def _(w, tool):
    for name, device in devices(w).items():
        if device['state'] == 'ACTIVE':
            for gid in device['gids']:
                pingpong(w, ['-d', name, '-g', str(gid['index']), '-n', '50', '-s', '1024'], 'shm', tool)


@rows_for('%s: every v2 GID index of lo that is an address, wire', [(tool,) for tool in OTHERS])
def _(w, tool):
    for gid in devices(w)['sv_lo']['gids']:
        if gid['type'] == 'RoCE v2' and gid['gid'] in ('::1', '::ffff:127.0.0.1'):
            pingpong(w, ['-d', 'sv_lo', '-g', str(gid['index']), '-n', '200', '-s', '1024'], 'wire', tool)


@rows_for('ibv_xsrq_pingpong %s %s', [(o, link) for o in ('', '-e') for link in LINKS])
def _(w, options, link):
    text = pair(w, ['ibv_xsrq_pingpong', *pingpong_gid(w, link), *options.split(), '-n', '500'], link)
    need('success' in text, f'no success\n{text}')


# --- perftest ---------------------------------------------------------------

BW, LAT = ('ib_write_bw', 'ib_send_bw'), ('ib_write_lat', 'ib_send_lat')
QUICK_N = {'ib_write_bw': '2000', 'ib_send_bw': '2000', 'ib_write_lat': '1000', 'ib_send_lat': '1000'}


@rows_for('%s %s', [(tool, link) for tool in BW + LAT for link in LINKS])
def _(w, tool, link):
    perftest(w, [tool, '-d', 'sv_lo', '-n', QUICK_N[tool]], link)


@rows_for('%s from 2 B to 8 MiB, %s', [(tool, link) for tool in LAT for link in LINKS])
def _(w, tool, link):
    for size in ('2', '4096', str(8 << 20)):  # -a is among the full rows: the programs take half a second per size for themselves
        perftest(w, [tool, '-d', 'sv_lo', '-s', size, '-n', '50'], link)


@rows_for('%s -a %s', [('ib_write_bw', 'shm'), ('ib_send_bw', 'wire')])  # five seconds for the programs' own sake
def _(w, tool, link):
    perftest(w, [tool, '-d', 'sv_lo', '-a', '-n', '50' if link == 'shm' else '20'], link, sizes=23)


@rows_for('%s -b %s', [(tool, link) for tool in BW for link in LINKS])
def _(w, tool, link):
    perftest(w, [tool, '-d', 'sv_lo', '-b', '-n', '2000' if link == 'shm' else '1000'], link)


@rows_for('%s -q 16 %s', [(tool, link) for tool in BW for link in LINKS])
def _(w, tool, link):
    perftest(w, [tool, '-d', 'sv_lo', '-q', '16', '-n', '200'], link)


@rows_for('%s -e %s', [(tool, link) for tool in ('ib_send_bw', 'ib_send_lat') for link in LINKS])
def _(w, tool, link):
    perftest(w, [tool, '-d', 'sv_lo', '-e', '-n', '1000'], link)


@rows_for('%s -I 64 %s', [(tool, link) for tool in BW + LAT for link in LINKS])
def _(w, tool, link):
    perftest(w, [tool, '-d', 'sv_lo', '-I', '64', '-s', '48', '-n', '1000'], link)


@rows_for('%s with IPv6 GIDs, %s', [(tool, link) for tool in ('ib_write_bw', 'ib_send_lat') for link in LINKS])
def _(w, tool, link):
    index = gid_index(w, 'sv_lo', is_ipv6) if has_ipv6() else None
    if index is None:
        raise Skipped('lo has no IPv6 address here')
    perftest(w, [tool, '-d', 'sv_lo', '-x', str(index), '-n', QUICK_N[tool]], link)


@rows_for('%s on a veth device, IPv%s, %s', [(tool, v, link) for tool in BW for v in (4, 6) for link in LINKS])
def _(w, tool, version, link):
    found = devices(w)
    if 'sv_sv0' not in found:
        raise Skipped('no namespace of our own, so no veth')
    index = gid_index(w, 'sv_sv0', is_ipv4 if version == 4 else is_ipv6)
    need(index is not None, f'no such GID: {found["sv_sv0"]}')
    perftest(w, [tool, '-d', 'sv_sv0', '-x', str(index), '-n', '500'], link)


MATRIX = ('-a', '-a -b', '-a -q 16', '-a -e', '-a -I 128', '-a -m 256', '-a -m 1024', '-a -t 1 -Q 1', '-a -t 1024')


def takes(tool, options):
    return not (tool in LAT and re.search('-b|-q|-t', options)) and not (tool.startswith('ib_write') and '-e' in options)


@rows_for('%s %s %s, run to plain', [(tool, options, link) for tool in BW + LAT for options in MATRIX if takes(tool, options)
                                     for link in LINKS], 'full')
def _(w, tool, options, link):
    extra = ['-n', '50' if '-q' in options else '200'] if tool in BW else ['-n', '1000']
    perftest(w, [tool, '-d', 'sv_lo', *options.split(), *extra], link, sizes=23, via=BOTH, seconds=300)


# --- perftest: other operations, other types --------------------------------

ONE_SIDED = ('ib_read_bw', 'ib_read_lat', 'ib_atomic_bw', 'ib_atomic_lat')
UC = ('ib_send_bw -c UC', 'ib_send_lat -c UC', 'ib_write_bw -c UC', 'ib_write_lat -c UC')
UD = ('ib_send_bw -c UD', 'ib_send_lat -c UD')
# What these lose, programs wait for; a burst of them on a wire is more than the default buffer of a socket holds.
LOSSLESS = ONE_SIDED + ('ib_send_lat -c UC', 'ib_write_lat -c UC', 'ib_send_lat -c UD')


@rows_for('%s %s', [(c, 'shm') for c in ONE_SIDED + UC + UD] + [(c, 'wire') for c in LOSSLESS])
def _(w, command, link):
    # Who polls memory alone depends on the scheduler of a busy machine.
    perftest(w, [*command.split(), '-d', 'sv_lo', '-n', '200' if 'write_lat' in command else '1000'], link)


@rows_for('%s %s shm', [(c, o) for c in ('ib_read_bw', 'ib_atomic_bw', 'ib_send_bw -c UC', 'ib_send_bw -c UD',
                                         'ib_write_bw -c UC') for o in ('-b', '-q 16', '-l 8 -t 16')])
def _(w, command, options):
    perftest(w, [*command.split(), *options.split(), '-d', 'sv_lo', '-n', '320'], 'shm')


@rows_for('%s %s shm', [(c, o) for c in ('ib_send_bw -c UC', 'ib_send_lat -c UC', *UD)
                        for o in ('-e', '--use-srq', '-I 64 -s 48')]
          + [('ib_send_bw', '--use-srq -q 16'), ('ib_send_lat', '--use-srq'), ('ib_read_lat', '-e'), ('ib_read_bw', '-o 1'),
             ('ib_atomic_bw', '-A CMP_AND_SWAP')])
def _(w, command, options):
    perftest(w, [*command.split(), *options.split(), '-d', 'sv_lo', '-n', '500'], 'shm')


XRC = tuple(f'{c} -c XRC' for c in (*BW, *LAT, *ONE_SIDED))


def xrc_files_remove():
    """What perftest leaves in /tmp is its last user's alone, and the next may be another."""
    for side in ('client', 'server'):
        try:
            os.unlink(f'/tmp/xrc_domain_{side}')
        except FileNotFoundError:
            pass


@rows_for('%s %s', [(c, link) for c in XRC for link in LINKS])
def _(w, command, link):
    xrc_files_remove()
    perftest(w, [*command.split(), '-d', 'sv_lo', '-n', '200' if 'write_lat' in command else '1000'], link)


@rows_for('%s -a -n 100 %s %s', [(c, o, link) for c in XRC for o in ('', '-b', '-q 16', '-e') for link in LINKS
                                 if not ('_lat' in c and o in ('-b', '-q 16')) and not ('atomic' in c)
                                 and not (re.search('read|write', c) and o == '-e')], 'full')
def _(w, command, options, link):
    xrc_files_remove()
    perftest(w, [*command.split(), *options.split(), '-a', '-d', 'sv_lo', '-n', '100'], link, sizes=23, seconds=300)


@rows_for('UD between %s and %s of this host', [('lo', 'the others')])
def _(w, one, other):
    """Each sends to a GID of the other's device, and answers from its own."""
    names = [name for name, d in devices(w).items() if d['state'] == 'ACTIVE' and name != 'sv_lo']
    if not names:
        raise Skipped('lo is the only device that is up')
    for name in names:
        server, client = start_sides(w, ['ibv_ud_pingpong', '-g', '0', '-n', '100', '-s', '1024'], ['-d', 'sv_lo'], ['-d', name])
        for side in (client, server):
            need(re.search(r'\d+ iters in', side.expect(5)), f'no result\n{side.text()}')


@rows_for('%s -a -n 100 %s shm', [(c, o) for c in ('ib_read_bw', 'ib_read_lat', *UC, *UD)
                                  for o in ('', '-b', '-q 16', '-e', '-I 64', '-t 16', '-l 4 -t 16')
                                  if not ('_lat' in c and re.search('-b|-q|-t', o))
                                  and not (re.search('read|write', c) and re.search('-I' if 'read' in c else '-e', o))], 'full')
def _(w, command, options):
    perftest(w, [*command.split(), *options.split(), '-a', '-d', 'sv_lo', '-n', '100'], 'shm',
             sizes=12 if 'UD' in command else 23, seconds=300)


# --- many, deep, stopped, killed --------------------------------------------

@rows_for('32 processes at once, %s, %s s', [(link, 3) for link in LINKS])
def many(w, link, seconds):
    pairs = []
    for i in range(16):
        tool = ('ib_write_bw', 'ib_send_bw', 'ib_send_lat', 'ib_write_lat')[i % 4]
        pairs.append(start_pair(w, [tool, '-F', '-d', 'sv_lo', '-D', str(seconds), '-f', '1' if seconds > 2 else '0', '-s',
                                    '4096'], link))
    end = time.monotonic() + seconds * 3 + 30
    for server, client in pairs:
        for process in (client, server):
            process.expect(max(1, end - time.monotonic()))
        need(perftest_sizes(client.text()), f'no result\n{client.text()}')


rows_for('32 processes at once, %s, %s s', [(link, 30) for link in LINKS], 'full')(many)


@rows_for('both directions saturated, deep queues, %s', [(link,) for link in LINKS])
def _(w, link):
    perftest(w, ['ib_send_bw', '-d', 'sv_lo', '-b', '-q', '4', '-t', '512', '-r', '512', '-s', '65536', '-n',
                 '1000' if link == 'shm' else '300'],
             link, seconds=30)


@rows_for('both directions saturated for a minute, %s', [(link,) for link in LINKS], 'full')
def _(w, link):
    perftest(w, ['ib_send_bw', '-d', 'sv_lo', '-b', '-q', '8', '-t', '1024', '-r', '1024', '-s', '65536', '-D', '60'], link,
             seconds=120)


def stop_peer(w, seconds, which, tool='ib_write_bw'):
    sides = start_pair(w, [tool, '-F', '-d', 'sv_lo', '-n', '60000'], 'shm')
    victim, other = sides[which], sides[1 - which]
    wait_for_traffic(w, sides)
    victim.signal(signal.SIGSTOP)
    need(other.wait(seconds) is None, f'ended while its peer was stopped\n{other.text()}')
    victim.signal(signal.SIGCONT)
    for side in sides:
        side.expect(20)


def wait_for_traffic(w, sides, received_only=False):
    """Until the processes show a port that has moved packets."""
    pids = {s.pid for s in sides}

    def moving():
        seen = set()
        for p in json.loads(w.softverbs('stat', '--json'))['processes']:
            counters = [g['counters'] for g in p.get('groups', []) if g['kind'] == 'port']
            if any((received_only or c.get('sent_packets', 0) > 0) and c.get('received_packets', 0) > 0 for c in counters):
                seen.add(p['pid'])
        return pids <= seen
    until(moving, 8, lambda: f'no traffic seen\n{sides[0].text()}\n{sides[1].text()}')


@rows_for('SIGSTOP of the %s for %s s over shm', [('server', 1), ('client', 1)])
def _(w, which, seconds):
    stop_peer(w, seconds, ('server', 'client').index(which))


@rows_for('SIGSTOP of the %s for %s s over shm', [('server', 10), ('client', 10)], 'full')
def _(w, which, seconds):
    for tool in BW:
        stop_peer(w, seconds, ('server', 'client').index(which), tool)


@rows_for('a stopped receiver does not hold up senders, %s', [('UC',), ('UD',)])
def _(w, kind):
    server, client = start_pair(w, ['ib_send_bw', '-F', '-c', kind, '-s', '4096', '-d', 'sv_lo', '-n', '1000000'], 'shm')
    wait_for_traffic(w, (server,), received_only=True)
    server.signal(signal.SIGSTOP)

    def dropped():
        found = [p for p in json.loads(w.softverbs('stat', '--json'))['processes'] if p['pid'] == client.pid]
        return sum(v for p in found for g in p['groups'] for k, v in g['counters'].items() if k == 'drop_peer_stalled')
    until(lambda: dropped() > 0, 5, 'nothing is dropped')
    server.signal(signal.SIGCONT)
    server.end(), client.end()


RETRY_EXCEEDED = re.compile(r'status 12|retry exceeded|retry counter exceeded', re.I)


def kill_one(w, link, which, fork_child=False):
    """kill -9 of one side: the other ends with retry-exceeded, a third pair goes on, nothing stays in the broker."""
    env = {}
    pid_file = f'{w.work}/forked'
    if fork_child:
        env = {'LD_PRELOAD': forklater(w), 'FORKLATER_PID': pid_file}
        if os.path.exists(pid_file):
            os.unlink(pid_file)
    bystanders = start_pair(w, ['ib_send_lat', '-F', '-d', 'sv_lo', '-n', '2000000'], link)
    # Both directions, so that either side notices; -u 10: the QP's timer is 4 ms.
    sides = start_pair(w, ['ib_write_bw', '-F', '-d', 'sv_lo', '-b', '-u', '10', '-n', '10000000', '-N'], link, env=env)
    wait_for_traffic(w, sides)
    victim, other = sides[which], sides[1 - which]
    if fork_child:
        victim.signal(signal.SIGUSR2)
        until(lambda: os.path.exists(pid_file) and open(pid_file).read().endswith('\n'), 5, 'the program did not fork')
    victim.signal(signal.SIGKILL)
    status = other.wait(8)
    need(status not in (None, 0), f'the peer of the dead goes on: {status}\n{other.text()}')
    need(RETRY_EXCEEDED.search(other.text()), f'the peer did not see retry-exceeded\n{other.text()}')
    if fork_child:
        os.kill(int(open(pid_file).read()), 0)  # it lives: it is what was tested
    need(all(b.alive() for b in bystanders), f'a bystander died\n{bystanders[0].text()}\n{bystanders[1].text()}')
    wait_for_traffic(w, bystanders)

    def left():
        return {p['pid'] for p in json.loads(w.softverbs('stat', '--json'))['processes']} & {victim.pid, other.pid}
    until(lambda: not left(), 3, lambda: f'the broker still has {left()}')


def forklater(w):
    path = f'{w.build}/tests/programs/forklater.so'
    need(os.path.exists(path), f'{path} is not built: ./check builds it')
    copy = f'{w.work}/forklater.so'
    if not os.path.exists(copy):
        with open(path, 'rb') as f, open(copy, 'wb') as g:
            g.write(f.read())
        os.chmod(copy, 0o755)
    return copy


@rows_for('kill -9 of the %s, %s', [(which, link) for which in ('server', 'client') for link in LINKS])
def _(w, which, link):
    kill_one(w, link, ('server', 'client').index(which))


@rows_for('kill -9 of the %s with a live forked child, %s', [(which, link) for which in ('server',) for link in LINKS])
def _(w, which, link):
    kill_one(w, link, ('server', 'client').index(which), fork_child=True)


@rows_for('broker killed in mid-transfer, %s', [(link,) for link in LINKS])
def _(w, link):
    sides = start_pair(w, ['ib_write_bw', '-F', '-d', 'sv_lo', '-n', '40000' if link == 'shm' else '15000'], link)
    wait_for_traffic(w, sides)
    old = w.brokers()
    need(len(old) == 1, f'brokers: {old}')
    os.kill(old[0], signal.SIGKILL)
    until(lambda: [b for b in w.brokers() if b != old[0]] or not all(s.alive() for s in sides), 5, 'no new broker')
    # Somebody who comes now finds the new broker, and the old slots in it.
    need(all(s.wait(0) in (None, 0) for s in sides), f'a side died\n{sides[0].text()}\n{sides[1].text()}')
    perftest(w, ['ib_send_lat', '-d', 'sv_lo', '-n', '100'], link)
    for side in sides:
        side.expect(30)


@row('the broker goes when nobody needs it')
def _(w):
    env = {'SOFTVERBS_IDLE_SECONDS': '1'}
    until(lambda: not w.brokers(), 8, lambda: f'brokers of earlier rows stay: {w.brokers()}')
    perftest(w, ['ib_send_lat', '-d', 'sv_lo', '-n', '100'], env=env)
    need(len(w.brokers()) == 1, f'brokers: {w.brokers()}')
    until(lambda: not w.brokers(), 4, lambda: f'it stays: {w.brokers()}')


# --- the wire ---------------------------------------------------------------

@row('208 KiB socket buffers, ib_write_bw -a on the wire')
def _(w):
    perftest(w, ['ib_write_bw', '-d', 'sv_lo', '-a', '-n', '20'], 'wire', sizes=23, env={'SOFTVERBS_RCVBUF': '212992'})


@row('208 KiB socket buffers, ib_write_bw -a on the wire, 5000 iterations', 'full')
def _(w):
    perftest(w, ['ib_write_bw', '-d', 'sv_lo', '-a', '-n', '5000'], 'wire', sizes=23, env={'SOFTVERBS_RCVBUF': '212992'},
             seconds=600)


def capture_row(w, commands, device, interface, index=None):
    """What the programs send: every frame decodes in tshark, every ICRC is right by icrc.py."""
    need_program('tshark')
    try:
        capture = Capture(interface)
    except PermissionError:
        raise Skipped('capturing needs root')
    try:
        for command in commands:
            gid = ['-x', str(index)] if index is not None else []
            perftest(w, [*command, '-d', device, *gid], 'wire', env={'SOFTVERBS_GSO': 'off'})
    finally:
        lost = capture.stop()
    check_capture(w, capture, lost)


def check_capture(w, capture, lost, least=50):
    """Every RoCE frame decodes in tshark, every ICRC is right by icrc.py."""
    packets = [p for p in (roce_packet(f) for _, f in capture.frames) if p]
    need(lost == 0, f'the capture itself lost {lost} frames')
    need(len(packets) > least, f'only {len(packets)} RoCE packets of {len(capture.frames)} frames')
    wrong = [p for p in packets if not is_right(p)]
    need(not wrong, f'{len(wrong)} of {len(packets)} ICRCs are wrong, the first in {wrong[0].hex() if wrong else ""}')
    path = f'{w.work}/wire.pcap'
    capture.write(path)
    # Payload is random bytes here: tshark's guesses about protocols inside are not asked for.
    fields = ('infiniband.bth.opcode', 'infiniband.invariant.crc', '_ws.malformed', '_ws.expert.message')
    guesses = ('rpcordma', 'smb_direct', 'iser', 'nvme-rdma')
    text = subprocess.run(['tshark', '-r', path, '-Y', 'udp.dstport == 4791 || eth.type == 0x8915', '-T', 'fields',
                           *(x for f in fields for x in ('-e', f)),
                           *(x for g in guesses for x in ('--disable-protocol', g))], capture_output=True, text=True).stdout
    lines = text.rstrip('\n').split('\n')
    need(len(lines) == len(packets), f'tshark shows {len(lines)} RoCE frames, the capture has {len(packets)}')
    for number, line in enumerate(lines):
        opcode, crc, malformed, expert = (line.split('\t') + [''] * 4)[:4]
        need(opcode and crc and not malformed,
             f'tshark does not decode RoCE frame {number}: {line} {expert}\n{packets[number].hex()}')


CAPTURED = [['ib_write_bw', '-n', '20', '-s', '10000'], ['ib_send_lat', '-n', '20', '-s', '5'], ['ib_send_bw', '-n', '20',
                                                                                                 '-s', '4097']]


@row('capture of the wire: tshark decodes every frame, every ICRC is right, IPv4')
def _(w):
    capture_row(w, CAPTURED, 'sv_lo', 'lo')


@row('capture of the wire: tshark decodes every frame, every ICRC is right, IPv6')
def _(w):
    index = gid_index(w, 'sv_lo', is_ipv6) if has_ipv6() else None
    if index is None:
        raise Skipped('lo has no IPv6 address here')
    capture_row(w, CAPTURED[:2], 'sv_lo', 'lo', index)


@row('capture of the wire: all perftest sizes', 'full')
def _(w):
    capture_row(w, [[tool, '-a', '-n', '20'] for tool in BW + LAT], 'sv_lo', 'lo')


# --- valgrind ---------------------------------------------------------------

VALGRIND = ['valgrind', '-q', '--error-exitcode=99', '--leak-check=no', '--fair-sched=yes', '--child-silent-after-fork=yes']


def valgrind_row(w, command, link):
    need_program('valgrind')
    try:
        pair(w, command, link, via='plain', wrap=VALGRIND, seconds=120)
    except Failed as e:  # what valgrind says, without its talk about system calls that it does not know
        raise Failed('\n'.join(line for line in str(e).split('\n') if not line.startswith('--')))


@rows_for('valgrind: ibv_rc_pingpong, %s', [(link,) for link in LINKS])
def _(w, link):
    valgrind_row(w, ['ibv_rc_pingpong', *pingpong_gid(w, link), '-n', '20', '-s', '5000'], link)


@rows_for('valgrind: %s %s', [(tool, link) for tool in BW + LAT for link in LINKS], 'full')
def _(w, tool, link):
    valgrind_row(w, [tool, '-F', '-d', 'sv_lo', '-n', '50', '-s', '8000'], link)
