# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Messages of connection management in a capture: our codec (cm_dump) against tshark, value by value.

  cm_wire.py BUILD PCAP...


Left out is what tshark 4.0 has no field for (SIDR, the vendor of ECE), and what it reads at the wrong place: flow label and rate
of the REQ's paths.
"""
import ipaddress
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'net'))
from hosts import Failed, Skipped, need, need_tool  # noqa: E402

# Our name -> tshark's, below infiniband.cm.; by kind.
PATH = {'local_lid': 'locallid', 'remote_lid': 'remotelid', 'traffic_class': 'tfcclass', 'hop_limit': 'hoplim', 'sl': 'sl',
        'subnet_local': 'subnetlocal', 'ack_timeout': 'localacktout'}
FIELDS = {
    'REQ': {'local_id': 'req', 'ca_guid': 'req.localcaguid', 'qkey': 'req.localqkey', 'qpn': 'req.localqpn',
            'responder_resources': 'req.responderres', 'eecn': 'req.localeecn', 'initiator_depth': 'req.initdepth',
            'remote_eecn': 'req.remoteeecn', 'remote_timeout': 'req.remoteresptout', 'transport': 'req.transpsvctype',
            'flow_control': 'req.e2eflowctrl', 'starting_psn': 'req.startpsn', 'local_timeout': 'req.localresptout',
            'retry_count': 'req.retrcount', 'pkey': 'req.pkey', 'mtu': 'req.pppmtu', 'rdc_exists': 'req.rdcexist',
            'rnr_retry_count': 'req.rnrretrcount', 'max_cm_retries': 'req.maxcmretr', 'srq': 'req.srq',
            'extended_transport': 'req.ext_transport',
            **{f'primary.{ours}': f'req.prim_{theirs}' for ours, theirs in PATH.items()},
            **{f'alternate.{ours}': f'req.alt_{theirs}' for ours, theirs in PATH.items()}},
    'REP': {'local_id': 'rep', 'remote_id': 'rep.remotecommid', 'qkey': 'rep.localqkey', 'qpn': 'rep.localqpn',
            'eecn': 'rep.localeecn', 'starting_psn': 'rep.startpsn', 'responder_resources': 'rep.respres',
            'initiator_depth': 'rep.initdepth', 'target_ack_delay': 'rep.tgtackdelay', 'failover': 'rep.failoveracc',
            'flow_control': 'rep.e2eflowctrl', 'rnr_retry_count': 'rep.rnrretrcount', 'srq': 'rep.srq',
            'ca_guid': 'rep.localcaguid', 'private_data': 'rep.private'},
    'RTU': {'local_id': 'rtu.localcommid', 'remote_id': 'rtu.remotecommid', 'private_data': 'rtu.private'},
    'REJ': {'local_id': 'rej.localcommid', 'remote_id': 'rej.remotecommid', 'about': 'rej.msgrej', 'info_len': 'rej.rejinfolen',
            'reason': 'rej.reason', 'info': 'rej.ari', 'private_data': 'rej.private'},
    'DREQ': {'local_id': 'dreq.localcommid', 'remote_id': 'dreq.remotecommid', 'remote_qpn': 'req.remoteqpneecn',
             'private_data': 'dreq.private'},
    'DREP': {'local_id': 'drsp.localcommid', 'remote_id': 'drsp.remotecommid', 'private_data': 'drsp.private'},
    'SIDR_REQ': {}, 'SIDR_REP': {}, 'MRA': {},
}
HEADER = {'attribute': 'infiniband.mad.attributeid', 'tid': 'infiniband.mad.transactionid',
          'modifier': 'infiniband.mad.attributemodifier'}
GIDS = {f'{path}.{side}_gid': f'infiniband.cm.req.{short}_{side}gid'
        for path, short in (('primary', 'prim'), ('alternate', 'alt')) for side in ('local', 'remote')}
SERVICE = [f'infiniband.cm.req.serviceid{part}' for part in ('', '.prefix', '.protocol', '.dport')]
IP_PRIVATE = ['infiniband.cm.req.ip_cm.' + part for part in ('majv', 'minv', 'ipv', 'reserved', 'sport')]


def decoded(build, path):
    """By our codec: a list of dicts."""
    done = subprocess.run([f'{build}/tests/interop/cm_dump', path], capture_output=True, text=True)
    need(done.returncode == 0, f'cm_dump: {done.returncode} {done.stderr}')
    return [json.loads(line) for line in done.stdout.splitlines()]


def shown(path):
    """By tshark: frame number -> its fields, as text."""
    names = sorted({f'infiniband.cm.{theirs}' for kind in FIELDS.values() for theirs in kind.values()} | set(HEADER.values()) |
                   {n for gid in GIDS.values() for n in (gid, gid + '_ipv4') if n.split('.')[-1] not in
                    ('alt_localgid_ipv4', 'alt_remotegid_ipv4')} | set(SERVICE) | set(IP_PRIVATE))
    command = ['tshark', '-r', path, '-Y', 'infiniband.mad.mgmtclass == 7', '-T', 'fields', '-E', 'separator=|', '-E',
               'occurrence=f', '-e', 'frame.number']
    for name in names:
        command += ['-e', name]
    done = subprocess.run(command, capture_output=True, text=True)
    need(done.returncode == 0, f'tshark: {done.stderr}')
    rows = [line.split('|') for line in done.stdout.splitlines()]
    return {int(row[0]): {name: text for name, text in zip(names, row[1:]) if text != ''} for row in rows}


def value(text):
    if text in ('True', 'False'):
        return int(text == 'True')
    return int(text, 0)


def same(ours, text):
    if isinstance(ours, str):
        # Byte strings; tshark may write colons.
        return ours == text.replace(':', '')
    return ours == value(text)


def gid_text(raw):
    """As tshark writes it: an IPv4 address when it holds one, else hexadecimal or an IPv6 address; compared as bytes."""
    return '.'.join(str(int(raw[i:i + 2], 16)) for i in (24, 26, 28, 30)) if raw[:24] == '0' * 20 + 'ffff' else raw


def gid_bytes(text):
    return text if ':' not in text else ipaddress.ip_address(text).packed.hex()


def request_differences(ours, theirs):
    """Of a REQ what is not a number of its own in tshark."""
    lines = []
    for name, theirs_name in GIDS.items():
        want = gid_text(ours[name])
        got = theirs.get(theirs_name + '_ipv4') if '.' in want else gid_bytes(theirs.get(theirs_name, ''))
        if got != want:
            lines.append(f'{name}: we say {want}, tshark {got}')
    service = ours['service_id']
    if 'infiniband.cm.req.serviceid.dport' in theirs:
        got = [value(theirs[name]) for name in SERVICE[2:]]
        if got != [service >> 16 & 0xff, service & 0xffff]:
            lines.append(f'service_id: we say {service:#x}, tshark {got}')
        private = bytes.fromhex(ours['private_data'])
        want = [private[0] >> 4, private[0] & 15, private[1] >> 4, private[1] & 15, private[2] << 8 | private[3]]
        got = [value(theirs[name]) for name in IP_PRIVATE]
        if got != want:
            lines.append(f'IP header in the private data: we say {want}, tshark {got}')
    return lines


def differences(build, path):
    """(lines of what differs, how many of each kind)."""
    ours, theirs = decoded(build, path), shown(path)
    lines, counts = [], {}
    if sorted(m['frame'] for m in ours) != sorted(theirs):
        lines.append(f'we see messages in frames {sorted(m["frame"] for m in ours)}, tshark in {sorted(theirs)}')
    for message in ours:
        kind, its = message['kind'], theirs.get(message['frame'], {})
        counts[kind] = counts.get(kind, 0) + 1
        names = {**HEADER, **{ours: f'infiniband.cm.{t}' for ours, t in FIELDS[kind].items()}}
        for name, theirs_name in names.items():
            try:
                right = same(message[name], its[theirs_name])
            except (KeyError, ValueError):
                right = False
            if not right:
                lines.append(f'frame {message["frame"]}, {kind}: {name}: we say {message[name]}, tshark {its.get(theirs_name)}')
        if kind == 'REQ':
            lines += [f'frame {message["frame"]}, REQ: {line}' for line in request_differences(message, its)]
    return lines, counts


def check(build, path, kinds):
    """Every message reads alike, and all of these kinds are there."""
    need_tool('tshark')
    lines, counts = differences(build, path)
    if lines:
        raise Failed('\n'.join(lines[:40]))
    need(set(kinds) <= set(counts), f'only {counts}')
    return ', '.join(f'{n} {kind}' for kind, n in sorted(counts.items()))


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    for path in sys.argv[2:]:
        try:
            words = check(sys.argv[1], path, ())
        except Skipped as e:
            print(e)
            return 77
        except Failed as e:
            words, failed = str(e), 1
        print(f'{os.path.basename(path)}: {words}')
    return failed


if __name__ == '__main__':
    sys.exit(main())
