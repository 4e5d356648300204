# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rows of connections by address: rdmacm-utils, perftest -R, qperf with its connection manager, libfabric, and deaths on the way."""
import os
import re
import signal
import time

from rows import LINKS, VIA, need_program, row, rows_for
from world import Failed, need, until

REFUSED = re.compile(r'UNREACHABLE[,;] error:? 1\b|REJECTED[,;] error:? 8|onnection refused|status 8|error 8')


def start_server(w, argv, link):
    need_program(argv[0])
    return w.start(argv, wire=link == 'wire', via=VIA[link])


def client_until_heard(w, server, argv, link, seconds=15):
    """Servers of the connection manager listen where no other program can look: a client that nobody hears is refused at once, and
    another one is started."""
    end = time.monotonic() + seconds
    while True:
        client = w.start(argv, wire=link == 'wire', via=VIA[link])
        until(lambda: not client.alive() or not server.alive(), seconds, lambda: f'{argv} hangs\n{server.text()}\n{client.text()}')
        status = client.wait(5)
        if status == 0 or not server.alive() or not REFUSED.search(client.text()) or time.monotonic() > end:
            return client, status
        time.sleep(0.05)


def both(w, server_argv, client_argv, link, server_ends=True):
    """A client that is refused may have come before its server listened, or between the two connections that perftest makes: both
    are started again, and the server gets a little longer."""
    for attempt in range(8):
        server = start_server(w, server_argv, link)
        time.sleep(0.05 * attempt)
        client = w.start(client_argv, wire=link == 'wire', via=VIA[link])
        until(lambda: not client.alive() or not server.alive(), 20,
              lambda: f'{client_argv} hangs\n{server.text()}\n{client.text()}')
        status = client.wait(5)
        if status == 0 or not REFUSED.search(client.text()) or attempt == 7:
            break
        server.end()
    if status != 0:
        raise Failed(f'client {status}: {client.text()}\nserver {server.status()}: {server.text()}')
    if server_ends:
        need(server.wait(5) == 0, f'server {server.status()}: {server.text()}\nclient: {client.text()}')
    return client.text(), server.text()


@rows_for('rping %s %s', [(address, link) for address in ('127.0.0.1', '::1') for link in LINKS])
def _(w, address, link):
    port = str(w.new_port())
    text, _ = both(w, ['rping', '-s', '-a', address, '-p', port, '-C', '20', '-V'],
                   ['rping', '-c', '-a', address, '-p', port, '-C', '20', '-V', '-v'], link)
    need(text.count('ping data') == 20, text)


@rows_for('rping 10.99.0.1 to itself, %s', [(link,) for link in LINKS])
def _(w, link):
    if not w.own_namespace:
        return
    port = str(w.new_port())
    both(w, ['rping', '-s', '-p', port, '-C', '5', '-V'], ['rping', '-c', '-a', '10.99.0.1', '-p', port, '-C', '5', '-V'], link)


@rows_for('ucmatose -c %s %s', [(100, link) for link in LINKS])
def _(w, count, link):
    port, n = str(w.new_port()), str(count)
    both(w, ['ucmatose', '-p', port, '-c', n], ['ucmatose', '-s', '127.0.0.1', '-p', port, '-c', n], link)


@rows_for('udaddy %s', [(link,) for link in LINKS])
def _(w, link):
    both(w, ['udaddy'], ['udaddy', '-s', '127.0.0.1'], link)


# One that is refused takes ten seconds to say so.
@rows_for('cmtime -c %s %s', [(n, link) for n in (100, 1000) for link in LINKS], 'full')
def _(w, count, link):
    port = str(w.new_port())
    text, _ = both(w, ['cmtime', '-p', port, '-c', str(count)], ['cmtime', '-s', '127.0.0.1', '-p', port, '-c', str(count)], link,
                   server_ends=False)
    need('disconnect' in text, text)


@rows_for('rdma_client, rdma_server %s', [(link,) for link in LINKS])
def _(w, link):
    port = str(w.new_port())
    both(w, ['rdma_server', '-p', port], ['rdma_client', '-s', '127.0.0.1', '-p', port], link)


@rows_for('rdma_xclient, rdma_xserver -c %s %s', [(kind, link) for kind in ('r', 'x') for link in LINKS])
def _(w, kind, link):
    port = str(w.new_port())
    both(w, ['rdma_xserver', '-p', port, '-c', kind], ['rdma_xclient', '-s', '127.0.0.1', '-p', port, '-c', kind], link)


