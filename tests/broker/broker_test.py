#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The broker with real processes: broker_test.py CLIENT SOFTVERBSD [TEST...]

Each test runs in a network namespace of its own, so in a world without a broker and with port 4791 free. As root the programs run
as an ordinary user (and some tests as two); an ordinary user needs user namespaces.
"""
import ctypes
import os
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

CLIENT, SOFTVERBSD = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
ROOT = os.geteuid() == 0
NOBODY, OTHER = 65534, 65533
libc = ctypes.CDLL(None, use_errno=True)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/ipc/message.h')) as header:
    PROTOCOL = int(re.search(r'IPC_PROTOCOL (\d+)u', header.read()).group(1))


class Skip(Exception):
    pass


def namespace():
    if libc.unshare(CLONE_NEWNET) != 0:
        return False
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    return True


def prepare():
    """An ordinary user becomes root of a user namespace, in which network namespaces can be made."""
    if ROOT:
        return True
    uid = os.geteuid()
    if libc.unshare(CLONE_NEWUSER) != 0:
        return False
    try:
        with open('/proc/self/uid_map', 'w') as f:
            f.write(f'0 {uid} 1')
    except OSError:
        return False
    return True


def identity(user, files=None):
    """files: the limits of open files, (soft, hard)."""
    def change():
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, files)
        if ROOT:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
    return change


class Client:
    """A process at the broker. Lines that are no answer are events, kept in order."""
    all = []

    def __init__(self, user=NOBODY, env=(), expect=True, idle='1', files=None):
        self.events, self.err = [], tempfile.TemporaryFile(mode='w+')
        full = dict(os.environ, SOFTVERBS_BROKER=SOFTVERBSD, SOFTVERBS_IDLE_SECONDS=idle, HOME='/nonexistent')
        full.update(env)
        self.p = subprocess.Popen([CLIENT, 'run'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, env=full,
                                  preexec_fn=identity(user, files), cwd='/tmp', bufsize=0)
        self.buf, self.slot = b'', None
        Client.all.append(self)
        if expect:
            self.joined()

    def joined(self):
        m = self.wait(r'joined (\d+) wire (\d) pid \d+|error (.*)', 20)
        assert m[1], 'not joined: %s; %s' % (m[3], self.said())
        self.slot, self.wire = int(m[1]), m[2] == '1'

    def said(self):
        self.err.seek(0)
        return self.err.read()

    def line(self, deadline):
        while b'\n' not in self.buf:
            ready = select.select([self.p.stdout], [], [], max(0, deadline - time.monotonic()))[0]
            if not ready:
                raise AssertionError('no answer in time; events so far: %r; standard error: %s' % (self.events, self.said()))
            more = os.read(self.p.stdout.fileno(), 65536)
            if not more:
                raise AssertionError('the client ended; standard error: ' + self.said())
            self.buf += more
        line, self.buf = self.buf.split(b'\n', 1)
        return line.decode()

    def wait(self, pattern, seconds=10):
        deadline = time.monotonic() + seconds
        while True:
            line = self.line(deadline)
            m = re.fullmatch(pattern, line)
            if m:
                return m
            assert line.startswith('event '), 'unexpected: ' + line
            self.events.append(line)

    def event(self, pattern, seconds=10):
        """The first event that matches, of those that came already or will come; removed."""
        deadline = time.monotonic() + seconds
        while True:
            for i, line in enumerate(self.events):
                m = re.fullmatch('event ' + pattern, line)
                if m:
                    del self.events[i]
                    return m
            line = self.line(deadline)
            assert line.startswith('event '), 'unexpected: ' + line
            self.events.append(line)

    def tell(self, text):
        self.p.stdin.write((text + '\n').encode())

    def ask(self, text, pattern, seconds=10):
        self.tell(text)
        return self.wait(pattern, seconds)

    def pair(self, other):
        self.ask(f'pair {other.slot} 5000', f'pair {other.slot} ok')
        return self.event(rf'pair {other.slot} (\d+)')[1]

    def quit(self):
        self.ask('quit', 'bye')
        self.p.wait()

    def kill(self):
        self.p.kill()
        self.p.wait()


def stat(user=NOBODY):
    r = subprocess.run([CLIENT, 'stat'], capture_output=True, text=True, preexec_fn=identity(user), timeout=20)
    if r.returncode != 0:
        return None
    lines = r.stdout.splitlines()
    words = lines[0].split()
    out = {words[i]: int(words[i + 1]) for i in range(1, len(words), 2)}
    out['slots'] = {int(l.split()[1]): l for l in lines if l.startswith('slot ')}
    out['pair_list'] = [tuple(map(int, l.split()[1:])) for l in lines if l.startswith('pair ')]
    return out


def until(what, seconds=30):
    """For states outside of any process's reach, such as the end of a process that is nobody's child."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, 'did not come true in %d s' % seconds
        time.sleep(0.01)


