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

/* Do head, last_opcode, packets and payload_len of a run describe packets of one message? One alone always does. */
bool transport_run_is_coherent(const struct transport_run *run, uint32_t mtu);
/* Packets [skip, skip + count) of a coherent run, as a run; its payload is that of the original. */
struct transport_run transport_run_slice(const struct transport_run *run, uint32_t skip, uint32_t count);

/*
 * How many packets from `index` of `total` on, at most `limit`, form one run that fits the room; `left` payload bytes remain.
 * The headers are what each, FIRST and LAST carry beyond the BTH. 0: not even one fits.
 */
uint32_t transport_run_fit(uint32_t index, uint32_t total, uint64_t left, uint32_t mtu, uint32_t limit, size_t each_header,
			   size_t first_header, size_t last_header, const struct transport_room *room);

/* Where the payload of a run comes from: bytes [offset, offset + len) to dst, len > 0. 0 or a code of memory.h. */
struct transport_source {
	int (*fetch)(void *of, uint64_t offset, uint8_t *dst, uint32_t len);
	void *of;
};
/*
 * Writes a run that fits into the room. Of *run, everything is set but head.op, head.payload and the pad, which are filled in
 * here; payload_len bytes come from `offset` of the source (NULL when there are none). 0 and *used, or the error of the fetch.
 */
int transport_run_write(struct transport_run *run, const struct transport_source *source, uint64_t offset,
			const struct transport_room *room, size_t *used);

/* roce-wire 18: the same partition, and one of the two a full member. */
static inline bool transport_pkey_matches(uint16_t a, uint16_t b)
{
	return ((a ^ b) & 0x7fff) == 0 && (a & 0x7fff) != 0 && ((a | b) & 0x8000) != 0;
}

#endif
