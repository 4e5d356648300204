# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""More rows: post lists, programs that only a signal ends, qperf, the doctor, and docs/clients.md held to what was seen."""
import json
import os
import re
import signal
import socket

import clients
from rows import LINKS, ONE_SIDED, OTHERS, UC, UD, gid_index, is_ipv4, perftest, pingpong, pingpong_gid, row, rows_for, start_pair
from world import Skipped, need, need_program, perftest_sizes, until

# --- perftest: lists of posts, depths, events -------------------------------


@rows_for('%s -l 4 -t 16 %s', [(tool, link) for tool in ('ib_write_bw', 'ib_send_bw') for link in LINKS])
def _(w, tool, link):
    perftest(w, [tool, '-d', 'sv_lo', '-l', '4', '-t', '16', '-n', '400'], link)


@rows_for('%s %s %s', [('ib_write_bw', '-t 1', 'shm'), ('ib_send_bw', '-t 1024 -r 1024', 'shm'), ('ib_read_bw', '-e', 'shm'),
                       ('ib_atomic_bw', '-e', 'shm'), ('ib_read_bw', '-t 1 -o 1', 'wire'), ('ib_send_bw', '--use-srq', 'wire')])
def _(w, tool, options, link):
    perftest(w, [tool, '-d', 'sv_lo', *options.split(), '-n', '500'], link)


FULL_OPTIONS = ('', '-b', '-q 16', '-e', '-t 1', '-t 512', '-l 4 -t 16', '-l 8 -t 64 -q 4')
FULL = [(f'{c} {o}'.strip(), link) for c in ('ib_write_bw', 'ib_send_bw', *ONE_SIDED, *UC, *UD) for o in FULL_OPTIONS for link in LINKS
        if not ('_lat' in c and re.search('-b|-q|-t|-l', o)) and not ('write' in c and '-e' in o)
        # A burst of UC or UD on a wire may lose its tail, and the receiver then waits for ever.
        and not (link == 'wire' and c in ('ib_send_bw -c UC', 'ib_send_bw -c UD'))]


@rows_for('%s, every size, %s', FULL, 'full')
def _(w, command, link):
    # A post list must divide the number of messages.
    sizes = ['-n', '1000'] if 'atomic' in command else ['-a', '-n', '96']
    perftest(w, [*command.split(), '-d', 'sv_lo', *sizes], link,
             sizes=1 if 'atomic' in command else 12 if 'UD' in command else 23, seconds=300)


@rows_for('%s -c -s %s %s', [(tool, s, link) for tool in OTHERS for s in (1, 1000, 4000, 65536) for link in LINKS
                             if s <= 4000 or 'ud' not in tool and not ('uc' in tool and link == 'wire')], 'full')
def _(w, tool, size, link):
    pingpong(w, pingpong_gid(w, link) + ['-c', '-s', str(size), '-n', '200'], link, tool)


@row('ib_write_lat has inline data and does not complain of the device')
def _(w):
    for side in start_pair(w, ['ib_write_lat', '-F', '-d', 'sv_lo', '-n', '100'], 'shm'):
        text = side.expect(20)
        inline = re.search(r'Max inline data\s*:\s*(\d+)\[B\]', text)
        need(inline and int(inline[1]) > 0, text)
        need(not re.search('warning|unknown|unsupported|inline.*(off|disabl)', text, re.I), text)


# --- ended by a signal ------------------------------------------------------

def interrupted(w, command, link):
    """Both sides run until SIGINT, end of it at once, and leave nothing behind."""
    sides = start_pair(w, [command[0], '-F', *command[1:], '-d', 'sv_lo', '--run_infinitely', '-D', '1'], link,
                       wrap=('env', '--default-signal=INT'))
    until(lambda: any(perftest_sizes(side.text()) for side in sides), 10, lambda: f'no result\n{sides[1].text()}')
    server, client = sides
    need(client.alive() and server.alive(), f'ended by itself\n{client.text()}\n{server.text()}')
    client.signal(signal.SIGINT)
    need(client.wait(5) == -signal.SIGINT, f'SIGINT did not end the client: {client.status()}\n{client.text()}')
    server.signal(signal.SIGINT)  # unless it saw the end of its client, and ended by itself
    need(server.wait(5) in (-signal.SIGINT, 1), f'SIGINT did not end the server: {server.status()}\n{server.text()}')
    until(lambda: not json.loads(w.softverbs('stat', '--json'))['processes'], 5, 'the interrupted are still listed')


ENDLESS = ('ib_write_bw', 'ib_read_bw', 'ib_send_bw -c UD')


@rows_for('%s --run_infinitely, SIGINT, %s', [(c, 'shm') for c in ENDLESS] + [('ib_send_bw', 'wire')])
def _(w, command, link):
    interrupted(w, command.split(), link)


@rows_for('%s --run_infinitely, SIGINT, %s',
          [(c, link) for c in ('ib_write_bw', 'ib_send_bw', 'ib_read_bw', 'ib_atomic_bw', 'ib_send_bw -c UC', 'ib_write_bw -c UC')
           for link in LINKS if (c, link) not in {('ib_write_bw', 'shm'), ('ib_read_bw', 'shm'), ('ib_send_bw', 'wire')}], 'full')
def _(w, command, link):
    interrupted(w, command.split(), link)


# --- qperf ------------------------------------------------------------------

QPERF = ('rc_bw', 'rc_lat', 'rc_bi_bw', 'uc_bw', 'uc_lat', 'ud_bw', 'ud_lat', 'rc_rdma_write_bw', 'rc_rdma_write_lat',
         'rc_rdma_write_poll_lat', 'rc_rdma_read_bw', 'rc_rdma_read_lat', 'uc_rdma_write_bw', 'uc_rdma_write_lat',
         'rc_compare_swap_mr', 'rc_fetch_add_mr', 'ver_rc_compare_swap', 'ver_rc_fetch_add')


