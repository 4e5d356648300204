# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A guest with Linux's rxe (guest.sh, init) at the other end of a tap, and its command channel."""
import base64
import os
import re
import select
import socket
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f'{TOP}/tests/net')
from hosts import Failed, Hosts, Process, Skipped, need, need_tool, run, until_true  # noqa: E402,F401

CHANNELS = 4
BOOT_SECONDS = 120  # six on an idle machine
# What the kernel picks when it may (fast strings, CRC by carry-less multiplication) is slower under emulation.
CPU = 'max,-erms,-fsrm,-pclmulqdq'


class GuestProcess:
    """A command in the guest. Like Process; what it said comes when it has ended, or with text()."""

    def __init__(self, guest, argv):
        if not guest.free:
            raise Failed('every channel to the guest is in use')
        self.argv, self.guest, self.answer = argv, guest, None
        self.number = guest.free.pop()
        quoted = argv if isinstance(argv, str) else ' '.join("'" + a.replace("'", "'\\''") + "'" for a in argv)
        # What it has said so far lies in a file: text() reads it over another channel.
        command = f'echo $$ >/tmp/{self.number}.pid\n({quoted}) >/tmp/{self.number}.said 2>&1\nstatus=$?\n' \
                  f'cat /tmp/{self.number}.said\nexit $status\n'
        guest.channels[self.number].sendall(base64.b64encode(command.encode()) + b'\n')

    def wait(self, seconds):
        end = time.monotonic() + seconds
        channel = self.guest.channels[self.number] if self.answer is None else None
        while self.answer is None:
            if not select.select([channel], [], [], max(0, end - time.monotonic()))[0]:
                return None
            try:
                got = channel.recv(1 << 20)
            except ConnectionError:
                got = b''
            if not got:
                self.guest.closed = True
                raise Failed(f'the guest is gone\n{self.guest.console()}')
            self.guest.partial[self.number] += got
            line, newline, rest = self.guest.partial[self.number].partition(b'\n')
            if newline:
                self.guest.partial[self.number] = rest
                status, _, said = line.decode().partition(' ')
                self.answer = int(status), base64.b64decode(said).decode(errors='replace')
                self.guest.free.append(self.number)
        return self.answer[0]

    def alive(self):
        return self.wait(0) is None

    def text(self):
        if self.wait(0) is not None:
            return self.answer[1]
        return self.guest.said(f'cat /tmp/{self.number}.said')

    def expect(self, seconds, status=0):
        got = self.wait(seconds)
        words = self.argv if isinstance(self.argv, str) else ' '.join(self.argv)
        if got is None:
            raise Failed(f'in the guest: {words}: still running after {seconds:.0f} s\n{self.text()}')
        if got != status:
            raise Failed(f'in the guest: {words}: ended with {got}, not {status}\n{self.text()}')
        return self.text()

    def end(self):
        if not self.guest.closed and self.wait(0) is None:
            if self.guest.qemu.alive():
                self.guest.said(f'kill -9 -$(cat /tmp/{self.number}.pid) 2>/dev/null; true')  # it may have ended just now
                self.wait(10)


