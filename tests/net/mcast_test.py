#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""mckey between two network namespaces: a sender, a listener beside it and two on the other host. What is on the wire is counted.

  mcast_test.py BUILD

As root only (it makes the namespaces); else it says so and ends with 77.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hosts import Hosts, main_ends, need, need_tool  # noqa: E402
from icrc import is_right, roce_packet  # noqa: E402

COUNT = 10
# version -> group, first bytes of the frame, where the destination is in the IP header
GROUPS = {4: ('239.255.77.1', '01005e7f4d01', bytes([239, 255, 77, 1]), 16, 8),
          6: ('ff0e::77:1', '333300770001', bytes.fromhex('ff0e00000000000000000000' '00770001'), 24, 7)}


def start(hosts, host, version, *options):
    return hosts.start(host, ['mckey', '-m', GROUPS[version][0], '-b', hosts.address(host, version), '-C', str(COUNT), *options])


def look_at_wire(frames, version):
    _, mac, address, at, hops = GROUPS[version]
    packets = [(frame, ip) for frame in frames for ip in [roce_packet(frame)] if ip and ip[at:at + len(address)] == address]
    need(len(packets) == COUNT, f'IPv{version}: {len(packets)} packets on the wire, not {COUNT}')
    for frame, ip in packets:
        need(frame[:6].hex() == mac, f'sent to {frame[:6].hex()}, not {mac}')
        need(is_right(ip), f'a wrong ICRC: {ip.hex()}')
        need(ip[hops] == 64, f'hop limit {ip[hops]}')


def main():
    build = sys.argv[1]
    need_tool('mckey')
    with Hosts(build) as hosts:
        capture = hosts.capture('a')
        for version in GROUPS:
            for host in 'abb':
                start(hosts, host, version)
            start(hosts, 'a', version, '-s')
        for process in hosts.processes:
            if 'mckey' not in process.argv:
                continue
            text = process.expect(15)
            need('data transfers complete' in text and 'return status 0' in text, text)
        capture.stop()
        for version in GROUPS:
            look_at_wire([frame for _, frame in capture.frames], version)


if __name__ == '__main__':
    main_ends(main)
