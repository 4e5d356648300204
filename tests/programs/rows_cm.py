# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rows of connections by address: rdmacm-utils, perftest -R, qperf with its connection manager, fio, libfabric, and deaths on
the way."""
import json
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


def listeners(w):
    broker = json.loads(w.softverbs('stat', '--json')).get('broker') or {}
    return broker.get('cm', {}).get('listeners', 0)


def server_that_listens(w, argv, link, seconds=10):
    """For programs that are slow to say that they were refused, or say it by no status: a server whose listener the broker knows."""
    before = listeners(w)
    server = start_server(w, argv, link)
    until(lambda: listeners(w) > before or not server.alive(), seconds, lambda: f'{argv} does not listen\n{server.text()}')
    return server


def cmtime(w, count, link):
    port = str(w.new_port())
    server = server_that_listens(w, ['cmtime', '-p', port, '-c', str(count)], link)
    client = w.start(['cmtime', '-s', '127.0.0.1', '-p', port, '-c', str(count)], wire=link == 'wire', via=VIA[link])
    need(client.wait(30) == 0 and 'disconnect' in client.text(), f'{client.status()}\n{client.text()}\n{server.text()}')


rows_for('cmtime -c %s %s', [(20, link) for link in LINKS])(cmtime)
rows_for('cmtime -c %s %s', [(n, link) for n in (100, 1000) for link in LINKS], 'full')(cmtime)


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


QPERF_QUICK = [('rc_lat', 'shm'), ('rc_rdma_write_bw', 'wire')]
QPERF = [f'rc_{t}' for t in ('bi_bw', 'bw', 'lat', 'rdma_read_bw', 'rdma_read_lat', 'rdma_write_bw', 'rdma_write_lat',
                             'rdma_write_poll_lat', 'compare_swap_mr', 'fetch_add_mr')] + ['ver_rc_compare_swap', 'ver_rc_fetch_add']


def qperf(w, test, link):
    need_program('qperf')
    port = w.new_port()
    server = w.start(['qperf', '-lp', str(port)], wire=link == 'wire', via=VIA[link])
    w.wait_listening(server, port)
    client = w.start(['qperf', '-lp', str(port), '-t', '1', '-cm', '1', '127.0.0.1', test], wire=link == 'wire', via=VIA[link])
    need(client.wait(20) == 0, f'{client.status()}\n{client.text()}\n{server.text()}')
    need(re.search(r'(bw|latency|msg_rate) += ', client.text()), client.text())


rows_for('qperf -cm 1 %s %s', QPERF_QUICK)(qperf)
rows_for('qperf -cm 1 %s %s', [(t, link) for t in QPERF for link in LINKS if (t, link) not in QPERF_QUICK], 'full')(qperf)


QPERF_LIDS = ('uc_bi_bw', 'uc_bw', 'uc_lat', 'uc_rdma_write_bw', 'uc_rdma_write_lat', 'uc_rdma_write_poll_lat', 'ud_bi_bw', 'ud_bw',
              'ud_lat')


@rows_for('qperf -cm 1 %s: knows LIDs only, refused', [(t,) for t in QPERF_LIDS], 'full')
def _(w, test):
    need_program('qperf')
    port = w.new_port()
    server = w.start(['qperf', '-lp', str(port)])
    w.wait_listening(server, port)
    client = w.start(['qperf', '-lp', str(port), '-t', '1', '-cm', '1', '127.0.0.1', test])
    need(client.wait(10) not in (0, None) and re.search('failed to (modify QP|create address)', client.text()), client.text())


# fio's client asks for no retries of RNR, and sends as long as it is acknowledged: a receive for each block must be posted before the
# first one comes. Its server does not look whether the client is still there.
FIO_BLOCKS = 64


def fio_common(port):
    """The engine before its options."""
    return ['--ioengine=rdma', f'--port={port}', '--bs=64k', f'--size={64 * FIO_BLOCKS}k', '--thread']


def fio(w, verb, link):
    need_program('fio')
    port = str(w.new_port())
    common = fio_common(port)
    check = ['--verify=crc32c'] if verb == 'send' else []
    server = server_that_listens(w, ['fio', *common, '--name=server', '--rw=read', f'--iodepth={FIO_BLOCKS + 1}', *check], link)
    client = w.start(['fio', *common, '--hostname=127.0.0.1', f'--verb={verb}', '--name=client', '--rw=write', '--iodepth=16',
                      '--verify=crc32c', '--do_verify=0'], wire=link == 'wire', via=VIA[link])
    for side in (client, server):
        need(side.wait(10) == 0, f'{side.status()}\nclient: {client.text()}\nserver: {server.text()}')
    need(f'total=0,{FIO_BLOCKS},0,0' in client.text(), client.text())
    if verb == 'send':
        need(f'total={FIO_BLOCKS},0,0,0' in server.text(), server.text())


rows_for('fio rdma %s, verify=crc32c, %s', [(v, 'shm') for v in ('write', 'read', 'send')])(fio)
rows_for('fio rdma %s, verify=crc32c, %s', [(v, 'wire') for v in ('write', 'read', 'send')], 'full')(fio)


@row('fio rdma send: verify=crc32c sees blocks that are none', 'full')
def _(w):
    need_program('fio')
    port = str(w.new_port())
    common = fio_common(port)
    server = server_that_listens(w, ['fio', *common, '--name=server', '--rw=read', f'--iodepth={FIO_BLOCKS + 1}',
                                     '--verify=crc32c'], 'shm')
    w.start(['fio', *common, '--hostname=127.0.0.1', '--verb=send', '--name=client', '--rw=write', '--iodepth=16'])
    need(server.wait(10) == 1 and 'verify: bad' in server.text(), server.text())


FI_QUICK = [('verbs -e msg', '-S 4096', 'shm'), ('verbs;ofi_rxm -e rdm', '-S 4096', 'shm')]
FI = [(f'{p} -e {e}', s, link) for p, e in (('verbs', 'msg'), ('verbs;ofi_rxm', 'rdm'), ('verbs', 'dgram')) for s in
      (('-S 64', '-S 4096', '-S 65536 -c', '-S 1048576 -c') if e != 'dgram' else ('-S 64', '-S 1024 -c')) for link in LINKS
      if (e, link) != ('dgram', 'wire')]  # it takes GID 0, which is RoCE v1 and stays on the host


def fi_pingpong(w, provider, options, link):
    need_program('fi_pingpong')
    port = w.new_port()
    argv = ['fi_pingpong', '-p', *provider.split(), '-I', '50', *options.split()]
    server = w.start([*argv, '-B', str(port)], wire=link == 'wire', via=VIA[link])
    w.wait_listening(server, port)
    client = w.start([*argv, '-P', str(port), '127.0.0.1'], wire=link == 'wire', via=VIA[link])
    need(client.wait(20) == 0, f'{client.status()}\n{client.text()}\n{server.text()}')
    need(re.search(r'^\S+\s+50\s+=50', client.text(), re.M), client.text())


rows_for('fi_pingpong -p %s %s %s', FI_QUICK)(fi_pingpong)
rows_for('fi_pingpong -p %s %s %s', [x for x in FI if x not in FI_QUICK], 'full')(fi_pingpong)


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