class Guest:
    """Boots at once; ready() waits for it. It lives in the namespace that has the tap."""

    def __init__(self, world, image, namespace, tap, mtu, offloads, environment_of):
        self.world, self.log, self.closed = world, f'{world.work}/console', False
        pairs = [socket.socketpair() for _ in range(CHANNELS)]
        self.channels, theirs = [p[0] for p in pairs], [p[1] for p in pairs]
        self.partial, self.free = [b''] * CHANNELS, list(range(CHANNELS))
        device = 'virtio-net-pci,netdev=wire,mac=52:54:00:98:00:02' + \
            ('' if offloads else ',csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off')
        argv = ['qemu-system-x86_64', '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-machine', 'q35',
                '-accel', 'tcg,thread=multi', '-cpu', CPU, '-smp', '2', '-m', '512',
                '-kernel', f'{image}/kernel', '-initrd', f'{image}/initramfs',
                '-chardev', f'file,id=log,path={self.log}', '-serial', 'chardev:log',
                '-netdev', f'tap,id=wire,ifname={tap},script=no,downscript=no', '-device', device,
                '-device', 'virtio-serial-pci',
                '-append', 'console=ttyS0 quiet loglevel=4 panic=-1 net.ifnames=0 mitigations=off random.trust_cpu=on '
                f'tsc=reliable clocksource=tsc sv.mtu={mtu} '
                f'sv.ip={world.address("b")}/24 sv.ip6={world.address("b", 6)}/64']
        for i, end in enumerate(theirs):
            argv += ['-chardev', f'socket,id=c{i},fd={end.fileno()}', '-device', f'virtserialport,chardev=c{i},name=sv.{i}']
        self.qemu = Process(world, ['nsenter', f'--net=/run/netns/{namespace}', *argv], environment_of, as_root=True,
                            inherits=[end.fileno() for end in theirs])
        for end in theirs:
            end.close()
        self.started = time.monotonic()

    def console(self):
        try:
            with open(self.log, errors='replace') as f:
                return f.read()[-3000:] + self.qemu.text()
        except OSError:
            return self.qemu.text()

    def ready(self):
        until = self.started + BOOT_SECONDS
        first = GuestProcess(self, 'cat /sys/class/infiniband/rxe0/ports/1/state')
        while first.wait(0.2) is None:
            if not self.qemu.alive() or time.monotonic() > until:
                raise Failed(f'the guest does not start\n{self.console()}')
        need(first.wait(0) == 0 and 'ACTIVE' in first.text(), f'the guest has no active rxe0: {first.text()}\n{self.console()}')

    def said(self, command, seconds=30):
        return GuestProcess(self, command).expect(seconds)


class Lab(Hosts):
    """Host a is ours, host b the guest with device rxe0. bad: options for the relay between them, as in Hosts."""

    ours = 'a'

    def __init__(self, build, mtu=1500, bad=None, offloads=True):
        self.image, self.guest, self.with_offloads, self.indexes = f'{os.path.abspath(build)}/guest', None, offloads, {}
        super().__init__(build, mtu, bad)

    def _make(self, mtu, bad):
        if not os.path.exists('/dev/net/tun'):
            raise Skipped('no /dev/net/tun here')
        need_tool('ethtool')
        a = self._namespace('a')
        tap, home = 'a0', a
        if bad is not None:
            m = home = self._namespace('m')
            tap = 'bm'
            run('ip', 'link', 'add', 'a0', 'netns', a, 'mtu', str(mtu), 'type', 'veth', 'peer', 'name', 'am', 'netns', m,
                'mtu', str(mtu))
            run('ip', '-n', m, 'link', 'set', 'am', 'up')
            self.offloads('a', False)
        run('ip', '-n', home, 'tuntap', 'add', 'dev', tap, 'mode', 'tap', *(['vnet_hdr'] if bad is None else []))
        run('ip', '-n', home, 'link', 'set', tap, 'mtu', str(mtu), 'up')
        run('ip', '-n', a, 'addr', 'add', f'{self.address("a")}/24', 'dev', 'a0')
        run('ip', '-n', a, 'link', 'set', 'a0', 'up')
        run('ip', '-n', a, 'addr', 'add', f'{self.address("a", 6)}/64', 'dev', 'a0', 'nodad')
        if not self.with_offloads and bad is None:
            self.offloads('a', False)
        self.guest = Guest(self, self.image, home, tap, mtu, self.with_offloads and bad is None, {'PATH': os.environ['PATH']})
        if bad is not None:
            self.start_relay(m, bad)
        self.guest.ready()

    def device(self, host):
        return 'rxe0' if host == 'b' else super().device(host)

    def start(self, host, argv, env=None, via='plain'):
        if host == 'a':
            return super().start(host, argv, env, via)
        process = GuestProcess(self.guest, argv)
        self.processes.append(process)
        return process

    def listens(self, host, port):
        if host == 'a':
            return super().listens(host, port)
        return re.search(rf':{port:04X} \S+ 0A ', self.guest.said('cat /proc/net/tcp /proc/net/tcp6')) is not None

    def gid_index(self, host, version, device=None):
        if host == 'a':
            return super().gid_index(host, version, device)
        if version not in self.indexes:
            gids = self.guest.said('cd /sys/class/infiniband/rxe0/ports/1/gids; for i in 0 1 2 3 4 5; do cat $i; done').split()
            want = '0000:0000:0000:0000:0000:ffff' if version == 4 else 'fd98'
            self.indexes[version] = next(i for i, gid in enumerate(gids) if gid.startswith(want))
        return self.indexes[version]
