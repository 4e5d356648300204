/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For the tests of links that leave the process: lo of a namespace of their own, and an endless message that is framed, sent and
 * looked at.
 */
#ifndef LINK_TEST_WIRE_H
#define LINK_TEST_WIRE_H

#include <linux/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "link/test_pair.h"
#include "wire/packet.h"
#include "wire/psn.h"

static inline bool lo_set(int mtu)
{
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	request.ifr_flags = IFF_UP;
	ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
	request.ifr_mtu = mtu;
	ok = ok && ioctl(fd, SIOCSIFMTU, &request) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Byte `offset` of the test's endless message. */
static inline uint8_t pattern(uint32_t offset)
{
	return (uint8_t)(offset * 2654435761u >> 24);
}

/* Frames `packets` MIDDLEs of a SEND, or a lone ONLY, as the transport would. Returns what reserve returned. */
static inline int send_run(struct test_end *end, const struct link_path *path, uint32_t *psn, uint32_t *offset, unsigned packets,
		uint32_t len)
{
	struct transport_room room;
	struct transport_run run = {.packets = (uint16_t)packets, .mtu = 1024};
	uint32_t left = len, size;
	uint8_t *at;
	int err = link_reserve(end->link, path, &room);

	if (err != 0)
		return err;
	assert_true(room.framed && room.packets >= packets);
	at = room.buf;
	for (unsigned i = 0; i < packets; i++) {
		struct wire_packet p = {.bth = {.pkey = 0xffff, .dest_qpn = path->dest_qpn, .psn = *psn}};

		size = packets == 1 ? len : left < 1024 ? left : 1024;
		p.bth.opcode = packets == 1 ? WIRE_RC_SEND_ONLY : i == packets - 1 ? WIRE_RC_SEND_LAST : WIRE_RC_SEND_MIDDLE;
		p.bth.pad = wire_packet_pad(size);
		if (i == 0)
			run.head = p;
		at += wire_packet_encode_headers(at, &p);
		for (uint32_t k = 0; k < size; k++)
			*at++ = pattern((*offset)++);
		memset(at, 0, p.bth.pad);
		at += p.bth.pad + WIRE_ICRC_BYTES;
		*psn = wire_psn_add(*psn, 1);
		left -= size;
		run.last_opcode = p.bth.opcode;
	}
	assert_true((size_t)(at - room.buf) <= room.bytes);
	run.head.payload = room.buf + WIRE_BTH_BYTES;
	run.head.payload_len = len;
	run.head.op = wire_opcode_find(run.head.bth.opcode);
	link_commit(end->link, path, &run, (size_t)(at - room.buf));
	return 0;
}

struct seen {
	uint32_t next_psn, offset;
	uint64_t count, disorder, corrupt;
	struct link_rx last;
};

static inline void see(void *context, const struct link_rx *rx)
{
	struct seen *seen = context;

	seen->disorder += rx->run.head.bth.psn != seen->next_psn;
	seen->next_psn = wire_psn_add(rx->run.head.bth.psn, 1);
	for (uint32_t i = 0; i < rx->run.head.payload_len; i++)
		seen->corrupt += rx->run.head.payload[i] != pattern(seen->offset++);
	seen->count++;
	seen->last = *rx;
}

#endif
