# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rows of the stacks above verbs: UCX, Open MPI over it, libfabric; between processes and between hosts. They look for devices in the files
that `softverbs run` shows."""
import json
import os
import re
import shutil
import socket

from hosts import Hosts
from rows import LINKS, need_program, pair, row, rows_for
from world import need, until

TOP = os.path.dirname(os.path.abspath(__file__))
TLS = ('rc_v', 'ud_v')
# UCX before 1.19 takes every device of a host for one that reaches every other host, and long messages go over two of them.
NOT_LOOPBACK = {'SOFTVERBS_DEVICE': 'sv_h*'}


# --- UCX --------------------------------------------------------------------

def ucx_env(tls, device):
    return {'UCX_TLS': tls, 'UCX_NET_DEVICES': f'{device}:1'}


def ucx_result(text):
    """The last line of the table: iterations, latencies, bandwidths, rates."""
    found = re.search(r'^Final:\s+(\d+)\s', text, re.M)
    need(found and not re.search('ERROR|WARN', text), text)
    return int(found[1])


def ucx_command(test, size, count):
    return ['ucx_perftest', '-t', test, '-s', str(size), '-n', str(count), '-w', '10']


# Datagrams of a message that is longer than the receiver's buffer are lost on a wire, and UCX sends them again.
UCX_TESTS = ('ucp_put_bw', 'ucp_put_lat', 'ucp_get', 'tag_bw', 'tag_lat', 'tag_sync_lat', 'ucp_am_bw', 'ucp_am_lat', 'stream_bw',
             'stream_lat')
UCX_ATOMICS = ('ucp_add', 'ucp_fadd', 'ucp_swap', 'ucp_cswap')


def ucx(w, test, tls, link, size=0, count=500):
    size = size or (8 if test in UCX_ATOMICS else 1024)
    text = pair(w, ucx_command(test, size, count), link, via='run', env=ucx_env(tls, 'sv_lo'), seconds=60)
    need(ucx_result(text) == count, text)


UCX_QUICK = [('ucp_put_bw', 'rc_v', 'shm'), ('ucp_get', 'rc_v', 'wire'), ('tag_lat', 'rc_v', 'wire'), ('tag_bw', 'ud_v', 'shm'),
             ('ucp_am_lat', 'ud_v', 'wire'), ('ucp_cswap', 'rc_v', 'shm')]
UCX_FULL = [(t, tls, link, size, 1000 if size < 100000 else 100) for t in UCX_TESTS for tls in TLS for link in LINKS
            for size in (8, 4000, 1000000)]

rows_for('ucx_perftest -t %s, %s, %s', UCX_QUICK)(ucx)
rows_for('ucx_perftest -t %s, %s, %s, %s bytes, %s times', UCX_FULL, 'full')(ucx)
rows_for('ucx_perftest -t %s, %s, %s, %s bytes', [(t, tls, link, 8) for t in UCX_ATOMICS for tls in TLS for link in LINKS], 'full')(ucx)


def ucx_hosts(w, test, tls, size=1024, count=500):
    need_program('ucx_perftest')
    with Hosts(w, 2) as hosts:
        a, b = hosts.hosts
        text = hosts.pair(a, b, ucx_command(test, size, count), seconds=60, env={'UCX_TLS': tls, **NOT_LOOPBACK})
        need(ucx_result(text) == count, text)


UCX_HOSTS_QUICK = [('tag_bw', 'rc_v'), ('tag_lat', 'ud_v')]
rows_for('ucx_perftest -t %s, %s, between hosts', UCX_HOSTS_QUICK)(ucx_hosts)
rows_for('ucx_perftest -t %s, %s, between hosts, %s bytes, %s times',
         [(t, tls, size, 1000 if size == 8 else 50) for t in UCX_TESTS for tls in TLS for size in (8, 300000)], 'full')(ucx_hosts)


def io_demo(w, start, address, tls, device=None):
    """Connects with rdmacm, and checks each byte."""
    need_program('io_demo')
    port = str(w.new_port())
    env = {'UCX_TLS': tls, 'UCX_SOCKADDR_TLS_PRIORITY': 'rdmacm', **({'UCX_NET_DEVICES': f'{device}:1'} if device else {})}
    argv = ['io_demo', '-p', port, '-d', '4096:60000', '-q']
    server = start(0, argv, env)
    until(lambda: 'Starting' in server.text() or not server.alive(), 10, 'no server')
    # A client that comes first is refused, and tries again after a moment.
    client = start(1, [*argv, '-c', '100', '-y', '0.2', '-i', '50', '-o', 'read,write', address], env)
    until(lambda: not client.alive() or not server.alive(), 40, lambda: f'hangs\n{client.text()}\n{server.text()}')
    text = client.text()
    need(client.wait(5) == 0 and "exit with status 'OK'" in text, f'{client.status()}\n{text}\n{server.text()}')


@rows_for('io_demo: connections of UCX by rdmacm, %s, %s', [(tls, link) for tls in TLS for link in LINKS], 'full')
def _(w, tls, link):
    io_demo(w, lambda _, argv, env: w.start(argv, wire=link == 'wire', via='run', env=env), '127.0.0.1', tls, 'sv_lo')


@rows_for('io_demo: connections of UCX by rdmacm, %s, between hosts', [('rc_v',)])
def _(w, tls):
    with Hosts(w, 2) as hosts:
        io_demo(w, lambda n, argv, env: hosts.start(hosts.hosts[n], argv, {**env, **NOT_LOOPBACK}), hosts.hosts[0].ipv4, tls)


# --- Open MPI over UCX ------------------------------------------------------

# No other way to send than UCX, and it has verbs and itself.
MPI_ENV = {'OMPI_MCA_pml': 'ucx', 'OMPI_MCA_osc': 'ucx', 'OMPI_MCA_btl': 'self', 'OMPI_MCA_mpi_yield_when_idle': '1',
           'OMPI_MCA_btl_base_warn_component_unused': '0', 'PMIX_MCA_gds': 'hash'}
MPI_ROOT = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}


def mpirun(ranks, *argv):
    return ['mpirun', '-np', str(ranks), '--oversubscribe', '--bind-to', 'none', *argv]


def mpi_env(w, tls, device=None):
    # A short name: Open MPI has sockets below it.
    return {**MPI_ENV, 'TMPDIR': w.work, 'UCX_TLS': f'{tls},self', **({'UCX_NET_DEVICES': f'{device}:1'} if device else {})}


def build_collectives(w):
    need_program('mpicc.openmpi', 'mpirun.openmpi')
    program = f'{w.work}/mpi_collectives'
    if not os.path.exists(program):
        w.start(['mpicc.openmpi', '-O2', '-o', program, f'{readable_source(w)}'], via='none').expect(30)
    return program


def readable_source(w):
    """The user may not look into the checkout."""
    source = f'{w.work}/mpi_collectives.c'
    shutil.copyfile(f'{TOP}/mpi_collectives.c', source)
    os.chmod(source, 0o644)
    return source


def collectives(w, ranks, tls, link, rounds, most):
    program = build_collectives(w)
    text = w.start(mpirun(ranks, program, str(rounds), str(most)), wire=link == 'wire', via='run', env=mpi_env(w, tls, 'sv_lo')).expect(120)
    need(f'verified on {ranks} ranks' in text, text)


rows_for('mpirun -np %s mpi_collectives, %s, %s, %s rounds up to %s elements', [(2, 'rc_v', 'shm', 1, 16)])(collectives)
rows_for('mpirun -np %s mpi_collectives, %s, %s, %s rounds up to %s elements',
         [(8, tls, link, 3, 4096) for tls in TLS for link in LINKS], 'full')(collectives)


def mpirun_on_hosts(w, hosts, ranks, argv, tls, seconds):
    """Open MPI starts its daemon on each host with this instead of ssh, whose first arguments are a name and then a command."""
    agent = f'{w.work}/agent'
    with open(agent, 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\nhost=$1\nshift\ncase $host in\n' +
                ''.join(f'{h.ipv4}) exec nsenter --target {h.holder.pid} --net -- sh -c "$*" ;;\n' for h in hosts.hosts) + 'esac\nexit 1\n')
    os.chmod(agent, 0o755)
    names = ','.join(f'{h.ipv4}:{(ranks + len(hosts.hosts) - 1) // len(hosts.hosts)}' for h in hosts.hosts)
    env = {**mpi_env(w, tls), **MPI_ROOT, **NOT_LOOPBACK, 'OMPI_MCA_plm_rsh_agent': agent, 'OMPI_MCA_orte_keep_fqdn_hostnames': '1',
           # On each host its own devices and files.
           'OMPI_MCA_orte_launch_agent': f'{w.product}/softverbs run -- orted'}
    command = ['mpirun', '-np', str(ranks), '--host', names, '--map-by', 'node', '--oversubscribe', '--bind-to', 'none']
    for name in (*NOT_LOOPBACK, 'UCX_TLS', 'SOFTVERBS_IDLE_SECONDS'):
        command += ['-x', name]
    process = hosts.start(hosts.hosts[0], [*command, *argv], env)
    until(lambda: not process.alive(), seconds, lambda: f'hangs\n{process.text()}')
    need(process.wait(1) == 0, f'{process.status()}\n{process.text()}')
    return process.text()


@rows_for('mpirun -np 8 mpi_collectives on four hosts, %s', [(tls,) for tls in TLS], 'full')
def _(w, tls):
    program = build_collectives(w)
    with Hosts(w, 4) as hosts:
        text = mpirun_on_hosts(w, hosts, 8, [program, '2', '4096'], tls, 200)
        need('verified on 8 ranks' in text, text)


# --- a real program ---------------------------------------------------------

# HPCC runs each of its benchmarks once and verifies what they compute. Its input is HPL's: one value a line, whose names are ignored.
HPCC_INPUT = ['title', 'title', 'HPL.out', '8', '1', '{n}', '1', '40', '0', '1', '2', '{columns}', '16.0', '1', '2', '1', '4', '1', '2',
              '1', '1', '1', '1', '1', '1', '2', '64', '0', '0', '1', '8', '#', '0', '1200', '0', '40']


def hpcc(w, ranks, run, n=240):
    """`run` takes the arguments of mpirun that follow its options."""
    need_program('hpcc', 'mpirun')
    folder = f'{w.work}/hpcc'
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    with open(f'{folder}/hpccinf.txt', 'w', encoding='utf-8') as f:
        f.write('\n'.join(HPCC_INPUT).format(n=n, columns=ranks // 2) + '\n')
    run(['--wdir', folder, 'hpcc'])
    with open(f'{folder}/hpccoutf.txt', encoding='utf-8') as f:
        text = f.read()
    need(text.count('PASSED') >= 2 and 'FAILED' not in text and 'End of Summary section' in text, text[-6000:])
    for failures in re.findall(r'^(?:MPI|Star|Single)\w*(?:errors|Failure|failure)\w*=(\d+)', text, re.M):
        need(failures == '0', text[-6000:])


@rows_for('mpirun -np %s hpcc, %s, %s', [(4, 'rc_v', link) for link in LINKS], 'full')
def _(w, ranks, tls, link):
    def run(argv):
        w.start(mpirun(ranks, *argv), wire=link == 'wire', via='run', env=mpi_env(w, tls, 'sv_lo')).expect(300)
    hpcc(w, ranks, run)


@row('mpirun -np 8 hpcc on four hosts, rc_v', 'full')
def _(w):
    with Hosts(w, 4) as hosts:
        hpcc(w, 8, lambda argv: mpirun_on_hosts(w, hosts, 8, argv, 'rc_v', 400))


# --- libfabric --------------------------------------------------------------

def fi_pingpong(w, provider, kind, env=None):
    """The client learns the server's address from it, over a connection of its own."""
    need_program('fi_pingpong')
    with Hosts(w, 2) as hosts:
        a, b = hosts.hosts
        port = str(w.new_port())
        argv = ['fi_pingpong', '-p', provider, '-e', kind, '-I', '20', '-c']
        server = hosts.start(a, [*argv, '-B', port], {**NOT_LOOPBACK, **(env or {})})
        until(lambda: hosts.listens(a, int(port)) or not server.alive(), 10, lambda: f'no listener\n{server.text()}')
        client = hosts.start(b, [*argv, '-P', port, a.ipv4], {**NOT_LOOPBACK, **(env or {})})
        until(lambda: not client.alive(), 30, lambda: f'hangs\n{client.text()}\n{server.text()}')
        need(client.wait(1) == 0, f'{client.status()}\n{client.text()}\n{server.text()}')
        need(server.wait(5) == 0 and re.search(r'^(1m|1k) ', client.text(), re.M), f'{client.text()}\n{server.text()}')