QUICK_R = (('ib_write_bw', 'shm'), ('ib_send_lat', 'wire'), ('ib_send_lat -c UD', 'shm'))
FULL_R = [(f'ib_{o}_{k}', link) for o in ('write', 'send', 'read', 'atomic') for k in ('bw', 'lat') for link in LINKS]


def perftest_by_address(w, command, link):
    port = str(w.new_port())
    options = [*command.split(), '-F', '-R', '-p', port, '-n', '200']
    both(w, options, options + ['127.0.0.1'], link)


rows_for('%s -R %s', QUICK_R)(perftest_by_address)
rows_for('%s -R %s', [c for c in FULL_R if c not in QUICK_R], 'full')(perftest_by_address)


@rows_for('qperf -cm 1 %s %s', [('rc_lat', 'shm'), ('rc_rdma_write_bw', 'wire')])
def _(w, test, link):
    need_program('qperf')
    port = w.new_port()
    server = w.start(['qperf', '-lp', str(port)], wire=link == 'wire', via=VIA[link])
    w.wait_listening(server, port)
    client = w.start(['qperf', '-lp', str(port), '-t', '1', '-cm', '1', '127.0.0.1', test], wire=link == 'wire', via=VIA[link])
    need(client.wait(20) == 0, f'{client.status()}\n{client.text()}\n{server.text()}')
    need(re.search(r'(bw|latency) += ', client.text()), client.text())


@row('fi_pingpong -p verbs -e msg')
def _(w):
    need_program('fi_pingpong')
    port = w.new_port()
    server = w.start(['fi_pingpong', '-p', 'verbs', '-e', 'msg', '-I', '50', '-S', '4096', '-B', str(port)])
    w.wait_listening(server, port)
    client = w.start(['fi_pingpong', '-p', 'verbs', '-e', 'msg', '-I', '50', '-S', '4096', '-P', str(port), '127.0.0.1'])
    need(client.wait(20) == 0, f'{client.status()}\n{client.text()}\n{server.text()}')


# --- deaths -----------------------------------------------------------------

def running_pair(w, link):
    """rping without an end: both run, the client has printed."""
    port = str(w.new_port())
    server = start_server(w, ['rping', '-s', '-a', '127.0.0.1', '-p', port, '-v'], link)
    for _ in range(100):
        client = w.start(['rping', '-c', '-a', '127.0.0.1', '-p', port, '-v', '-C', '100000000'], wire=link == 'wire', via=VIA[link])
        until(lambda: 'ping data' in server.text() or not client.alive(), 10, 'no traffic')
        if client.alive():
            return server, client
        time.sleep(0.05)
    raise Failed(f'no connection\n{server.text()}\n{client.text()}')


@rows_for('kill -9 of an rping %s: the other hears of it within a second, %s', [(s, k) for s in ('server', 'client') for k in LINKS])
def _(w, side, link):
    sides = dict(zip(('server', 'client'), running_pair(w, link)))
    victim, other = sides[side], sides['client' if side == 'server' else 'server']
    victim.signal(signal.SIGKILL)
    died = time.monotonic()
    until(lambda: 'DISCONNECT' in other.text() or not other.alive(), 5, lambda: f'nothing was heard\n{other.text()[-500:]}')
    need(time.monotonic() - died < 1.5, f'it took {time.monotonic() - died:.1f} s')


@rows_for('a broker dies: connections and listeners live on, %s', [(link,) for link in LINKS])
def _(w, link):
    port = str(w.new_port())
    server, client = running_pair(w, link)
    waiting = start_server(w, ['rping', '-s', '-a', '127.0.0.1', '-p', port, '-C', '3'], link)
    first = w.start(['rping', '-c', '-a', '127.0.0.1', '-p', str(int(port) + 1), '-C', '1'], wire=link == 'wire', via=VIA[link])
    first.wait(5)  # refused: but by then the listener before it is there
    old = w.brokers()
    os.kill(old[0], signal.SIGKILL)
    until(lambda: [b for b in w.brokers() if b not in old], 5, 'no new broker')
    other, status = client_until_heard(w, waiting, ['rping', '-c', '-a', '127.0.0.1', '-p', port, '-C', '3'], link)
    need(status == 0, f'the listener is gone\n{other.text()}\n{waiting.text()}')
    need(server.alive() and client.alive(), f'the connection is gone\n{server.text()[-300:]}\n{client.text()[-300:]}')
    client.signal(signal.SIGKILL)
    until(lambda: 'DISCONNECT' in server.text() or not server.alive(), 5, lambda: f'nothing was heard\n{server.text()[-500:]}')
