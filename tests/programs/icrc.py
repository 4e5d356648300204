# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A second implementation of the ICRC of RoCEv1 and v2, from the definition, for the captures: shares nothing with src/wire."""
import struct
import zlib


def icrc(ip):
    """ip: from the IP header or GRH to the last byte before the ICRC. The four bytes as on the wire."""
    covered = bytearray(ip)
    if ip[0] >> 4 == 4:
        header = 20
        ones = [1, 8, 10, 11]  # TOS, TTL, header checksum
    else:
        header = 40
        ones = [1, 2, 3, 7]  # traffic class, flow label, hop limit
        covered[0] |= 0x0f
    if ip[0] >> 4 == 6 and ip[6] == 0x1b:
        bth = header
    else:
        ones += [header + 6, header + 7]  # UDP checksum
        bth = header + 8
    ones.append(bth + 4)  # FECN, BECN and reserved bits
    for at in ones:
        covered[at] = 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(covered)))


def roce_packet(frame):
    """The packet of an Ethernet frame that carries RoCE, from its IP header or GRH, cut to the length in there; None for others."""
    ethertype = frame[12:14]
    if ethertype == b'\x89\x15':
        grh = frame[14:54 + struct.unpack('>H', frame[18:20])[0]]
        return grh if len(grh) >= 40 + 16 and grh[6] == 0x1b else None
    if ethertype == b'\x08\x00' and frame[14] == 0x45 and frame[23] == 17:
        ip, udp = frame[14:14 + struct.unpack('>H', frame[16:18])[0]], 20
    elif ethertype == b'\x86\xdd' and frame[20] == 17:
        ip, udp = frame[14:54 + struct.unpack('>H', frame[18:20])[0]], 40
    else:
        return None
    return ip if len(ip) >= udp + 24 and ip[udp + 2:udp + 4] == struct.pack('>H', 4791) else None


def is_right(ip):
    return icrc(ip[:-4]) == ip[-4:]


# A frame made by hand from the tables of the specification (IPv4, RC SEND_ONLY, five bytes of payload): the test of the tester.
GOLDEN = bytes.fromhex('020000000002020000000001080045000034000040004011b6b5c0000201c0000202c00012b70020000004b0ffff00000011'
                       '8001020368656c6c6f000000ecaf53b0')
# RoCEv1, RC WRITE_ONLY of five bytes.
GOLDEN_V1 = bytes.fromhex('02000000000202000000000189156000000000241b01fe80000000000000000000fffe000001fe80000000000000000000fffe'
                          '0000020a00ffff0000003180fffffe00007f0012345678000012340000000401020304250a565d')
assert is_right(roce_packet(GOLDEN_V1)) and not is_right(roce_packet(GOLDEN_V1)[:-5] + b'\1' + GOLDEN_V1[-4:])
assert is_right(roce_packet(GOLDEN)) and not is_right(roce_packet(GOLDEN)[:-5] + b'\1' + GOLDEN[-4:])