def qperf_refused(w, test):
    """Debian's qperf knows LIDs only: without the connection manager it makes no GRH, and no Ethernet port takes that. It must
    hear that from us in words and end, as it does over a hardware adapter."""
    need_program('qperf')
    port = w.new_port()
    server = w.start(['qperf', '-lp', str(port)])
    w.wait_listening(server, port)
    client = w.start(['qperf', '-lp', str(port), '-i', 'sv_lo:1', '-t', '1', '127.0.0.1', test], env={'SOFTVERBS_DEBUG': '1'})
    need(client.wait(10) not in (0, None), f'it runs by now? then this row is to say so\n{client.text()}')
    need(re.search('failed to (modify QP to RTR|create address handle)|address refused: Ethernet ports need a GRH',
                   client.text() + server.text()),
         f'it fails elsewhere\n{client.text()}\n{server.text()}')
    need(server.alive(), f'the server died\n{server.text()}')


rows_for('qperf %s: refused, an Ethernet port needs a GRH', [('rc_lat',), ('ud_bw',)])(qperf_refused)
rows_for('qperf %s: refused, an Ethernet port needs a GRH', [(t,) for t in QPERF if t not in ('rc_lat', 'ud_bw')],
         'full')(qperf_refused)


# --- doctor -----------------------------------------------------------------

def no_broker(w):
    for pid in w.brokers() if w.own_namespace else ():  # of our user in our namespace: nobody else needs it
        os.kill(pid, signal.SIGTERM)
    until(lambda: not w.brokers(), 15, 'a broker stays')


def doctor(w, *arguments):
    """The findings by name, and the exit status."""
    process = w.start([f'{w.product}/softverbs', 'doctor', '--json', *arguments], via='none')
    status = process.wait(10)
    found = json.loads(process.text())
    need(status == (1 if found['problems'] else 0), f'status {status}\n{process.text()}')
    need(all(c['remedy'] or c['verdict'] == 'OK' for c in found['checks']), f'no remedy\n{process.text()}')
    return {c['check']: c for c in found['checks']}


@row('softverbs doctor: nothing is broken here; it starts no broker; table and JSON agree')
def _(w):
    no_broker(w)
    found = doctor(w)
    need(not w.brokers(), 'the doctor started a broker')
    need(not [c for c in found.values() if c['verdict'] == 'PROBLEM'], f'{found}')
    for check in ('libraries', 'broker', 'UDP port 4791', 'receive buffer', 'send buffer', 'kernel', 'memlock', 'user namespaces'):
        need(check in found, f'no check {check}: {list(found)}')
    need('free' in found['UDP port 4791']['found'] and 'not running' in found['broker']['found'], f'{found}')
    table = w.softverbs('doctor')
    need(all(c['found'] in table and c['remedy'] in table for k, c in found.items() if k != 'descriptors'), f'{table}\n{found}')
    need('Examples' in w.softverbs('help', 'doctor'), 'help')
    w.softverbs('doctor', '--wrong', status=2)


@row('softverbs doctor: a broker that runs, and programs')
def _(w):
    server, client = start_pair(w, ['ib_write_bw', '-F', '-d', 'sv_lo', '-n', '2000000'])
    until(lambda: 'lost packets' in doctor(w), 5, 'running programs are not looked at')
    found = doctor(w)
    need(f'process {w.brokers()[0]}' in found['broker']['found'] and 'ours' in found['UDP port 4791']['found'], f'{found}')


@row('softverbs doctor: port 4791 is taken, and it says by whom')
def _(w):
    if not w.own_namespace:
        raise Skipped('needs a network namespace of its own')
    no_broker(w)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(('127.0.0.1', 4791))
        found = doctor(w)['UDP port 4791']
        need(found['verdict'] == 'PROBLEM' and f'user {os.getuid()}' in found['found'] and found['remedy'], f'{found}')
        w.softverbs('devices')  # starts a broker, which then has no wire
        found = doctor(w)['UDP port 4791']
        need(found['verdict'] == 'PROBLEM' and 'the broker says' in found['found'], f'{found}')
    no_broker(w)


@row('softverbs doctor: a burst of UD over a small buffer, and the setting is named')
def _(w):
    index = gid_index(w, 'sv_lo', is_ipv4)
    server, client = start_pair(w, ['ib_send_bw', '-F', '-c', 'UD', '-x', str(index), '-d', 'sv_lo', '-s', '4096', '-n', '200000',
                                    '-t', '2048', '-r', '2048'], 'wire', server_env={'SOFTVERBS_RCVBUF': '8192'})
    until(lambda: doctor(w).get('lost packets', {}).get('verdict', 'OK') != 'OK' or not client.alive(), 8,
          lambda: f'no loss is seen\n{w.softverbs("stat", "*receive_full*")}')
    found = doctor(w)['lost packets']
    need('ib_send_bw' in found['found'] and 'SOFTVERBS_RCVBUF' in found['remedy'], f'{found}')


@row('softverbs doctor PROGRAM: what will not load our libraries')
def _(w):
    need_program('ib_write_bw', 'su')
    need(doctor(w, 'ib_write_bw')['program']['verdict'] == 'OK', 'ib_write_bw')
    need(doctor(w, 'su')['program']['verdict'] == 'PROBLEM', 'su is set-user-ID')


# --- docs/clients.md --------------------------------------------------------

@row('docs/clients.md is true')
def _(w):
    problems = clients.complaints()
    need(not problems, '\n'.join(problems))