@row('fi_pingpong -p verbs -e msg, between hosts')
def _(w):
    fi_pingpong(w, 'verbs', 'msg')


@row('fi_pingpong -p verbs;ofi_rxm -e rdm, between hosts', 'full')
def _(w):
    fi_pingpong(w, 'verbs;ofi_rxm', 'rdm')


@row('fi_pingpong -p verbs -e dgram, between hosts', 'full')
def _(w):
    fi_pingpong(w, 'verbs', 'dgram', {'FI_VERBS_GID_IDX': '3'})


# --- QEMU -------------------------------------------------------------------

QEMU = ['qemu-system-x86_64', '-accel', 'tcg', '-machine', 'pc', '-m', '64', '-display', 'none', '-nodefaults']


class Monitor:
    """QEMU's control socket."""

    def __init__(self, path, process):
        self.socket = socket.socket(socket.AF_UNIX)
        until(lambda: self.socket.connect_ex(path) == 0 or not process.alive(), 20, lambda: f'no monitor\n{process.text()}')
        need(process.alive(), process.text())
        self.socket.settimeout(10)
        self.file = self.socket.makefile('rw', encoding='utf-8')
        self.file.readline()
        self.ask('qmp_capabilities')

    def ask(self, command, **arguments):
        self.file.write(json.dumps({'execute': command, 'arguments': arguments}) + '\n')
        self.file.flush()
        while True:  # events come between
            answer = json.loads(self.file.readline())
            if 'return' in answer or 'error' in answer:
                need('return' in answer, str(answer))
                return answer['return']


