# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rows of connections by address: programs of rdmacm-utils over softverbs and over Linux's connection management; GID types."""
import json
import re
import time

from guest import Failed, need, until_true

GROUP = '239.255.98.1'  # Linux 6.1 joins no IPv6 group over RoCEv2 (524, ENOTSUPP)
MESSAGES = 10  # of mckey, which waits for 3 s by itself before it sends
CONNECTIONS = 100


def other(server):
    return {'a': 'b', 'b': 'a'}[server]


def listens(lab, host):
    """Whether a program of the host waits for connections. Only its connection management knows."""
    if host == 'a':
        broker = json.loads(lab.softverbs('a', 'stat', '--json'))['broker']
        return broker is not None and broker['cm']['listeners'] > 0
    return 'LISTEN' in lab.guest.said('rdma resource show cm_id')


def pair(lab, server_host, server_argv, client_argv, seconds):
    server = lab.start(server_host, server_argv)
    until_true(lambda: listens(lab, server_host) or not server.alive(), 30, lambda: f'{server_argv}: no server\n{server.text()}')
    client = lab.start(other(server_host), client_argv)
    end = time.monotonic() + seconds
    while client.wait(0.1) is None and server.alive() and time.monotonic() < end:
        pass
    if (client.wait(10), server.wait(10)) != (0, 0):
        raise Failed(f'server {server.wait(0)}:\n{server.text()}\nclient {client.wait(0)}:\n{client.text()}')
    return client.text(), server.text()


def rping(lab, server, version):
    lab.port += 1
    common = ['-a', lab.address(server, version), '-p', str(lab.port), '-C', '20', '-V', '-S', '4000']
    text, _ = pair(lab, server, ['rping', '-s', *common], ['rping', '-c', *common, '-v'], 60)
    need(text.count('ping data') == 20, text)


def ucmatose(lab, server, version):
    lab.port += 1
    common = ['-p', str(lab.port), '-c', str(CONNECTIONS)]
    text, _ = pair(lab, server, ['ucmatose', '-b', lab.address(server, version), *common],
                   ['ucmatose', '-s', lab.address(server, version), *common], 120)
    need('data transfers complete' in text and 'return status 0' in text, text)


def udaddy(lab, server, version):
    text, _ = pair(lab, server, ['udaddy', '-b', lab.address(server, version)],
                   ['udaddy', '-s', lab.address(server, version)], 60)
    need('data transfers complete' in text and 'return status 0' in text, text)


def mckey(lab, listener):
    def start(host, *options):
        return lab.start(host, ['mckey', '-m', GROUP, '-b', lab.address(host), '-C', str(MESSAGES), *options])
    processes = [start(listener), start(other(listener), '-s')]
    end = time.monotonic() + 40
    while any(p.wait(0.1) is None for p in processes) and time.monotonic() < end:
        pass
    texts = '\n'.join(p.text() for p in processes)
    need([p.wait(0) for p in processes] == [0, 0] and texts.count('return status 0') == 2, texts)


def gid_types(lab):
    """What ibv_devinfo says of the types: of each address that has a v2 GID in Linux, ours has one that is shown alike."""
    shown = {}
    for host in 'ab':
        process = lab.start(host, ['ibv_devinfo', '-v', '-d', lab.device(host)])
        while process.wait(0.2) is None:
            pass
        shown[host] = re.findall(r'GID\[ *\d+\]:\s+(\S+?)(?:, (.*))?$', process.text(), re.M)
        need(shown[host], process.text())
    kinds = {host: {(kind(gid), words) for gid, words in gids} for host, gids in shown.items()}
    need(kinds['b'] <= kinds['a'], f'rxe: {shown["b"]}\nsoftverbs: {shown["a"]}')
    return ', '.join(sorted(f'{address}: {words}' for address, words in kinds['b']))


def kind(gid):
    return 'IPv4' if gid.startswith('::ffff:') or ':ffff:' in gid and gid.startswith('0000') else \
        'link local' if gid.startswith('fe80') else 'IPv6'
