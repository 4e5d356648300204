# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Two hosts in one: network namespaces joined by a veth pair or by a bad network (relay.c), each with its own broker. Needs
root to make them; the programs in them are run as an ordinary user."""
import ctypes
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f'{TOP}/tests/programs')
from capture import Capture  # noqa: E402
from world import Failed, Process, Skipped, need  # noqa: E402,F401

CLONE_NEWNET = 0x40000000
PORT = 18500


def run(*argv, check=True):
    done = subprocess.run(argv, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise Failed(f'{" ".join(argv)}: {done.stderr.strip()}')
    return done.stdout


def inside(namespace, function):
    """Calls the function with this thread in the namespace: for sockets, which stay where they were made."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open('/proc/thread-self/ns/net', os.O_RDONLY)
    there = os.open(f'/run/netns/{namespace}', os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), 'setns')
        return function()
    finally:
        libc.setns(home, CLONE_NEWNET)
        os.close(home)
        os.close(there)


class Hosts:
    """Hosts 'a' and 'b'; interface and device of host x are x0 and sv_x0. bad: options for the relay between them."""

    ours = 'ab'  # the hosts that have a broker

    def __init__(self, build, mtu=1500, bad=None):
        if os.getuid() != 0:
            raise Skipped('making network namespaces needs root')
        for tool in ('ip', 'nsenter', 'setpriv'):
            need_tool(tool)
        self.build, self.processes, self.port, self.names = os.path.abspath(build), [], PORT, []
        self.uid = self.gid = None  # of Process: setpriv changes them, after nsenter
        self.user = pwd.getpwnam('nobody')
        self.work = tempfile.mkdtemp()
        os.chmod(self.work, 0o777)
        self.relay = None
        self.prefix = f'sv{os.getpid()}'
        try:
            self._make(mtu, bad)
        except BaseException:
            self.close()
            raise

    def _namespace(self, host):
        name = f'{self.prefix}{host}'
        if subprocess.run(['ip', 'netns', 'add', name], stderr=subprocess.DEVNULL).returncode != 0:
            raise Skipped('no network namespaces here')
        self.names.append(name)
        run('ip', '-n', name, 'link', 'set', 'lo', 'up')
        # Addresses are there at once, not after the second that duplicate detection takes.
        run('ip', 'netns', 'exec', name, 'sh', '-c',
            'for k in default all; do echo 0 > /proc/sys/net/ipv6/conf/$k/accept_dad; done', check=False)
        return name

    def _make(self, mtu, bad):
        a, b = self._namespace('a'), self._namespace('b')
        if bad is None:
            run('ip', 'link', 'add', 'a0', 'netns', a, 'mtu', str(mtu), 'type', 'veth',
                'peer', 'name', 'b0', 'netns', b, 'mtu', str(mtu))
        else:
            need_tool('ethtool')
            m = self._namespace('m')
            for host, name in (('a', a), ('b', b)):
                run('ip', 'link', 'add', f'{host}0', 'netns', name, 'mtu', str(mtu), 'type', 'veth',
                    'peer', 'name', f'{host}m', 'netns', m, 'mtu', str(mtu))
                run('ip', '-n', m, 'link', 'set', f'{host}m', 'up')
                self.offloads(host, False)
        for host, name, number in (('a', a, 1), ('b', b, 2)):
            run('ip', '-n', name, 'addr', 'add', f'10.98.0.{number}/24', 'dev', f'{host}0')
            run('ip', '-n', name, 'link', 'set', f'{host}0', 'up')
            run('ip', '-n', name, 'addr', 'add', f'fd98::{number}/64', 'dev', f'{host}0', 'nodad', check=False)
        if bad is not None:
            self.start_relay(m, bad)

    def start_relay(self, namespace, options):
        """Between the interfaces am and bm of the namespace."""
        self.relay = Process(self, ['nsenter', f'--net=/run/netns/{namespace}', f'{self.build}/tests/net/relay', 'am', 'bm',
                                    *options], {'PATH': os.environ['PATH']})
        until_true(lambda: 'ready' in self.relay.text() or not self.relay.alive(), 5, 'the relay does not start')
        need(self.relay.alive(), self.relay.text())

    def offloads(self, host, on):
        state = 'on' if on else 'off'
        run('ip', 'netns', 'exec', f'{self.prefix}{host}', 'ethtool', '-K', f'{host}0', 'tx', state, 'tso', state, 'gso', state,
            'tx-udp-segmentation', state)

    def start(self, host, argv, env=None, via='plain'):
        """via: 'plain' (the product's libraries in LD_LIBRARY_PATH) or 'none'."""
        variables = {'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'HOME': self.work, 'LANG': 'C.UTF-8', **(env or {})}
        if via == 'plain':
            variables['LD_LIBRARY_PATH'] = f'{self.build}/lib'
        return Process(self, ['nsenter', f'--net=/run/netns/{self.prefix}{host}', 'setpriv', f'--reuid={self.user.pw_uid}',
                              f'--regid={self.user.pw_gid}', '--clear-groups', *argv], variables)

    def softverbs(self, host, *argv):
        return self.start(host, [f'{self.build}/softverbs', *argv], via='none').expect(20)

    def device(self, host):
        return f'sv_{host}0'

    def address(self, host, version=4):
        return {4: '10.98.0.', 6: 'fd98::'}[version] + {'a': '1', 'b': '2'}[host]

    def gid_index(self, host, version, device=None):
        for d in json.loads(self.softverbs(host, 'devices', '--json'))['devices']:
            if d['name'] == (device or self.device(host)):
                for gid in d['gids']:
                    four = gid['gid'].startswith('::ffff:')
                    if gid['type'] == 'RoCE v2' and four == (version == 4) and not gid['gid'].startswith('fe80'):
                        return gid['index']
        raise Failed(f'host {host} has no v2 GID for IPv{version}')

    def listens(self, host, port):
        text = run('ip', 'netns', 'exec', f'{self.prefix}{host}', 'cat', '/proc/net/tcp', '/proc/net/tcp6', check=False)
        return any(len(f) > 3 and f[3] == '0A' and f[1].endswith(f':{port:04X}') for f in map(str.split, text.split('\n')))

    def start_pair(self, command, version=4, env=None, index_flag='-x', server_host='a'):
        """Server and client, on the one host and the other, of a program that takes -d, -p, a GID index, and a host."""
        need_tool(command[0])
        self.port += 1
        client_host = {'a': 'b', 'b': 'a'}[server_host]

        def argv(host):
            return [command[0], '-d', self.device(host), index_flag, str(self.gid_index(host, version)), '-p', str(self.port),
                    *command[1:]]
        server = self.start(server_host, argv(server_host), env)
        until_true(lambda: self.listens(server_host, self.port) or not server.alive(), 15,
                   lambda: f'{command}: no server\n{server.text()}')
        return server, self.start(client_host, argv(client_host) + [self.address(server_host)], env)

    def pair(self, command, version=4, seconds=60, env=None, index_flag='-x', watch=None, server_host='a', grace=5):
        """To its end. Returns what the client said; watch is called now and then while they run; the second to end may take
        `grace` seconds longer."""
        server, client = self.start_pair(command, version, env, index_flag, server_host)
        end = time.monotonic() + seconds
        while client.wait(0.3 if watch else end - time.monotonic()) is None and server.alive():
            if time.monotonic() >= end:
                stat = '\n'.join(self.softverbs(h, 'stat', '--qps') for h in self.ours)
                raise Failed(f'{" ".join(command)} hangs\n{server.text()}\n{client.text()}\n{stat}')
            if watch:
                watch()
        if client.wait(grace) != 0 or server.wait(grace) != 0:
            raise Failed(f'{" ".join(client.argv)}: {client.wait(0)}\n{client.text()}\nserver: {server.wait(0)}\n{server.text()}')
        return client.text()

    def counters(self, host):
        """The counters of all programs of the host, added up by name."""
        total = {}
        for process in json.loads(self.softverbs(host, 'stat', '--json'))['processes']:
            for group in process.get('groups', []) + process.get('queue_pairs', []):
                for name, value in group['counters'].items():
                    total[name] = total.get(name, 0) + value
        return total

    def capture(self, host, both=False):
        return inside(f'{self.prefix}{host}', lambda: Capture(f'{host}0', both=both))

    def end_relay(self):
        """What it did, in numbers."""
        self.relay.signal(signal.SIGTERM)
        return json.loads(self.relay.expect(5).split('\n')[1])

    def close(self):
        for process in reversed(self.processes):
            process.end()
        self.processes.clear()
        for name in self.names:
            # Ours alone are in there: what is left are brokers.
            for pid in run('ip', 'netns', 'pids', name, check=False).split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            run('ip', 'netns', 'del', name, check=False)
        self.names = []
        shutil.rmtree(self.work, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def need_tool(name):
    if not shutil.which(name):
        raise Skipped(f'{name} is not installed')


def until_true(condition, seconds, words):
    """Polls what no event tells."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(words() if callable(words) else words)
        time.sleep(0.01)


def main_ends(main):
    """Runs the test and ends the process: 0, 77 with the reason of a skip, 1 with what failed."""
    try:
        main()
    except Skipped as e:
        print(e)
        sys.exit(77)
    except Failed as e:
        print(e)
        sys.exit(1)
