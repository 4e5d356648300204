# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Where the programs run: an ordinary user, a network namespace of our own if we may make one, and processes that never
outlive a row."""
import ctypes
import os
import pwd
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLONE_NEWNET = 0x40000000
MTU = 1500  # of the veth pair


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def need(condition, words):
    if not condition:
        raise Failed(words)


def need_program(*names):
    for name in names:
        if not shutil.which(name):
            raise Skipped(f'{name} is not installed')


class Process:
    """A program of the ordinary user (or root, for what needs it), with its output in a file."""

    def __init__(self, world, argv, env, as_root=False, cwd='/', inherits=()):
        self.argv, self.world = argv, world
        self.output = tempfile.TemporaryFile('w+b')
        who = {} if as_root or world.uid is None else {'user': world.uid, 'group': world.gid, 'extra_groups': []}
        self.popen = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=self.output,
                                      stderr=subprocess.STDOUT,
                                      start_new_session=True, pass_fds=inherits, **who)
        self.pid = self.popen.pid
        world.processes.append(self)

    def text(self):
        self.output.flush()
        return os.pread(self.output.fileno(), 1 << 22, 0).decode(errors='replace')

    def status(self):
        """The exit status (negative: the signal), None while it runs. Leaves it unreaped: its number stays ours until end()."""
        info = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if info is None:
            return None
        return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status

    def alive(self):
        return self.status() is None

    def wait(self, seconds):
        """The exit status, None when it still runs after that time."""
        fd = os.pidfd_open(self.pid)
        try:
            select.select([fd], [], [], max(0, seconds))
        finally:
            os.close(fd)
        return self.status()

    def signal(self, number):
        os.kill(self.pid, number)

    def expect(self, seconds, status=0):
        """Waits for the end and its status; fails with everything that it said."""
        got = self.wait(seconds)
        if got is None:
            raise Failed(f'{" ".join(self.argv)}: still running after {seconds:.0f} s\n{self.text()}')
        if got != status:
            raise Failed(f'{" ".join(self.argv)}: ended with {got}, not {status}\n{self.text()}')
        return self.text()

    def end(self):
        # Its own process group: its children (not daemons) go with it, also when it is dead itself, and nobody else: the
        # number is ours until it is waited for.
        for number in (signal.SIGCONT, signal.SIGKILL):
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                pass
        self.popen.wait()
        self.output.close()


class World:
    def __init__(self, build):
        self.processes = []
        self.uid = self.gid = None
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.copy = None
        self.build = self.product = build
        self.own_namespace = False
        self.port = 19000 + os.getpid() % 500 * 20
        if os.getuid() == 0:
            name = os.environ.get('SUDO_USER') or 'nobody'
            entry = pwd.getpwnam(name if name != 'root' else 'nobody')
            self.user, self.uid, self.gid = entry.pw_name, entry.pw_uid, entry.pw_gid
            self._make_namespace()
            self._make_readable()
        self.work = tempfile.mkdtemp()
        os.chmod(self.work, 0o777)

    def _make_namespace(self):
        """Our own lo and a pair of veth with IPv4 and IPv6 addresses: port 4791 is free, no other test is in the way."""
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            return
        self.own_namespace = True
        # Addresses are there at once, not after the second that duplicate detection takes.
        for knob in ('default', 'all'):
            try:
                with open(f'/proc/sys/net/ipv6/conf/{knob}/accept_dad', 'w') as f:
                    f.write('0')
            except OSError:
                pass
        for command in ('link set lo up', 'link add sv0 type veth peer name sv1', 'link set sv0 up', 'link set sv1 up',
                        'addr add 10.99.0.1/24 dev sv0', 'addr add 10.99.1.1/24 dev sv1', 'addr add fd99::1/64 dev sv0 nodad',
                        'addr add fd99:0:0:1::1/64 dev sv1 nodad'):
            subprocess.run(['ip'] + command.split(), stderr=subprocess.DEVNULL)

    def _make_readable(self):
        """The user may not look into the checkout (in /root, say): then run from a copy."""
        probe = f'cd {self.product} && test -x softverbs && test -r lib/libibverbs.so.1 && test -x lib/softverbsd'
        if subprocess.run(['sh', '-c', probe], user=self.uid, group=self.gid, extra_groups=[]).returncode == 0:
            return
        self.copy = tempfile.mkdtemp()
        os.makedirs(f'{self.copy}/lib')
        shutil.copy2(f'{self.product}/softverbs', self.copy)
        for name in os.listdir(f'{self.product}/lib'):
            if '.so' in name or name == 'softverbsd':
                if not os.path.isdir(f'{self.product}/lib/{name}'):
                    shutil.copy2(f'{self.product}/lib/{name}', f'{self.copy}/lib/{name}', follow_symlinks=False)
        if os.path.exists(f'{self.product}/tests/programs/switch'):
            os.makedirs(f'{self.copy}/tests/programs')
            shutil.copy2(f'{self.product}/tests/programs/switch', f'{self.copy}/tests/programs')
        subprocess.run(['chmod', '-R', 'a+rX', self.copy], check=True)
        self.product = self.copy

    def close(self):
        self.end_row()
        for path in (self.work, self.copy):
            if path:
                shutil.rmtree(path, ignore_errors=True)

    def end_row(self):
        for process in reversed(self.processes):
            process.end()
        self.processes.clear()

    # --- environment and processes ---

    def env(self, **extra):
        env = {'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'HOME': self.work, 'LANG': 'C.UTF-8'}
        env.update({k: v for k, v in extra.items() if v is not None})
        return env

    def start(self, argv, wire=False, via='run', env=None, as_root=False):
        """via: 'run' (softverbs run), 'plain' (LD_LIBRARY_PATH) or 'none' (the program as it is)."""
        variables = dict(env or {})
        if via == 'run':
            argv = [f'{self.product}/softverbs', 'run'] + (['--local=wire'] if wire else []) + ['--'] + argv
        elif via == 'plain':
            variables['LD_LIBRARY_PATH'] = f'{self.product}/lib'
            if wire:
                variables['SOFTVERBS_LOCAL'] = 'wire'
        return Process(self, argv, self.env(**variables), as_root=as_root)

    def softverbs(self, *argv, status=0, seconds=10):
        return self.start([f'{self.product}/softverbs', *argv], via='none').expect(seconds, status)

    def new_port(self):
        while True:
            self.port += 1
            if not listens(self.port):
                return self.port

    def wait_listening(self, process, port, seconds=10):
        """There is no event to wait for: the program is not ours."""
        until = time.monotonic() + seconds
        while not listens(port):
            if not process.alive() or time.monotonic() > until:
                raise Failed(f'{" ".join(process.argv)}: does not listen on port {port}\n{process.text()}')
            time.sleep(0.003)

    # --- the broker ---

    def brokers(self):
        """Pids of the softverbsd of our user in our namespace."""
        found = []
        ours = os.readlink('/proc/self/ns/net')
        uid = self.uid if self.uid is not None else os.getuid()
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                if open(f'/proc/{pid}/comm').read().strip() == 'softverbsd' and os.stat(f'/proc/{pid}').st_uid == uid and \
                        os.readlink(f'/proc/{pid}/ns/net') == ours:
                    found.append(int(pid))
            except OSError:
                pass
        return found


def listens(port):
    want = f':{port:04X} '
    for table in ('/proc/self/net/tcp', '/proc/self/net/tcp6'):
        try:
            with open(table) as f:
                for line in f:
                    fields = line.split()
                    if len(fields) > 3 and fields[3] == '0A' and (fields[1] + ' ').endswith(want):
                        return True
        except OSError:
            pass
    return False


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
            s.bind(('::1', 0))
        return True
    except OSError:
        return False


def until(condition, seconds, words):
    """Polls what no event tells: state of processes that are not ours."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(words() if callable(words) else words)
        time.sleep(0.02)


NUMBERS = re.compile(r'^ (\d+)\s+(\d+)\s+[\d.]+', re.M)


def perftest_sizes(text):
    """The sizes for which a perftest program printed a result."""
    return [int(m.group(1)) for m in NUMBERS.finditer(text)]
