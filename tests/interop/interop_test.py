#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""softverbs and Linux's rxe, which runs in a guest under QEMU, at two ends of a tap.

  interop_test.py BUILD [--results FILE] [GROUP...]     groups: peer, cm, programs, jumbo, loss

Without a group: all but jumbo, each program twice (softverbs serves over IPv4, rxe over IPv6), perftest with one size, a fifth of
the messages on the bad wire. With SOFTVERBS_CHECK=full, or for a group that is named: all, with every size, and with either as the
server over both.

As root only (it makes the namespaces); else it says so and ends with 77. The guest is made by guest.sh, in BUILD/guest.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cm_rows  # noqa: E402
import cm_wire  # noqa: E402
from guest import TOP, Failed, Lab, Skipped, need  # noqa: E402
from icrc import is_right, roce_packet  # noqa: E402
from world import perftest_sizes  # noqa: E402

PINGPONGS = ('ibv_rc_pingpong', 'ibv_uc_pingpong', 'ibv_ud_pingpong', 'ibv_srq_pingpong')
# -a: every size to 8 MiB. Emulated, the guest moves some tens of MB in a second: few of each. What nobody acknowledges is lost
# when the guest is slow, and then a program waits for ever: UC and UD are in the pingpongs. Each end takes the READs that its
# own device can have out, 128 of rxe, 16 of ours, for what the other has, too: -o says it.
PERFTESTS = ('ib_send_bw', 'ib_send_lat', 'ib_write_bw', 'ib_write_lat', 'ib_read_bw -o 16', 'ib_read_lat -o 16')
ATOMICS = ('ib_atomic_bw -n 200 -o 16', 'ib_atomic_lat -n 200 -o 16')
EVERY_SIZE, ONE_SIZE = '-a -n 5', '-s 65536 -n 50'
SIZES = 23  # of -a: 2 to 8 MiB
SCENARIOS = ('rc', 'uc', 'ud', 'invalidate', 'errors')
BULK, BULK_ONCE = 100000, 20000
VENDORS_OPCODES = 0xc0
KINDS = ('REQ', 'REP', 'RTU', 'REJ', 'DREQ', 'DREP', 'SIDR_REQ', 'SIDR_REP')
ROLES = {'a': 'softverbs serves', 'b': 'rxe serves'}
LISTENERS = {'a': 'softverbs listens', 'b': 'rxe listens'}
SEED = 20240229
GRACE = 60  # emulated, on a busy machine, ending takes its time


class Rows:
    """Results, as ./check wants them."""

    def __init__(self, build):
        self.build, self.rows = build, []

    def run(self, name, function):
        started = time.monotonic()
        result, words = 'pass', ''
        try:
            words = function() or ''
        except Skipped as e:
            result, words = 'skip', str(e)
        except Failed as e:
            result, words = 'fail', str(e)
        except Exception:  # a row that breaks is a row that fails
            result, words = 'fail', traceback.format_exc()
        seconds = round(time.monotonic() - started, 2)
        self.rows.append({'name': name, 'result': result, 'words': words, 'seconds': seconds})
        print(f'    {result} {seconds:6.2f} s  {name}', flush=True)
        if words:
            print('\n'.join('          ' + line for line in words.strip().split('\n')[-40:]), flush=True)

    def lab(self, name, function, **how):
        """The rows of one guest. That it starts is a row, too."""
        started = []

        def boot():
            started.append(Lab(self.build, **how))
        self.run(f'{name}: the guest starts', boot)
        if started:
            try:
                function(started[0])
                self.run(f'{name}: no complaint in the guest\'s kernel log', lambda: no_complaint(started[0]))
            finally:
                started[0].close()


def no_complaint(lab):
    log = lab.guest.said('dmesg')
    need(not re.search(r'BUG|Oops|WARNING:|Call Trace', log), log)


def ends(lab):
    """What a row has started goes with it, the guest and the relay stay."""
    keep = [p for p in lab.processes if p is lab.guest.qemu or p is lab.relay]
    for process in reversed(lab.processes):
        if process not in keep:
            process.end()
    lab.processes[:] = keep


