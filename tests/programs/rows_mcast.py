# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rows of multicast: mckey, which waits for 3 s by itself before it sends; so the quick row has both families at once."""
from rows import need_program, row, rows_for
from world import Failed, Skipped, need

COUNT = 10


def listeners_and_sender(w, address, group, listeners, options=()):
    argv = ['mckey', '-m', group, '-b', address, '-C', str(COUNT), *options]
    return [w.start(argv, via='plain') for _ in range(listeners)] + [w.start([*argv, '-s'], via='plain')]


def expect_all(processes):
    for process in processes:
        status = process.wait(10)
        text = process.text()
        if status != 0:
            raise Failed(f'{" ".join(process.argv)}: {"hangs" if status is None else status}\n{text}')
        need('data transfers complete' in text and 'return status 0' in text, f'{" ".join(process.argv)}\n{text}')


def need_interfaces(w):
    need_program('mckey')
    if not w.own_namespace:
        raise Skipped('no network namespace of our own, and its interfaces')


@row('mckey: two listeners and a sender, IPv4 and IPv6 groups')
def _(w):
    need_interfaces(w)
    # -l: without loopback, which is of a queue pair's own datagrams.
    expect_all(listeners_and_sender(w, '10.99.0.1', '239.1.2.3', 2, ['-l']) + listeners_and_sender(w, 'fd99::1', 'ff0e::1:2:3', 2) +
               listeners_and_sender(w, '127.0.0.1', '239.1.2.3', 1))


@rows_for('mckey -c 4, several ids of one process in %s', [('239.1.2.4',), ('ff12::4',), ('ff05::1:4',)], 'full')
def _(w, group):
    need_interfaces(w)
    expect_all(listeners_and_sender(w, 'fd99::1' if ':' in group else '10.99.0.1', group, 2, ['-c', '4', '-S', '1024']))


@row('mckey: a sender that only sends, to a listener', 'full')
def _(w):
    need_interfaces(w)
    argv = ['mckey', '-m', '239.1.2.5', '-b', '10.99.0.1', '-C', str(COUNT)]
    expect_all([w.start(argv, via='run'), w.start([*argv, '-s', '-o'], via='run')])