def gone(pid):
    try:
        with open(f'/proc/{pid}/stat') as f:
            return f.read().rpartition(')')[2].split()[0] == 'Z'
    except FileNotFoundError:
        return True


def status(pid, field):
    with open(f'/proc/{pid}/status') as f:
        return re.search(rf'^{field}:\s*(.*)$', f.read(), re.M)[1]


def crossing(clients):
    """Every packet reaches the process whose slot is in its QPN, and nobody else."""
    for c in clients:
        c.ask('receive 0', 'received .*')
    for c in clients:
        for _ in range(5):
            clients[0].ask(f'send {c.slot << 16 | 77}', 'sent')
    for c in clients:
        c.ask('receive 1000', 'received 5 wrong 0')


def connect_raw(uid):
    """A bare connection to the broker, with this user's credentials."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if ROOT:
        os.seteuid(uid)
    try:
        s.connect(f'\0softverbs-{uid if ROOT else 0}-v{PROTOCOL}')
    finally:
        if ROOT:
            os.seteuid(0)
    s.settimeout(5)
    return s


class Raw:
    """A client without a process of its own: many of them are cheap."""

    def __init__(self):
        self.s = connect_raw(NOBODY)
        pidfd, page, event = os.pidfd_open(os.getpid()), os.memfd_create('page'), os.eventfd(0)
        body = struct.pack('<IIBBBQI', 0x48765373, PROTOCOL, 0, 0, 0, 0, 1) + b'\3raw'
        socket.send_fds(self.s, [struct.pack('<HHI', 1, 0, len(body)) + body], [pidfd, page, event])
        answer, fds, _, _ = socket.recv_fds(self.s, 8192, 8)
        for fd in (pidfd, page, event, *fds):
            os.close(fd)
        self.slot = answer[12] if answer[0] == 2 else 0

    def pair(self, slot):
        """False: no answer, as when the other one is awaited."""
        self.s.send(struct.pack('<HHIIB', 4, 0, 5, 1, slot))
        self.s.settimeout(1)
        try:
            answer, fds, _, _ = socket.recv_fds(self.s, 8192, 8)
        except TimeoutError:
            return False
        for fd in fds:
            os.close(fd)
        return answer[0] == 5

    def close(self):
        self.s.close()


def test_on_demand_and_idle():
    """The first process starts the broker, the last one's end ends it, as an ordinary user."""
    c = Client(idle='4')
    s = stat()
    assert s['clients'] == 1 and s['free'] == 253 and s['wire'] == 1 and c.slot in s['slots'], s
    assert 'broker_client' in s['slots'][c.slot] and f'pid {c.p.pid} ' in s['slots'][c.slot], s
    assert c.ask('devices', r'device sv_lo up 1 gids 6')
    c.wait('devices end')
    start = time.monotonic()
    c.quit()
    s = stat()
    assert s['clients'] == 0 and s['pairs'] == 0 and s['free'] == 254, s
    until(lambda: gone(s['pid']))
    assert time.monotonic() - start > 3.9, 'ended before the idle time was over'
    assert stat() is None