def both_roles(rows, lab, name, function, versions=None):
    for server, words in ROLES.items():
        for version in (versions or {}).get(server, (4, 6)):
            rows.run(f'{name}, IPv{version}, {words}', lambda: function(lab, server, version))
            ends(lab)


def peer_command(lab, host):
    return '/opt/peer' if host == 'b' else f'{lab.build}/tests/interop/peer'


def scenario(lab, server, version, name, mtu=1024, count=None, seconds=120):
    lab.port += 1
    client = {'a': 'b', 'b': 'a'}[server]

    def argv(host):
        return [peer_command(lab, host), '-d', lab.device(host), '-x', str(lab.gid_index(host, version)), '-p', str(lab.port),
                '-m', str(mtu), *(['-n', str(count)] if count else []), name]
    one = lab.start(server, argv(server))
    end = time.monotonic() + 15
    while not lab.listens(server, lab.port):
        need(one.alive() and time.monotonic() < end, f'{name}: no server\n{one.text()}')
    other = lab.start(client, argv(client) + [lab.address(server, version)])
    end = time.monotonic() + seconds
    # When the one fails, the other waits in vain.
    while (one.alive() or other.alive()) and time.monotonic() < end:
        if any(p.wait(0.1) not in (None, 0) for p in (one, other)):
            break
    for p in (one, other):
        if p.wait(1) == 77:
            raise Skipped(p.text().strip().split('\n')[-1])
    if (one.wait(1), other.wait(1)) != (0, 0):
        raise Failed(f'server {one.wait(0)}:\n{one.text()}\nclient {other.wait(0)}:\n{other.text()}')


def pingpong(lab, server, version, tool, mtu):
    size = min(mtu, 2048) if 'ud' in tool else 9000
    text = lab.pair([tool, '-n', '200', '-s', str(size), *(['-m', str(mtu)] if 'ud' not in tool else [])], version,
                    seconds=120, index_flag='-g', server_host=server, grace=GRACE)
    need(re.search(r'\d+ iters in', text), f'{tool}: no result\n{text}')


def perftest(lab, server, version, command):
    text = lab.pair([*command.split(), '-F'], version, seconds=240, server_host=server, grace=GRACE)
    sizes = perftest_sizes(text)
    need(len(sizes) == (SIZES if ' -a' in command else 1) and 'rror' not in text, f'{command}: {len(sizes)} results\n{text}')


def peer(rows):
    def on(lab, mtu):
        for name in SCENARIOS:
            both_roles(rows, lab, f'MTU {mtu}: {name}', lambda *a: scenario(*a, name, {1500: 1024, 9000: 4096}[mtu]))
    for mtu in (1500, 9000):
        rows.lab(f'MTU {mtu}', lambda lab: on(lab, mtu), mtu=mtu)


def programs(rows, mtu=1500, versions=None, sizes=EVERY_SIZE):
    def on(lab):
        for tool in PINGPONGS:
            both_roles(rows, lab, f'MTU {mtu}: {tool}', lambda *a: pingpong(*a, tool, {1500: 1024, 9000: 4096}[mtu]), versions)
        for command in [f'{program} {sizes}' for program in PERFTESTS] + list(ATOMICS):
            both_roles(rows, lab, f'MTU {mtu}: {command}', lambda *a: perftest(*a, command), versions)
    rows.lab(f'MTU {mtu}', on, mtu=mtu)


def cm(rows, versions=None):
    def on(lab):
        capture = lab.capture('a', both=True)
        for function, words in ((lambda *a: scenario(*a, 'cm'), 'ECE and refusals'), (cm_rows.rping, 'rping'),
                                (cm_rows.ucmatose, f'ucmatose -c {cm_rows.CONNECTIONS}'), (cm_rows.udaddy, 'udaddy')):
            both_roles(rows, lab, f'connections: {words}', function, versions)
        for listener, words in LISTENERS.items():
            rows.run(f'connections: mckey, {words}', lambda: cm_rows.mckey(lab, listener))
            ends(lab)
        rows.run('connections: GID types', lambda: cm_rows.gid_types(lab))
        ends(lab)
        lost = capture.stop()
        rows.run('connections: our codec and tshark read each message alike', lambda: read_alike(lab, capture, lost))
    rows.lab('connections', on)


