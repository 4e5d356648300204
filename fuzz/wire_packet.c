/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as a packet and as a frame. What decodes must lie within the input and must be the same when written and decoded
 * again; the ICRC functions must take it, and agree with each other.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/packet.h"

#define HOLDS(condition) do { if (!(condition)) abort(); } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_packet(const uint8_t *ib, size_t len)
{
	struct wire_packet packet, again;
	uint8_t third[WIRE_PACKET_MAX_HEADERS], *copy;
	size_t headers;

	if (wire_packet_decode(&packet, ib, len) < 0)
		return;
	HOLDS(packet.payload == ib + packet.op->header_bytes);
	HOLDS(packet.op->header_bytes + (size_t)packet.payload_len + packet.bth.pad + WIRE_ICRC_BYTES == len);
	copy = malloc(len + WIRE_PACKET_MAX_HEADERS);
	HOLDS(copy != NULL);
	memcpy(copy, ib, len);
	headers = wire_packet_encode_headers(copy, &packet);
	HOLDS(headers == packet.op->header_bytes);
	HOLDS(wire_packet_decode(&again, copy, len) == 0);
	HOLDS(again.op == packet.op && again.payload_len == packet.payload_len);
	/* The BTH is as it was, but for its reserved bits; the headers in canonical form do not change any more. */
	for (size_t i = 0; i < WIRE_BTH_BYTES; i++)
		HOLDS(((copy[i] ^ ib[i]) & (i == 4 ? 0xc0 : i == 8 ? 0x80 : 0xff)) == 0);
	HOLDS(wire_packet_encode_headers(third, &again) == headers);
	HOLDS(memcmp(third, copy, headers) == 0);
	free(copy);
}

static void try_icrc(const uint8_t *ib, size_t len, uint16_t id)
{
	static const uint8_t src[4] = {192, 0, 2, 1}, dst[4] = {192, 0, 2, 2};
	struct wire_icrc_flow flow;
	uint16_t found = 0;
	enum wire_icrc_result result;
	uint8_t *copy;

	wire_icrc_flow_ipv4(&flow, src, dst, 0xc000, 4791);
	result = wire_icrc_verify(&flow, 0, ib, len, &found);
	if (result == WIRE_ICRC_FOREIGN_ID)
		HOLDS(len >= WIRE_BTH_BYTES + WIRE_ICRC_BYTES);
	if (len < WIRE_BTH_BYTES + WIRE_ICRC_BYTES)
		return;
	copy = malloc(len);
	HOLDS(copy != NULL);
	memcpy(copy, ib, len);
	wire_icrc_store(copy + len - WIRE_ICRC_BYTES, wire_icrc_compute(&flow, id, copy, len - WIRE_ICRC_BYTES));
	HOLDS(wire_icrc_verify(&flow, id, copy, len, NULL) == WIRE_ICRC_GOOD);
	result = wire_icrc_verify(&flow, 0, copy, len, &found);
	HOLDS(id == 0 ? result == WIRE_ICRC_GOOD : result == WIRE_ICRC_FOREIGN_ID && found == id);
	free(copy);
}

static void try_frame(const uint8_t *data, size_t size)
{
	struct wire_frame frame, again;
	uint8_t *buf;
	size_t room = size + WIRE_FRAME_MAX_HEADERS;
	ssize_t len;

	if (wire_frame_decode(&frame, data, size) < 0)
		return;
	HOLDS(frame.ib >= data && frame.ib_len >= WIRE_BTH_BYTES + WIRE_ICRC_BYTES);
	HOLDS((size_t)(frame.ib - data) + frame.ib_len <= size);
	(void)wire_frame_icrc_is_good(&frame);
	try_packet(frame.ib, frame.ib_len);
	buf = malloc(room);
	HOLDS(buf != NULL);
	len = wire_frame_encode(buf, room, &frame, frame.ib, frame.ib_len - WIRE_ICRC_BYTES);
	HOLDS(len > 0);
	HOLDS(wire_frame_decode(&again, buf, (size_t)len) == 0);
	HOLDS(wire_frame_icrc_is_good(&again));
	HOLDS(again.encap == frame.encap && again.ib_len == frame.ib_len);
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_packet(data, size);
	try_frame(data, size);
	if (size >= 2)
		try_icrc(data + 2, size - 2, wire_be16_load(data));
	return 0;
}
