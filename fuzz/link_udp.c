/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Cutting and checking of received datagrams. The first bytes of the input say the size of the pieces (as UDP_GRO
 * would), the address family, which budget to cut with, and whether the ICRCs shall be made right, so that what lies
 * behind the check is reached, too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "link/udp.h"

static uint64_t delivered;
static volatile uint8_t sum; /* so that the bytes are really read */

static void take(void *context, const struct link_rx *rx)
{

	if (rx->run.packets != 1 || rx->run.head.op == NULL || rx->run.head.payload == NULL)
		abort();
	for (uint32_t i = 0; i < rx->run.head.payload_len; i++)
		sum = sum ^ rx->run.head.payload[i];
	delivered++;
}

static void make_icrcs(struct link_udp_datagram *d, uint8_t *buf)
{
	uint16_t id = 0;

	for (uint32_t at = 0, len; at < d->bytes; at += len) {
		len = d->bytes - at < d->segment ? d->bytes - at : d->segment;
		if (len >= WIRE_BTH_BYTES + WIRE_ICRC_BYTES)
			wire_icrc_store(buf + at + len - 4, wire_icrc_compute(&d->flow, id, buf + at, len - 4));
		id++;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct link_counters counters;
	struct link_udp udp = {.counters = &counters, .socket = -1, .slot = 0};
	struct link_udp_datagram d = {.sgid = {{[15] = 1}}, .dgid = {{[15] = 1}}};
	unsigned budget, n;
	uint64_t before = delivered;
	uint8_t *buf;

	if (size < 4 || size - 4 > LINK_UDP_DATAGRAM_BYTES)
		return 0;
	d.segment = data[0] | (uint32_t)data[1] << 8;
	d.bytes = (uint32_t)(size - 4);
	budget = 1u + data[2];
	if (d.segment == 0)
		d.segment = d.bytes;
	if (data[3] & 1) {
		d.sgid = d.dgid = wire_gid_from_ipv4((const uint8_t[4]){127, 0, 0, 1});
	}
	wire_icrc_flow_gids(&d.flow, &d.sgid, &d.dgid, 0xc000, WIRE_UDP_PORT_ROCE);
	/* Exactly as large as it is: the sanitizer sees a byte too far. */
	buf = malloc(d.bytes > 0 ? d.bytes : 1);
	if (buf == NULL)
		return 0;
	memcpy(buf, data + 4, d.bytes);
	if (data[3] & 2)
		make_icrcs(&d, buf);
	n = 0;
	while (d.at < d.bytes) {
		unsigned got = link_udp_cut(&udp, &d, buf, budget, take, NULL);

		if (got > budget)
			abort();
		n += got;
	}
	if (delivered - before != n)
		abort();
	free(buf);
	return 0;
}
