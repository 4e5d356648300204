/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A run: consecutive packets of one message, the unit in which a transport hands packets to a link and takes them back.
 *
 * A single packet is a run of one. For longer runs `head` holds the headers of the first packet, except that bth.ack_req,
 * bth.solicited and imm/inv_rkey are those of the last one (the earlier ones have none), and payload/payload_len cover all of them: every
 * packet but the last carries exactly one path MTU. A link that cuts runs into packets (UDP) and one that ships them whole (shm) thus
 * mean the same thing, and a receiver must treat a run exactly as its packets one by one.
 */
#ifndef TRANSPORT_RUN_H
#define TRANSPORT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/packet.h"

struct transport_run {
	struct wire_packet head;
	uint16_t packets;    /* >= 1 */
	uint8_t last_opcode; /* bth.opcode of the last packet; equals head.bth.opcode when packets is 1 */
	uint32_t mtu;        /* path MTU in bytes; payload of every packet but the last */
};

/*
 * Room that a link offers for one run. The transport writes payload (and, when framed, headers) into buf.
 *
 * framed == true: buf receives IB packets back to back, each [BTH + extended headers][payload][pad][4 bytes left for the ICRC]. All
 *   packets but the last of a framed run have the same size, as UDP_SEGMENT wants: FIRST travels alone, MIDDLEs and a LAST without
 *   further headers together, LAST_WITH_IMM/INV alone.
 * framed == false: buf receives the payload bytes alone, gapless; any consecutive packets of one message may form a run.
 */
struct transport_room {
	uint8_t *buf;
	size_t bytes;     /* of buf */
	uint16_t packets; /* most packets in the run, >= 1 */
	bool framed;
};

#endif
