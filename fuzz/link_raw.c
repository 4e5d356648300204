/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Judging of received Ethernet frames. The first byte of the input says how the frame came and whether its ICRC shall be made
 * right, so that what lies behind the check is reached, too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "link/raw.h"
#include "wire/frame.h"

static uint64_t delivered;
static volatile uint8_t sum; /* so that the bytes are really read */

static bool owns(void *context, const struct wire_gid *gid, uint32_t ifindex)
{
	return gid->raw[15] != 9 && ifindex != 9;
}

static void take(void *context, const struct link_rx *rx)
{
	bool group = wire_gid_is_multicast(&rx->dgid);

	if (rx->run.packets != 1 || rx->run.head.op == NULL || rx->run.head.payload == NULL || rx->kind != LINK_RAW)
		abort();
	if (!group && !owns(NULL, &rx->dgid, rx->ifindex))
		abort();
	if (rx->run.head.bth.dest_qpn >> 16 != 5 && rx->run.head.bth.dest_qpn != WIRE_QPN_MULTICAST)
		abort();
	for (uint32_t i = 0; i < rx->run.head.payload_len; i++)
		sum = sum ^ rx->run.head.payload[i];
	delivered++;
}

static void make_icrc(uint8_t *bytes, size_t len)
{
	struct wire_frame frame;

	if (wire_frame_decode(&frame, bytes, len) != 0)
		return;
	wire_icrc_store(bytes + (frame.ib - bytes) + frame.ib_len - WIRE_ICRC_BYTES,
			wire_icrc_over_l3(frame.encap, frame.l3, frame.ib, frame.ib_len - WIRE_ICRC_BYTES));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct link_counters counters;
	struct link_raw raw = {.counters = &counters, .socket = -1, .slot = 5, .owns = owns};
	struct link_raw_arrival arrival;
	uint64_t before = delivered, drops = 0, after = 0;
	uint8_t *bytes;
	bool taken;

	if (size < 1 || size > LINK_RAW_FRAME_BYTES)
		return 0;
	arrival.packet_type = data[0] & 7;
	arrival.ifindex = data[0] >> 4; /* 1 is lo */
	size--;
	/* Exactly as large as it is: the sanitizer sees a byte too far. */
	bytes = malloc(size > 0 ? size : 1);
	if (bytes == NULL)
		return 0;
	memcpy(bytes, data + 1, size);
	if (data[0] & 8)
		make_icrc(bytes, size);
	for (int i = 0; i < LINK_DROPS; i++)
		drops += counters.drops[i];
	taken = link_raw_take(&raw, &arrival, bytes, (uint32_t)size, take, NULL);
	for (int i = 0; i < LINK_DROPS; i++)
		after += counters.drops[i];
	/* Every frame is given on or counted, never both. */
	if (delivered - before != taken || after - drops != !taken)
		abort();
	free(bytes);
	return 0;
}