def test_no_child_no_descriptors():
    """The broker is no child of the application, has none of its descriptors, signals or directories, and no SIGCHLD came."""
    r, w = os.pipe()
    os.set_inheritable(w, True)
    full = dict(os.environ, SOFTVERBS_BROKER=SOFTVERBSD, SOFTVERBS_IDLE_SECONDS='1')

    def start():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if ROOT:
            identity(NOBODY)()
    p = subprocess.Popen([CLIENT, 'run'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=full,
                         pass_fds=[w], preexec_fn=start, cwd='/tmp')
    os.close(w)
    assert p.stdout.readline().startswith(b'joined')
    broker = stat()['pid']
    assert int(status(broker, 'PPid')) != p.pid
    assert os.getsid(broker) == broker or os.getsid(broker) != os.getsid(p.pid)
    assert int(status(broker, 'SigIgn'), 16) & 1 == 0, 'SIGHUP is still ignored'
    if ROOT:
        assert os.readlink(f'/proc/{broker}/cwd') == '/'
        links = [os.readlink(f'/proc/{broker}/fd/{n}') for n in os.listdir(f'/proc/{broker}/fd')]
        ours = {os.readlink(f'/proc/{p.pid}/fd/{n}') for n in (0, 1, 2)} | {os.readlink(f'/proc/self/fd/{r}')}
        assert not ours & set(links), ours & set(links)
        assert sum(l == '/dev/null' for l in links) == 3, links
    with open(f'/proc/{p.pid}/task/{p.pid}/children') as f:
        assert f.read().split() == [], 'the application has a child'
    p.stdin.close()
    assert p.wait() == 0
    # Every end of the pipes is closed now, while the broker still runs: a shell's pipeline would go on.
    assert p.stdout.read() == b'' and p.stderr.read() == b''
    assert select.select([r], [], [], 5)[0] and os.read(r, 1) == b''
    os.close(r)


def test_many_at_once():
    """A start-up race of 24 processes makes one broker and 24 slots."""
    clients = [Client(expect=False) for _ in range(24)]
    for c in clients:
        c.joined()
    assert len({c.slot for c in clients}) == 24
    assert all(c.said() == '' for c in clients), [c.said() for c in clients]
    s = stat()
    assert s['clients'] == 24
    crossing(clients)
    for c in clients:
        c.quit()
    assert stat()['clients'] == 0


def test_pairs():
    """One pair per two processes, whoever asks; bytes and wake pages arrive at the other side."""
    a, b, c = Client(), Client(), Client()
    g = a.pair(b)
    assert b.event(rf'pair {a.slot} (\d+)')[1] == g
    b.ask(f'pair {a.slot} 5000', f'pair {a.slot} ok')
    a.ask(f'poke {b.slot} 99', 'poked 99')
    b.ask(f'poke {a.slot} 98', 'poked 98')
    b.ask(f'peek {a.slot}', f'peeked 99 wake {a.slot}')
    a.ask(f'peek {b.slot}', f'peeked 98 wake {b.slot}')
    # Both at once.
    b.tell(f'pair {c.slot} 5000')
    c.tell(f'pair {b.slot} 5000')
    b.wait(f'pair {c.slot} ok')
    c.wait(f'pair {b.slot} ok')
    assert b.event(rf'pair {c.slot} (\d+)')[1] == c.event(rf'pair {b.slot} (\d+)')[1]
    free = next(s for s in range(1, 255) if s not in (a.slot, b.slot, c.slot))
    a.ask(f'pair {free} 5000', f'pair {free} no such entry')
    a.ask(f'pair {a.slot} 5000', f'pair {a.slot} invalid argument')
    a.ask('pair 255 5000', 'pair 255 invalid argument')
    a.ask('pair 0 5000', 'pair 0 invalid argument')
    a.ask(f'ask {free}', f'ask {free} ok')
    a.event(f'refused {free} no such entry')
    a.ask(f'ask {c.slot}', f'ask {c.slot} ok')
    a.event(rf'pair {c.slot} \d+')
    s = stat()
    assert s['pairs'] == 3 and len(s['pair_list']) == 3, s
    b.quit()
    a.event(f'gone {b.slot} {g}')
    a.ask(f'closed {b.slot}', 'closed 1')
    assert stat()['pairs'] == 1
    a.quit()
    c.quit()
    assert stat()['pairs'] == 0


def test_pair_that_does_not_fit():
    """A pair that arrives and cannot be used is no pair: who asked hears of it, and the next ask brings the pair again."""
    a, b = Client(), Client()
    a.ask('fail 2', 'fail 2')
    a.ask(f'ask {b.slot}', f'ask {b.slot} ok')
    a.event(f'refused {b.slot} out of memory or ids')
    a.ask(f'pair {b.slot} 5000', f'pair {b.slot} out of memory or ids')
    a.event(f'refused {b.slot} out of memory or ids')
    a.ask(f'ask {b.slot}', f'ask {b.slot} ok')
    generation = a.event(rf'pair {b.slot} (\d+)')[1]
    assert generation == b.event(rf'pair {a.slot} (\d+)')[1], 'it is the same pair at last'
    b.ask(f'poke {a.slot} 7', 'poked 7')
    a.ask(f'peek {b.slot}', r'peeked 7 wake \d+')
    # The peer asked, not we.
    c = Client()
    c.ask('fail 1', 'fail 1')
    a.pair(c)
    c.event(f'refused {a.slot} out of memory or ids')
    c.pair(a)
    b.kill()
    a.event(rf'gone {b.slot} {generation}')


def test_killed_client():
    """kill -9 frees slot and pairs and tells the peer, although a forked child still holds every descriptor."""
    a, b = Client(), Client()
    g = a.pair(b)
    child = int(b.ask('fork', r'child (\d+)')[1])
    assert not gone(child)
    b.kill()
    a.event(f'gone {b.slot} {g}', 5)
    a.ask(f'closed {b.slot}', 'closed 1')
    assert not gone(child)
    s = stat()
    assert s['clients'] == 1 and s['pairs'] == 0 and b.slot not in s['slots'], s
    a.ask(f'pair {b.slot} 5000', f'pair {b.slot} no such entry')
    # The child keeps neither the port nor the names: the broker ends, and the next one has the wire again.
    broker = s['pid']
    a.quit()
    until(lambda: gone(broker))
    c = Client()
    assert c.wire and stat()['pid'] != broker
    c.quit()
    os.kill(child, signal.SIGKILL)


def test_fork_and_exec():
    """A child gets a slot of its own; a process that becomes another program gives its slot back."""
    a, b = Client(), Client()
    a.pair(b)
    a.tell('forkget')
    found = {}
    while len(found) < 2:
        line = a.line(time.monotonic() + 20)
        m = re.fullmatch(r'child (\d+)', line)
        if m:
            found['pid'] = int(m[1])
        m = re.fullmatch(r'child foreign 1 ask peer is gone get ok slot (\d+) parent (\d+)', line)
        if m:
            found['slot'] = int(m[1])
            assert int(m[2]) == a.slot and int(m[1]) not in (a.slot, b.slot)
    s = stat()
    assert s['clients'] == 3 and found['slot'] in s['slots'], s
    a.ask(f'peek {b.slot}', 'peeked .*')
    os.kill(found['pid'], signal.SIGKILL)
    until(lambda: stat()['clients'] == 2)
    a.tell('exec sleep')
    b.event(rf'gone {a.slot} \d+')
    assert a.slot not in stat()['slots'] and a.p.poll() is None
    a.kill()


def test_killed_broker():
    """Eight processes outlive kill -9 of the broker: slots, pairs and demultiplexing stay, a ninth is served, twice over."""
    clients = [Client() for _ in range(8)]
    slots = [c.slot for c in clients]
    for i in range(0, 8, 2):
        clients[i].pair(clients[i + 1])
    clients[0].ask('export', 'export ok')
    crossing(clients)
    for _ in range(2):
        before = stat()
        os.kill(before['pid'], signal.SIGKILL)
        ninth = Client()
        assert ninth.slot not in slots and ninth.wire
        for c in clients:
            c.event('restored', 15)
        s = stat()
        assert s['pid'] != before['pid'] and s['clients'] == len(clients) + 1 and s['wire'] == 1, s
        assert sorted(s['slots']) == sorted(slots + [ninth.slot]), s
        until(lambda: stat()['pairs'] == before['pairs'])
        until(lambda: 'export 1' in stat()['slots'][slots[0]])
        crossing(clients + [ninth])
        ninth.pair(clients[0])
        clients[0].ask(f'poke {clients[1].slot} 55', 'poked 55')
        clients[1].ask(f'peek {clients[0].slot}', 'peeked 55 .*')
        clients.append(ninth)
        slots.append(ninth.slot)
    # Deaths are still seen, by a broker that did not make the pair.
    clients[2].kill()
    clients[3].event(rf'gone {slots[2]} \d+')
    clients[3].ask(f'closed {slots[2]}', 'closed 1')
    assert all(c.said() == '' for c in clients), [c.said() for c in clients]
    for c in clients[:2] + clients[3:]:
        c.quit()
    s = stat()
    assert s['clients'] == 0 and s['pairs'] == 0 and s['free'] == 254, s


def test_death_without_broker():
    """A process dies while there is no broker: its peer sees it by pidfd, the next broker frees the slot."""
    a, b, c = Client(), Client(), Client()
    a.pair(b)
    os.kill(c.p.pid, signal.SIGSTOP)
    broker = stat()['pid']
    os.kill(broker, signal.SIGKILL)
    b.kill()
    a.event(rf'gone {b.slot} \d+')
    a.event('restored', 15)
    s = stat()
    # The stopped one keeps its slot although it has not come back.
    assert b.slot not in s['slots'] and 'connected 0' in s['slots'][c.slot], s
    a.tell(f'pair {c.slot} 20000')
    os.kill(c.p.pid, signal.SIGCONT)
    a.wait(f'pair {c.slot} ok')
    c.event(rf'pair {a.slot} \d+')
    assert 'connected 1' in stat()['slots'][c.slot]
    crossing([a, c])
    a.quit()
    c.quit()


def test_all_survivors_stopped():
    """No survivor answers the new broker: it goes on without the wire and says why; the late survivor keeps its slot."""
    a = Client()
    broker = stat()['pid']
    os.kill(a.p.pid, signal.SIGSTOP)
    os.kill(broker, signal.SIGKILL)
    b = Client()
    assert not b.wire and b.slot != a.slot
    m = b.ask('state', r'state slot \d+ wire 0 (.*)')
    assert 'earlier broker' in m[1], m[1]
    os.kill(a.p.pid, signal.SIGCONT)
    a.event('restored', 15)
    a.pair(b)
    # The earlier vault goes with its last holder; from the next connection on, this broker's survivors are known as such.
    a.kill()
    b.event(rf'gone {a.slot} \d+')
    c = Client()
    os.kill(stat()['pid'], signal.SIGKILL)
    d = Client()
    assert d.slot not in (b.slot, c.slot)
    b.event('restored', 15)
    c.event('restored', 15)
    assert sorted(stat()['slots']) == sorted([b.slot, c.slot, d.slot])
    for x in (b, c, d):
        x.quit()


def test_reader_that_stops():
    """A process that does not read loses its connection in the end, but neither its slot nor what it has."""
    a, b = Client(), Client()
    a.pair(b)
    os.kill(a.p.pid, signal.SIGSTOP)
    for _ in range(2000):
        r = Raw()
        paired = r.pair(a.slot)
        r.close()
        if not paired:
            break
    else:
        raise AssertionError('the broker keeps everything')
    s = stat()
    assert 'connected 0' in s['slots'][a.slot] and s['clients'] == 2, s
    os.kill(a.p.pid, signal.SIGCONT)
    a.event('restored', 20)
    assert stat()['pairs'] == 1 and 'connected 1' in stat()['slots'][a.slot]
    c = Client()
    c.pair(a)
    a.event(rf'pair {c.slot} \d+')
    b.ask(f'peek {a.slot}', 'peeked .*')
    assert not any(e.startswith(f'event gone {b.slot}') for e in a.events)
    for x in (a, b, c):
        x.quit()


def test_slots_are_not_reused_soon():
    """A freed slot is given out again last, and what lay in its socket is gone."""
    seen = set()
    keep = Client()
    for _ in range(5):
        c = Client()
        assert c.slot not in seen and c.slot != keep.slot
        seen.add(c.slot)
        c.quit()
        keep.ask(f'send {c.slot << 16 | 9}', 'sent')
    # 253 free slots: the next ones are all new.
    keep.quit()


def test_two_users():
    """Two users of one host: both work, the first one has the port, the second one says who has it."""
    if not ROOT:
        raise Skip('needs root, to be two users')
    a, b = Client(NOBODY), Client(OTHER)
    assert a.wire and not b.wire
    m = b.ask('state', r'state slot \d+ wire 0 (.*)')
    assert '4791' in m[1] and str(NOBODY) in m[1], m[1]
    assert stat(NOBODY)['pid'] != stat(OTHER)['pid']
    c = Client(OTHER)
    b.pair(c)
    c.event(rf'pair {b.slot} \d+')
    assert stat(NOBODY)['clients'] == 1 and stat(OTHER)['clients'] == 2
    # The other user's broker cannot be joined.
    a.quit()
    b.quit()
    c.quit()


def test_two_namespaces():
    """Two network namespaces: two brokers, each with the port."""
    a = Client()
    here = stat()
    fd = os.open('/proc/self/ns/net', os.O_RDONLY)
    assert namespace()
    assert stat() is None
    b = Client()
    assert a.wire and b.wire and stat()['pid'] != here['pid'] and stat()['clients'] == 1
    crossing([b])
    b.quit()
    assert libc.setns(fd, CLONE_NEWNET) == 0
    os.close(fd)
    assert stat()['pid'] == here['pid']
    a.quit()


def one_line(text):
    assert text.count('\n') == 1 and text.startswith('softverbs: '), repr(text)
    return text


def test_port_busy():
    """Somebody else has 4791: devices work on this host, and one line says why others cannot be reached."""
    for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::')):
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.bind((address, 4791))
        a, b = Client(), Client()
        assert not a.wire
        m = a.ask('state', r'state slot \d+ wire 0 (.*)')
        assert 'UDP port 4791 is in use' in m[1] and 'only processes of this host' in m[1], m[1]
        a.pair(b)
        pid = stat()['pid']
        # Survivors of a broker without a wire are found again too.
        os.kill(pid, signal.SIGKILL)
        a.event('restored', 15)
        b.event('restored', 15)
        assert sorted(stat()['slots']) == sorted([a.slot, b.slot])
        pid = stat()['pid']
        a.quit()
        b.quit()
        s.close()
        until(lambda: gone(pid))


def test_no_ipv6():
    """A host without IPv6: IPv4 sockets, everything else the same."""
    source = '''
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <sys/socket.h>
        int socket(int family, int type, int protocol) {
            int (*real)(int, int, int) = dlsym(RTLD_NEXT, "socket");
            if (family == AF_INET6) { errno = EAFNOSUPPORT; return -1; }
            return real(family, type, protocol);
        }'''
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        lib = os.path.join(d, 'no6.so')
        subprocess.run(['cc', '-shared', '-fPIC', '-x', 'c', '-', '-o', lib], input=source, text=True, check=True)
        p = subprocess.Popen([SOFTVERBSD, '--foreground'], env=dict(os.environ, LD_PRELOAD=lib), preexec_fn=identity(NOBODY),
                             stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: stat() is not None)
            a, b = Client(), Client()
            assert a.wire and b.wire
            with open('/proc/net/udp6') as f:
                assert ':12B7' not in f.read()
            crossing([a, b])
            a.quit()
            b.quit()
        finally:
            p.terminate()
        assert p.wait() == 0 and p.stderr.read() == ''


def test_broker_missing():
    """softverbsd is not there, or is no program: one line that says what to do."""
    for broker in ('/nonexistent/softverbsd', '/dev/null'):
        c = Client(env={'SOFTVERBS_BROKER': broker}, expect=False)
        c.wait('error no such device')
        assert 'correct SOFTVERBS_BROKER' in one_line(c.said()), c.said()
    for broker, words in (('/bin/false', 'ended before it was ready'),):
        c = Client(env={'SOFTVERBS_BROKER': broker}, expect=False)
        c.wait('error no such device')
        assert words in one_line(c.said()), c.said()
    # Not configured, and neither beside the client nor in PATH.
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        alone = os.path.join(d, 'client')
        subprocess.run(['cp', CLIENT, alone], check=True)
        r = subprocess.run([alone, 'run'], env={'PATH': '/usr/bin:/bin'}, capture_output=True, text=True,
                           preexec_fn=identity(NOBODY))
        assert r.stdout == 'error no such device\n' and 'set SOFTVERBS_BROKER' in one_line(r.stderr), r
        # Beside it: found without any setting.
        subprocess.run(['cp', SOFTVERBSD, os.path.join(d, 'softverbsd')], check=True)
        r = subprocess.run([alone, 'run'], env={'SOFTVERBS_IDLE_SECONDS': '1'}, input='quit\n', capture_output=True, text=True,
                           preexec_fn=identity(NOBODY), cwd='/')
        assert 'bye' in r.stdout and r.stderr == '', r


def test_refusals():
    """Another protocol version and nonsense are refused, the broker goes on."""
    c = Client()
    r = subprocess.run([CLIENT, 'hello', '99'], capture_output=True, text=True, preexec_fn=identity(NOBODY))
    assert r.returncode == 1 and 'version 99' in r.stdout and 'one release' in r.stdout, r
    hello = bytes.fromhex(f'0100 0000 1c000000 73537648 {PROTOCOL:02x}000000 00 00 00 0000000000000000 01000000 04') + b'nons'
    for data in (b'\0', b'x' * 8, b'x' * 8192, os.urandom(300), bytes.fromhex('0b00000000000000'), hello, hello[:20]):
        s = connect_raw(NOBODY)
        s.send(data)
        answer = s.recv(8192)
        assert answer[:2] == b'\3\0', answer
        assert s.recv(8192) == b''
        s.close()
    # A HELLO whose first descriptor is no pidfd.
    s = connect_raw(NOBODY)
    null = os.open('/dev/null', os.O_RDWR)
    socket.send_fds(s, [hello], [null, null, null])
    assert b'pidfd' in s.recv(8192)
    os.close(null)
    s.close()
    if ROOT:
        # Another user has the name's path but not the right.
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(5)
        s.connect(f'\0softverbs-{NOBODY}-v{PROTOCOL}')
        assert s.recv(100) == b''
        s.close()
    s = stat()
    assert s['clients'] == 1 and s['refused'] == 7, s
    c.quit()


def test_too_many_in_flight():
    """The vault alone is more descriptors in flight than such a limit allows: the kernel lets this process send none."""
    first = Client()
    if not first.wire:
        raise Skip('no vault of sockets without a wire')
    # Up to the hard limit it helps itself, and leaves the limit as it was.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    late = Client(files=(64, hard))
    with open(f'/proc/{late.p.pid}/limits') as f:
        assert re.search(rf'^Max open files\s+64\s+{hard}\s', f.read(), re.M)
    first.pair(late)
    late.quit()
    late = Client(files=(64, 64), expect=False)
    m = late.wait(r'joined .*|error (.*)', 20)
    assert m[1] == 'still in use', m[0]
    assert 'ETOOMANYREFS' in late.said() and 'ulimit -n' in late.said(), late.said()
    assert 'makes no sense' not in late.said()


def test_impostor():
    """Another user's process has taken the broker's name: one line says so."""
    if not ROOT:
        raise Skip('needs root, to be two users')
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(f'\0softverbs-{NOBODY}-v{PROTOCOL}')
    s.listen()
    c = Client(expect=False)
    c.wait('error not permitted')
    assert 'held by another user' in one_line(c.said())
    s.close()


def test_stopped_starter():
    """A process that was stopped while it started a broker keeps nobody from starting one."""
    c = Client()
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    lock.bind(f'\0softverbs-{NOBODY if ROOT else 0}-v{PROTOCOL}-start')
    if ROOT:
        os.seteuid(NOBODY)
    lock.listen()
    os.seteuid(0)
    os.kill(stat()['pid'], signal.SIGKILL)
    c.event('restored', 20)
    os.kill(stat()['pid'], signal.SIGKILL)
    d = Client()
    c.event('restored', 20)
    assert stat()['clients'] == 2
    lock.close()
    c.quit()
    d.quit()


def test_stray():
    """A datagram that reached the wrong process is handed on."""
    a, b = Client(), Client()
    a.ask(f'stray {b.slot << 16 | 0x1234}', 'stray ok')
    b.event(f'stray 16 {b.slot:02x}1234')
    a.ask('stray 0xff0001', 'stray invalid argument')
    assert stat()['strays'] == 1
    a.quit()
    b.quit()


def test_interfaces_change():
    """A new interface becomes a device, an address a GID, and clients hear of it."""
    c = Client()
    subprocess.run('ip link add sv0 type veth peer name sv1 && ip link set sv0 up && ip link set sv1 up', shell=True, check=True)
    c.event('netdev [0-9a-f]+')
    subprocess.run('ip addr add 10.7.0.1/24 dev sv0', shell=True, check=True)

    def there():
        c.tell('devices')
        seen = []
        while seen[-1:] != ['devices end']:
            line = c.line(time.monotonic() + 5)
            if not line.startswith('event'):
                seen.append(line)
        return any(l.startswith('device sv_sv0 up 1 gids 4') for l in seen)
    until(there)
    c.quit()


def test_255th():
    """254 processes, and a 255th that gets ENOMEM and the reason."""
    real = [Client() for _ in range(3)]
    raw = [Raw() for _ in range(251)]
    assert sorted([c.slot for c in real] + [r.slot for r in raw]) == list(range(1, 255))
    c = Client(expect=False)
    c.wait('error out of memory or ids')
    assert 'at most 254 processes' in one_line(c.said()), c.said()
    crossing(real)
    freed = real[1].slot
    real[1].kill()
    until(lambda: stat()['clients'] == 253)
    c = Client()
    assert c.slot == freed
    crossing([real[0], c, real[2]])
    for r in raw:
        r.close()
    until(lambda: stat()['clients'] == 3)


def test_options():
    """--help, --version, wrong options; a second broker says that there is one; SIGTERM ends it."""
    def run(*a):
        return subprocess.run([SOFTVERBSD, *a], capture_output=True, text=True, preexec_fn=identity(NOBODY), timeout=20)
    assert 'usage: softverbsd' in run('--help').stdout
    assert re.fullmatch(r'softverbsd \d+\.\d+\.\d+\n', run('--version').stdout)
    assert run('--nonsense').returncode == 2 and run('extra').returncode == 2 and run('--idle', 'x').returncode == 2
    assert run('--idle', '5').returncode == 0
    pid = stat()['pid']
    assert int(status(pid, 'PPid')) != os.getpid() and run().returncode == 0 and stat()['pid'] == pid
    r = run('--foreground')
    assert r.returncode == 1 and 'running in this network namespace already' in one_line(r.stderr)
    until(lambda: gone(pid))


def main():
    wanted = sys.argv[3:]
    tests = [(n, f) for n, f in globals().items() if n.startswith('test_') and (not wanted or n[5:] in wanted)]
    if not prepare() or not namespace():
        print('skipped: no network namespace can be made here')
        return 77
    failed = 0
    for name, test in tests:
        start = time.monotonic()
        namespace()
        try:
            test()
            result = 'ok'
        except Skip as why:
            result = f'skipped: {why}'
        except Exception as e:  # noqa: a test's failure, whatever it is
            import traceback
            traceback.print_exc(limit=-3, file=sys.stdout)
            result, failed = f'FAILED: {e}', failed + 1
        for c in Client.all:
            if c.p.poll() is None:
                c.kill()
            c.err.close()
        Client.all.clear()
        print(f'{time.monotonic() - start:6.2f} s  {name[5:]}: {result}', flush=True)
    return 1 if failed else 0


sys.exit(main())