@rows_for('qemu: a guest moves over rdma: between hosts%s', [('',), (', RAM pinned at once',)], 'full')
def _(w, pinned):
    need_program(QEMU[0])
    with Hosts(w, 2) as hosts:
        a, b = hosts.hosts
        paths = [f'{w.work}/monitor{h.number}' for h in (a, b)]
        uri = f'rdma:{b.ipv4}:{w.new_port()}'
        sides = [hosts.start(h, [*QEMU, '-qmp', f'unix:{path},server,nowait', *more], NOT_LOOPBACK)
                 for h, path, more in zip((a, b), paths, ([], ['-incoming', uri]))]
        source, target = (Monitor(path, side) for path, side in zip(paths, sides))
        need(target.ask('query-status')['status'] == 'inmigrate', 'the target does not wait')
        if pinned:
            for monitor in (source, target):
                monitor.ask('migrate-set-capabilities', capabilities=[{'capability': 'rdma-pin-all', 'state': True}])
        source.ask('migrate', uri=uri)
        until(lambda: source.ask('query-migrate').get('status') in ('completed', 'failed'), 60, lambda: str(source.ask('query-migrate')))
        end = source.ask('query-migrate')
        need(end['status'] == 'completed' and end['ram']['remaining'] == 0, f'{end}\n{sides[0].text()}\n{sides[1].text()}')
        until(lambda: target.ask('query-status')['running'], 10, lambda: f'the guest does not run\n{sides[1].text()}')
        need(source.ask('query-status')['status'] == 'postmigrate', 'it runs twice')
        for monitor in (source, target):
            monitor.ask('quit')
        for side in sides:
            side.expect(10)
