/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Golden test: every frame of tests/captures is decoded, checked, written again, and counted by kind; the counts are those of
 * counts.txt, which another decoder made. argv[1] is the directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pcap.h"
#include "wire/frame.h"
#include "wire/icrc_reference.h"
#include "wire/packet.h"

#define KINDS_MAX 64
#define FILES 21

static const char *directory;

struct kinds {
	struct {
		char name[48];
		unsigned expected, seen;
	} row[KINDS_MAX];
	size_t count;
};

static size_t kind(struct kinds *kinds, const char *name)
{
	size_t i;

	for (i = 0; i < kinds->count; i++)
		if (strcmp(kinds->row[i].name, name) == 0)
			return i;
	assert_in_range(kinds->count, 0, KINDS_MAX - 1);
	snprintf(kinds->row[i].name, sizeof(kinds->row[i].name), "%s", name);
	return kinds->count++;
}

/* The name by which counts.txt knows a packet. */
static const char *name_of(const struct wire_packet *p, char room[16])
{
	static const char *const cm[] = {"CM_REQ", "CM_MRA", "CM_REJ", "CM_REP", "CM_RTU", "CM_DREQ", "CM_DREP", "CM_SIDR_REQ",
					 "CM_SIDR_REP"};

	if (p->bth.opcode == WIRE_RC_ACKNOWLEDGE && wire_syndrome_is_rnr(p->aeth.syndrome))
		return "RC_RNR_NAK";
	if (p->bth.opcode == WIRE_RC_ACKNOWLEDGE && wire_syndrome_is_nak(p->aeth.syndrome)) {
		snprintf(room, 16, "RC_NAK_%d", wire_syndrome_value(p->aeth.syndrome));
		return room;
	}
	if (p->bth.dest_qpn == WIRE_QPN_GSI && p->op->transport == WIRE_TRANSPORT_UD && p->payload_len == 256) {
		unsigned attribute = wire_be16_load(p->payload + 16) - 0x10u;

		assert_in_range(attribute, 0, sizeof(cm) / sizeof(cm[0]) - 1);
		assert_int_equal(p->deth.qkey, WIRE_QKEY_GSI);
		return cm[attribute];
	}
	return p->op->name;
}

static void check_icrc(const struct wire_frame *frame)
{
	struct wire_gid sgid = wire_frame_sgid(frame), dgid = wire_frame_dgid(frame);
	bool ipv4 = frame->encap == WIRE_ENCAP_V2_IPV4;
	uint16_t id = ipv4 ? frame->ipv4.id : 0, found = 0;
	struct wire_icrc_flow flow;
	enum wire_icrc_result result;

	assert_true(wire_frame_icrc_is_good(frame));
	wire_icrc_flow_gids(&flow, &sgid, &dgid, frame->udp.src_port, frame->udp.dst_port);
	assert_int_equal(wire_icrc_verify(&flow, id, frame->ib, frame->ib_len, NULL), WIRE_ICRC_GOOD);
	/* As a UDP socket would have to do it. */
	result = wire_icrc_verify(&flow, 0, frame->ib, frame->ib_len, &found);
	assert_int_equal(result, id == 0 ? WIRE_ICRC_GOOD : WIRE_ICRC_FOREIGN_ID);
	assert_int_equal(found, id);
}

static void check_frame(const struct pcap_frame *captured, struct kinds *kinds)
{
	uint8_t headers[WIRE_PACKET_MAX_HEADERS], again[WIRE_FRAME_MAX_HEADERS + WIRE_PACKET_MAX], reference[4];
	struct wire_frame frame;
	struct wire_packet packet;
	char room[16];
	size_t at;

	assert_int_equal(captured->len, captured->original_len);
	assert_int_equal(wire_frame_decode(&frame, captured->bytes, captured->len), 0);
	assert_true(icrc_reference(captured->bytes, captured->len, reference, &at));
	assert_ptr_equal(captured->bytes + at + 4, frame.ib + frame.ib_len);
	assert_memory_equal(reference, captured->bytes + at, 4);
	check_icrc(&frame);

	assert_int_equal(wire_packet_decode(&packet, frame.ib, frame.ib_len), 0);
	assert_true(wire_opcode_payload_fits(packet.op, packet.payload_len, packet.op->payload == WIRE_PAYLOAD_FULL ?
					     packet.payload_len : 4096));
	assert_int_equal(packet.bth.pad, wire_packet_pad(packet.payload_len));
	assert_int_equal(wire_packet_encode_headers(headers, &packet), packet.op->header_bytes);
	assert_memory_equal(headers, frame.ib, packet.op->header_bytes);
	assert_int_equal(wire_frame_encode(again, sizeof(again), &frame, frame.ib, frame.ib_len - WIRE_ICRC_BYTES),
			 frame.ib + frame.ib_len - captured->bytes);
	assert_memory_equal(again, captured->bytes, (size_t)(frame.ib + frame.ib_len - captured->bytes));

	kinds->row[kind(kinds, "all")].seen++;
	kinds->row[kind(kinds, name_of(&packet, room))].seen++;
}

static void check_file(const char *name, struct kinds *kinds)
{
	struct pcap_file file;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(pcap_file_init(&file, path), 0);
	for (size_t i = 0; i < file.count; i++)
		check_frame(&file.frames[i], kinds);
	pcap_file_fini(&file);
	for (size_t i = 0; i < kinds->count; i++) {
		if (kinds->row[i].seen != kinds->row[i].expected)
			fail_msg("%s: %s: %u seen, %u expected", name, kinds->row[i].name, kinds->row[i].seen, kinds->row[i].expected);
	}
}

static void every_capture_is_understood(void **state)
{
	char path[4096], file[64], name[48], current[64] = "";
	struct kinds kinds = {0};
	unsigned expected, files = 0;
	FILE *counts;

	snprintf(path, sizeof(path), "%s/counts.txt", directory);
	counts = fopen(path, "r");
	assert_non_null(counts);
	while (fscanf(counts, "%63s %47s %u", file, name, &expected) == 3) {
		if (strcmp(file, current) != 0) {
			if (files++ > 0)
				check_file(current, &kinds);
			memset(&kinds, 0, sizeof(kinds));
			snprintf(current, sizeof(current), "%s", file);
		}
		kinds.row[kind(&kinds, name)].expected = expected;
	}
	assert_true(feof(counts));
	fclose(counts);
	check_file(current, &kinds);
	assert_int_equal(files, FILES);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_capture_is_understood),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s CAPTURES\n", argv[0]);
		return 2;
	}
	directory = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
