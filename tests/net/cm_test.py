#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Connections by address between two network namespaces: rdmacm-utils, perftest -R, qperf and fio.

  cm_test.py BUILD [NAME...]      those whose name contains one of the words; SOFTVERBS_LONG=1: all, else a few

As root only (it makes the namespaces); else it says so and ends with 77.
"""
import json
import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hosts import Hosts, Skipped, main_ends, need, until_true  # noqa: E402

SERVER, CLIENT = 'a', 'b'
FIO = ['fio', '--ioengine=rdma', '--bs=64k', '--size=4096k', '--thread']


def fio(verb):
    check = ['--verify=crc32c'] if verb == 'send' else []
    return ([*FIO, '--port={port}', '--name=server', '--rw=read', '--iodepth=65', *check],
            [*FIO, '--port={port}', '--hostname={server}', f'--verb={verb}', '--name=client', '--rw=write', '--iodepth=16',
             '--verify=crc32c', '--do_verify=0'], 'total=0,64,0,0')


def perftest(command):
    argv = [*command.split(), '-F', '-R', '-p', '{port}', '-n', '200']
    return argv, argv + ['{server}'], r'^ \d+ '


def qperf(test):
    argv = ['qperf', '-lp', '{port}']
    return argv, [*argv, '-t', '1', '-cm', '1', '{server}', test], '(bw|latency|msg_rate) +='


# name -> server's command, client's command, what the client prints. The address is of the version that the name ends in, else IPv4.
CASES = {
    'rping 4': (['rping', '-s', '-a', '{server}', '-p', '{port}', '-C', '20', '-V'],
                ['rping', '-c', '-a', '{server}', '-p', '{port}', '-C', '20', '-V', '-v'], 'ping data'),
    'rping 6': (['rping', '-s', '-a', '{server}', '-p', '{port}', '-C', '20', '-V'],
                ['rping', '-c', '-a', '{server}', '-p', '{port}', '-C', '20', '-V', '-v'], 'ping data'),
    'ucmatose': (['ucmatose', '-p', '{port}', '-c', '100'], ['ucmatose', '-s', '{server}', '-p', '{port}', '-c', '100'],
                 'return status 0'),
    'udaddy': (['udaddy'], ['udaddy', '-s', '{server}'], 'return status 0'),
    'cmtime': (['cmtime', '-p', '{port}', '-c', '100'], ['cmtime', '-s', '{server}', '-p', '{port}', '-c', '100'], 'disconnect'),
    'rdma_client': (['rdma_server', '-p', '{port}'], ['rdma_client', '-s', '{server}', '-p', '{port}'], 'rdma_client: end 0'),
    'rdma_xclient r': (['rdma_xserver', '-p', '{port}', '-c', 'r'],
                       ['rdma_xclient', '-s', '{server}', '-p', '{port}', '-c', 'r'], 'end 0'),
    'rdma_xclient x': (['rdma_xserver', '-p', '{port}', '-c', 'x'],
                       ['rdma_xclient', '-s', '{server}', '-p', '{port}', '-c', 'x'], 'end 0'),
    'ib_write_bw -R': perftest('ib_write_bw'),
    'ib_send_bw -R': perftest('ib_send_bw'),
    'ib_read_lat -R': perftest('ib_read_lat'),
    'ib_send_lat -c UD -R': perftest('ib_send_lat -c UD'),
    'qperf rc_bw': qperf('rc_bw'),
    'qperf rc_rdma_read_lat': qperf('rc_rdma_read_lat'),
    'qperf ver_rc_fetch_add': qperf('ver_rc_fetch_add'),
    'fio write': fio('write'),
    'fio read': fio('read'),
    'fio send': fio('send'),
}
QUICK = ('rping 4', 'rping 6', 'ucmatose', 'udaddy', 'rdma_client')
STAY = ('cmtime', 'qperf')  # whose server serves on


def listens(hosts, port):
    """By TCP, or as connection management counts."""
    if hosts.listens(SERVER, port):
        return True
    broker = json.loads(hosts.softverbs(SERVER, 'stat', '--json')).get('broker') or {}
    return broker.get('cm', {}).get('listeners', 0) > 0


def one(hosts, name, attempt=0):
    server_argv, client_argv, words = CASES[name]
    hosts.port += 1
    values = {'port': hosts.port, 'server': hosts.address(SERVER, 6 if name.endswith(' 6') else 4)}
    server = hosts.start(SERVER, [word.format(**values) for word in server_argv])
    until_true(lambda: listens(hosts, hosts.port) or not server.alive(), 10, lambda: f'{name}: no server\n{server.text()}')
    time.sleep(0.1 * attempt)
    client = hosts.start(CLIENT, [word.format(**values) for word in client_argv])
    status = client.wait(30)
    if status not in (0, None) and attempt < 5 and re.search('UNREACHABLE|REJECTED|onnection refused', client.text()):
        server.end()  # perftest makes two connections in a row, and came between them
        hosts.processes.remove(server)
        return one(hosts, name, attempt + 1)
    need(status == 0 and re.search(words, client.text(), re.M), f'{name}: {status}\n{client.text()}\nserver: {server.text()}')
    if not name.startswith(STAY):
        need(server.wait(10) == 0, f'{name}: the server: {server.status()}\n{server.text()}')
    for process in (client, server):
        process.end()
        hosts.processes.remove(process)
    return None


def main():
    build, words = sys.argv[1], sys.argv[2:]
    chosen = [name for name in CASES if (any(w in name for w in words) if words else
                                         os.environ.get('SOFTVERBS_LONG') or name in QUICK)]
    done = []
    with Hosts(build) as hosts:
        for name in chosen:
            if not shutil.which(CASES[name][0][0]):
                print(f'{name}: not installed', flush=True)
                continue
            started = time.monotonic()
            one(hosts, name)
            done.append(name)
            print(f'{name}: {time.monotonic() - started:.1f} s', flush=True)
        sent = hosts.counters(CLIENT).get('shm_sent_packets', 0)
        need(sent == 0, f'{sent} packets went through shared memory')
    if not done:
        raise Skipped('none of the programs is installed')


if __name__ == '__main__':
    main_ends(main)