def read_alike(lab, capture, lost):
    need(lost == 0, f'{lost} frames of the capture are lost')
    packets = [p for p in (roce_packet(frame) for _, frame in capture.frames) if p]
    # Large frames of segmentation offload have no ICRC yet; messages are never such.
    path = f'{lab.work}/cm.pcap'
    capture.frames = [f for f in capture.frames if is_message(f[1])]
    capture.write(path)
    need(all(is_right(roce_packet(frame)) for _, frame in capture.frames), 'a wrong ICRC')
    # Of selective repeat, which only softverbs has.
    need(all(opcode(packet) < VENDORS_OPCODES for packet in packets), 'a vendor\'s opcode on the wire')
    return f'{len(packets)} packets; {cm_wire.check(lab.build, path, KINDS)}'


def bth_at(packet):
    return (20 if packet[0] >> 4 == 4 else 40) + 8


def opcode(packet):
    return packet[bth_at(packet)]


def is_message(frame):
    """To QP 1."""
    packet = roce_packet(frame)
    return packet and opcode(packet) >> 5 == 3 and packet[bth_at(packet) + 5:bth_at(packet) + 8] == b'\0\0\1'


def loss(rows, count=BULK):
    def on(lab):
        for server, words in ROLES.items():
            rows.run(f'1 % loss: {count} messages, {words}',
                     lambda: scenario(lab, server, 4, 'bulk', count=count, seconds=900))
            ends(lab)
        did = lab.end_relay()
        print(f'          the wire: {did}', flush=True)
        rows.run('1 % loss: the wire was bad', lambda: need(did['lost'] > count / 100 and did['overrun'] == 0, str(did)))
    rows.lab('1 % loss', on, bad=['--loss', '10000', '--seed', str(SEED)])


GROUPS = {'peer': peer, 'cm': cm, 'programs': programs, 'jumbo': lambda rows: programs(rows, 9000), 'loss': loss}
ONCE = {'a': (4,), 'b': (6,)}
QUICK = {'peer': peer, 'cm': lambda rows: cm(rows, ONCE), 'programs': lambda rows: programs(rows, 1500, ONCE, ONE_SIZE),
         'loss': lambda rows: loss(rows, BULK_ONCE)}


def guest_make(build):
    done = subprocess.run([f'{TOP}/tests/interop/guest.sh', f'{build}/guest', f'{build}/tests/interop/peer'],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 77:
        raise Skipped(done.stdout.strip().split('\n')[-1])
    need(done.returncode == 0, f'guest.sh: {done.returncode}\n{done.stdout}')


def main():
    arguments = sys.argv[1:]
    results = None
    if '--results' in arguments:
        at = arguments.index('--results')
        results = arguments[at + 1]
        del arguments[at:at + 2]
    if not arguments or not set(arguments[1:]) <= set(GROUPS):
        print(__doc__, file=sys.stderr)
        return 2
    # Asked to end, we end what we started first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = Rows(os.path.abspath(arguments[0]))
    if os.getuid() != 0:
        print('making network namespaces and taps needs root')
        return 77

    rows.run('the guest is made', lambda: guest_make(rows.build))
    if rows.rows[0]['result'] == 'pass':
        groups = {name: GROUPS[name] for name in arguments[1:]}
        for run_group in (groups or (GROUPS if os.environ.get('SOFTVERBS_CHECK') == 'full' else QUICK)).values():
            run_group(rows)
    if results:
        with open(results, 'w') as f:
            json.dump(rows.rows, f)
    count = [sum(r['result'] == kind for r in rows.rows) for kind in ('pass', 'fail', 'skip')]
    print('{} passed, {} failed, {} skipped'.format(*count))
    return 1 if count[1] else 77 if count[0] == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
