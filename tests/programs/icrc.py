# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A second implementation of the ICRC of RoCEv2, from the definition, for the captures: shares nothing with src/wire."""
import struct
import zlib


def icrc(ip):
    """ip: from the IP header to the last byte before the ICRC. The four bytes as on the wire."""
    covered = bytearray(ip)
    if ip[0] >> 4 == 4:
        header = 20
        ones = [1, 8, 10, 11]  # TOS, TTL, header checksum
    else:
        header = 40
        ones = [1, 2, 3, 7]  # traffic class, flow label, hop limit
        covered[0] |= 0x0f
    ones += [header + 6, header + 7, header + 8 + 4]  # UDP checksum; FECN, BECN and reserved bits of the BTH
    for at in ones:
        covered[at] = 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(covered)))


def roce_packet(frame):
    """The IP packet of an Ethernet frame that carries RoCEv2, cut to the length in its header; None for other frames."""
    ethertype = frame[12:14]
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
assert is_right(roce_packet(GOLDEN)) and not is_right(roce_packet(GOLDEN)[:-5] + b'\1' + GOLDEN[-4:])
