#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Our packets, field by field, against those that rxe sent for the same operations (tests/captures).

  fields_test.py BUILD

Needs no guest: two network namespaces, so root; else it says so and ends with 77.
"""
import os
import struct
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f'{TOP}/tests/interop')
sys.path.insert(0, f'{TOP}/tests/net')
from hosts import Failed, Hosts, Skipped, need, until_true  # noqa: E402
from fields import acknowledgements, differences, exchange  # noqa: E402
from icrc import is_right, roce_packet  # noqa: E402

# capture, scenario of the peer program, MTU of the wire, path MTU, IP version. The invalidate scenario goes on after the
# capture's end.
CASES = (('rc', 'rc', 1500, 1024, 4), ('rc-ipv6', 'rc', 1500, 1024, 6), ('rc-mtu256', 'rc', 1500, 256, 4),
         ('uc', 'uc', 1500, 1024, 4), ('ud', 'ud', 1500, 1024, 4), ('ud-ipv6', 'ud', 1500, 1024, 6),
         ('rc-inv', 'invalidate', 1500, 1024, 4), ('rc-mtu4096', 'rc', 9000, 4096, 4))


def captured(name):
    with open(f'{TOP}/tests/captures/{name}.pcap', 'rb') as f:
        data = f.read()
    order = {b'\xd4\xc3\xb2\xa1': '<', b'\xa1\xb2\xc3\xd4': '>'}[data[:4]]
    at, frames = 24, []
    while at < len(data):
        size = struct.unpack(order + 'I', data[at + 8:at + 12])[0]
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return [p for p in map(roce_packet, frames) if p]


def recorded(hosts, scenario, mtu, version):
    """What passes a's interface in both directions."""
    hosts.port += 1
    captures = [hosts.capture(host) for host in 'ab']

    def argv(host):
        return [f'{hosts.build}/tests/interop/peer', '-d', hosts.device(host), '-x', str(hosts.gid_index(host, version)),
                '-p', str(hosts.port), '-m', str(mtu), scenario]
    server = hosts.start('a', argv('a'))
    until_true(lambda: hosts.listens('a', hosts.port) or not server.alive(), 15, server.text)
    client = hosts.start('b', argv('b') + [hosts.address('a', version)])
    ended = client.wait(60), server.wait(10)
    lost = sum(c.stop() for c in captures)
    if 77 in ended:
        raise Skipped((server if ended[1] == 77 else client).text().strip().split('\n')[-1])
    need(ended == (0, 0) and lost == 0, f'{ended}, {lost} frames lost\n{client.text()}\n{server.text()}')
    frames = sorted(f for c in captures for f in c.frames)
    packets = [p for p in (roce_packet(frame) for _, frame in frames) if p]
    need(all(is_right(p) for p in packets), 'a wrong ICRC')
    return packets


def compare(name, ours, theirs):
    our_requests, our_responses = exchange(ours)
    their_requests, their_responses = exchange(theirs)
    # Stations of the wire behind the capture's end.
    if name == 'rc-inv':
        our_requests = our_requests[:len(their_requests)]
    lines = [f'request {line}' for line in differences(our_requests, their_requests)]
    our_rest, our_acks, our_plain = acknowledgements(our_responses)
    their_rest, their_acks, their_plain = acknowledgements(their_responses)
    lines += [f'response {line}' for line in differences(our_rest, their_rest)]
    for psn in sorted(set(our_acks) & set(their_acks)):
        if our_acks[psn] != their_acks[psn]:
            lines.append(f'ACK of PSN {psn}: syndrome and MSN are {our_acks[psn]}, not {their_acks[psn]}')
    lines += [f'ACK: {line}' for line in differences(our_plain[:1], their_plain[:1])]
    # One operation at a time: each ends with an acknowledgement, on both sides the same ones.
    missing = sorted(set(their_acks) - set(our_acks))
    if missing:
        lines.append(f'no ACK of PSN {missing}')
    return lines


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    hosts, wire = None, 0
    try:
        for name, scenario, wire_mtu, mtu, version in CASES:
            if wire != wire_mtu:
                if hosts:
                    hosts.close()
                hosts, wire = Hosts(sys.argv[1], wire_mtu), wire_mtu
                for host in 'ab':
                    hosts.offloads(host, False)
            try:
                theirs = captured(name)
                lines = compare(name, recorded(hosts, scenario, mtu, version), theirs)
            except Failed as e:
                lines = str(e).split('\n')
            except Skipped as e:
                print(f'{name}: left out: {e}')
                continue
            print(f'{name}: {len(theirs)} packets of rxe, {len(lines)} differences')
            for line in lines[:40]:
                print('    ' + line)
            failed += bool(lines)
    except Skipped as e:
        print(e)
        return 77
    finally:
        if hosts:
            hosts.close()
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
