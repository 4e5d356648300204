# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Several hosts on one machine: network namespaces around a switch, each with its own broker, as docs/hosts.md describes them.

The ordinary user has a user namespace in which he is root, and the network namespaces are in it: nobody's privilege but his own is
used, and packet sockets are allowed. unshare and nsenter exec what they start, so a process here is the program itself.
"""
import os
import signal

from world import Failed, Skipped, until

PREFIX4, PREFIX6 = '10.77.0.', 'fd77::'


class Host:
    def __init__(self, holder, number):
        self.holder, self.number, self.gids = holder, number, None
        self.ipv4, self.ipv6 = f'{PREFIX4}{number}', f'{PREFIX6}{number}'
        self.interface, self.device = f'h{number}', f'sv_h{number}'


class Hosts:
    """Hosts 1..count; `lossy`: options of the bad switch of switch.c instead of the kernel's bridge."""

    def __init__(self, world, count=2, mtu=1500, lossy=None, env=None):
        self.world, self.env = world, {'SOFTVERBS_IDLE_SECONDS': '1', **(env or {})}
        self.user = self._hold(['unshare', '--user', '--map-root-user', '--net'], False)
        self.switch_net = self.user
        self.hosts = [Host(self._hold(['unshare', '--net'], True), n + 1) for n in range(count)]
        bridge = [] if lossy else [f'ip link add br0 mtu {mtu} type bridge mcast_snooping 0', 'ip link set br0 up']
        self._run(self.switch_net, '; '.join(['ip link set lo up', *bridge, *(self._plug(h, mtu, not lossy) for h in self.hosts)]))
        for host in self.hosts:
            # Addresses are there at once, not after the second that duplicate detection takes.
            self._run(host.holder, 'for k in all default; do echo 0 >/proc/sys/net/ipv6/conf/$k/accept_dad; done 2>/dev/null; '
                      f'ip link set lo up; ip link set {host.interface} up; ip addr add {host.ipv4}/24 dev {host.interface}; '
                      f'ip addr add {host.ipv6}/64 dev {host.interface} nodad')
        self.switch = None
        if lossy:
            self.switch = self.enter(self.switch_net, [f'{world.product}/tests/programs/switch', *lossy.split(),
                                                       *(f's{h.number}' for h in self.hosts)])
            until(lambda: 'ready' in self.switch.text() or not self.switch.alive(), 5, 'the switch does not start')
            if not self.switch.alive():
                raise Failed(self.switch.text())

    # --- namespaces ---

    def _hold(self, command, inside):
        """A process that holds namespaces open, and ends with the row."""
        argv = [*command, '--', 'sh', '-c', 'echo ready; exec sleep 3600']
        process = self.enter(self.user, argv) if inside else self.world.start(argv, via='none')
        until(lambda: 'ready' in process.text() or not process.alive(), 5, 'no namespace')
        if not process.alive():
            raise Skipped(f'no user and network namespace of our own: {process.text().strip()}')
        return process

    def enter(self, holder, argv, env=None):
        """Starts a program as the namespaces' root."""
        prefix = ['nsenter', '--target', str(holder.pid), '--user', '--net', '--']
        return self.world.start([*prefix, *argv], via='none', env={**self.env, **(env or {})}, as_root=True)

    def _run(self, holder, script):
        process = self.enter(holder, ['sh', '-ec', script])
        process.expect(10)

    def _plug(self, host, mtu, bridged):
        port = f's{host.number}'
        return (f'ip link add {port} mtu {mtu} type veth peer name {host.interface} mtu {mtu} netns {host.holder.pid}; ' +
                (f'ip link set {port} master br0; ' if bridged else '') + f'ip link set {port} up')

    # --- programs ---

    def start(self, host, argv, env=None):
        return self.enter(host.holder, [f'{self.world.product}/softverbs', 'run', '--', *argv], env)

    def listens(self, host, port):
        want = f':{port:04X} '
        for table in ('tcp', 'tcp6'):
            with open(f'/proc/{host.holder.pid}/net/{table}') as f:
                if any(fields[3] == '0A' and (fields[1] + ' ').endswith(want) for fields in map(str.split, f) if len(fields) > 3):
                    return True
        return False

    def pair(self, server_host, client_host, command, seconds=30, env=None, sides=((), ())):
        """A program that takes -p PORT and a host: server, then client, to their end. Returns what the client said."""
        port = self.world.new_port()
        argv = [command[0], '-p', str(port), *command[1:]]
        server = self.start(server_host, [*argv, *sides[0]], env)
        until(lambda: self.listens(server_host, port) or not server.alive(), 10, lambda: f'no listener\n{server.text()}')
        client = self.start(client_host, [*argv, *sides[1], server_host.ipv4], env)
        until(lambda: not client.alive() or not server.alive(), seconds,
              lambda: f'{" ".join(command)} hangs\n{server.text()}\n{client.text()}')
        if client.wait(5) != 0 or server.wait(5) != 0:
            raise Failed(f'client: {" ".join(client.argv)}: {client.status()}\n{client.text()}\n'
                         f'server: {server.status()}\n{server.text()}')
        return client.text()

    def pairs(self):
        return [(a, b) for a in self.hosts for b in self.hosts if a.number < b.number]

    def close(self):
        """Brokers are daemons: they go when nobody needs them, and here at once, with their namespaces."""
        namespaces = {os.readlink(f'/proc/{h.holder.pid}/ns/net') for h in self.hosts if h.holder.alive()}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/comm') as f:
                    if f.read().strip() == 'softverbsd' and os.readlink(f'/proc/{pid}/ns/net') in namespaces:
                        os.kill(int(pid), signal.SIGTERM)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
