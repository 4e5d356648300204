# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""RoCEv2 packets as named fields, for comparing what two stacks send for the same operations.

Kept out are fields that are each side's own choice: addresses, UDP source port and checksum, identification, ICRC (checked
elsewhere), P_Key's member bit, queue pair numbers, keys, virtual addresses. PSNs are counted from the first packet of their
direction's requester, and the virtual addresses of RETH and AtomicETH from the lowest one seen.
"""
import struct

NAMES = ('SEND_FIRST SEND_MIDDLE SEND_LAST SEND_LAST_IMM SEND_ONLY SEND_ONLY_IMM WRITE_FIRST WRITE_MIDDLE WRITE_LAST '
         'WRITE_LAST_IMM WRITE_ONLY WRITE_ONLY_IMM READ_REQUEST READ_FIRST READ_MIDDLE READ_LAST READ_ONLY ACK ATOMIC_ACK '
         'COMPARE_SWAP FETCH_ADD RESYNC SEND_LAST_INV SEND_ONLY_INV').split()
RETH = ('WRITE_FIRST', 'WRITE_ONLY', 'WRITE_ONLY_IMM', 'READ_REQUEST')
AETH = ('READ_FIRST', 'READ_LAST', 'READ_ONLY', 'ACK', 'ATOMIC_ACK')
RESPONSES = ('READ_FIRST', 'READ_MIDDLE', 'READ_LAST', 'READ_ONLY', 'ACK', 'ATOMIC_ACK')
TRANSPORTS = {0: 'RC', 1: 'UC', 3: 'UD'}


def fields(ip):
    """ip: an IP packet to UDP port 4791, cut to its length. A dict, in the order of the wire."""
    version = ip[0] >> 4
    out = {'version': version}
    if version == 4:
        out['dscp'], out['ecn'], out['ttl'], out['df'] = ip[1] >> 2, ip[1] & 3, ip[8], ip[6] & 0xe0
        out['source'], at = ip[12:16], 20
    else:
        word = struct.unpack('>I', ip[:4])[0]
        out['dscp'], out['ecn'], out['ttl'], out['flow'] = word >> 22 & 63, word >> 20 & 3, ip[7], word & 0xfffff
        out['source'], at = ip[8:24], 40
    out['udp_length_right'] = struct.unpack('>H', ip[at + 4:at + 6])[0] == len(ip) - at
    at += 8
    bth = ip[at:at + 12]
    at += 12
    name = NAMES[bth[0] & 31]
    out['transport'], out['opcode'] = TRANSPORTS[bth[0] >> 5], name
    out['solicited'], out['pad'], out['tver'] = bth[1] >> 7, bth[1] >> 4 & 3, bth[1] & 15
    out['pkey'] = struct.unpack('>H', bth[2:4])[0]
    out['fecn_becn_reserved'], out['reserved'] = bth[4], bth[8] & 0x7f
    out['ack_request'], out['psn'] = bth[8] >> 7, int.from_bytes(bth[9:12], 'big')
    if out['transport'] == 'UD':
        out['qkey'], out['deth_reserved'] = struct.unpack('>IB', ip[at:at + 5])
        at += 8
    if name in RETH:
        out['address'], _, out['length'] = struct.unpack('>QII', ip[at:at + 16])
        at += 16
    if name in ('COMPARE_SWAP', 'FETCH_ADD'):
        out['address'], _, out['swap_or_add'], out['compare'] = struct.unpack('>QIQQ', ip[at:at + 28])
        at += 28
    if name in AETH:
        out['syndrome'], out['msn'] = ip[at], int.from_bytes(ip[at + 1:at + 4], 'big')
        at += 4
    if name == 'ATOMIC_ACK':
        out['original'] = struct.unpack('>Q', ip[at:at + 8])[0]
        at += 8
    if name.endswith('_IMM'):
        out['immediate'] = ip[at:at + 4].hex()
        at += 4
    if name.endswith('_INV'):
        at += 4
    out['payload'] = ip[at:len(ip) - 4 - out['pad']].hex()
    out['pad_bytes'] = ip[len(ip) - 4 - out['pad']:len(ip) - 4].hex()
    return out


def is_response(packet):
    return packet['transport'] == 'RC' and packet['opcode'] in RESPONSES


def without_repetitions(packets):
    """On a busy machine a probe or a timeout sends a packet again: then it is the same but for its request of an answer."""
    kept = {}
    for p in packets:
        key = p['psn'], p['opcode'] == 'ACK'
        if key in kept and p['opcode'] != 'ACK':
            again = {k: v for k, v in p.items() if k != 'ack_request'}
            if again != {k: v for k, v in kept[key].items() if k != 'ack_request'}:
                raise ValueError(f'sent again, and not the same: {kept[key]} {p}')
        kept.setdefault(key, p)
    return list(kept.values())


def exchange(packets):
    """Requests and responses of one exchange, with what is free taken out. packets: of one pair of queue pairs, of which one is
    active."""
    parsed = [fields(p) for p in packets]
    requests = without_repetitions([p for p in parsed if not is_response(p)])
    responses = without_repetitions([p for p in parsed if is_response(p)])
    start = requests[0]['psn']
    parsed = requests + responses
    addresses = [p['address'] for p in requests if 'address' in p and p.get('length', 8) > 0]
    base = min(addresses) if addresses else 0
    for p in parsed:
        p['psn'] = p['psn'] - start & 0xffffff
        del p['source']
        if 'address' in p:
            # Nothing is at the address of no bytes.
            p['address'] = p['address'] - base if p.get('length', 8) > 0 else 0
    return requests, responses


LAST = ('SEND_LAST', 'SEND_LAST_IMM', 'SEND_ONLY', 'SEND_ONLY_IMM', 'WRITE_LAST', 'WRITE_LAST_IMM', 'WRITE_ONLY',
        'WRITE_ONLY_IMM', 'READ_REQUEST', 'COMPARE_SWAP', 'FETCH_ADD', 'SEND_LAST_INV', 'SEND_ONLY_INV')
# Fields that the specification leaves to the sender in some packets.
FREE = {
    # Asked for on the last packet of a message, and besides as often as the sender likes.
    'ack_request': lambda p: p['opcode'] not in LAST,
    # rxe writes 0 whatever the address handle says; ours is the one that the kernel gives a socket. Outside the ICRC.
    'flow': lambda p: True,
}


def differences(ours, theirs):
    """Two lists of packets, one by one: lines of 'packet n, opcode: field is x, not y'."""
    lines = []
    for n, (a, b) in enumerate(zip(ours, theirs)):
        for key in sorted(set(a) | set(b)):
            if a.get(key) != b.get(key) and not (key in FREE and FREE[key](b)):
                lines.append(f'packet {n}, {b["opcode"]}: {key} is {str(a.get(key))[:60]}, not {str(b.get(key))[:60]}')
    if len(ours) != len(theirs):
        lines.append(f'{len(ours)} packets, not {len(theirs)}: ' + ' '.join(p['opcode'] for p in ours))
    return lines


def acknowledgements(responses):
    """Responses without what coalescing hides: all but plain ACKs as they are, and of the ACKs the PSN -> (syndrome, MSN)."""
    rest = [p for p in responses if p['opcode'] != 'ACK']
    acks = {p['psn']: (p['syndrome'], p['msn']) for p in responses if p['opcode'] == 'ACK'}
    plain = [{k: v for k, v in p.items() if k not in ('psn', 'msn', 'syndrome')} for p in responses if p['opcode'] == 'ACK']
    return rest, acks, plain
