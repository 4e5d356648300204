/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The codec against traffic of Linux (argv[1]: tests/captures), and against its own tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "cm/ip_header.h"
#include "cm/message.h"
#include "cm/message_table.h"
#include "pcap.h"
#include "wire/frame.h"
#include "wire/packet.h"

static const char *directory;

struct taken { /* the messages of a capture, decoded, in their order */
	struct cm_message message[16];
	uint32_t count;
};

static void take(struct taken *out, const char *name)
{
	struct pcap_file file;
	char path[512];

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "%s/%s.pcap", directory, name);
	assert_int_equal(pcap_file_init(&file, path), 0);
	for (size_t i = 0; i < file.count; i++) {
		struct wire_frame frame;
		struct wire_packet packet;
		uint8_t again[CM_MAD_BYTES];

		assert_int_equal(wire_frame_decode(&frame, file.frames[i].bytes, file.frames[i].len), 0);
		assert_int_equal(wire_packet_decode(&packet, frame.ib, frame.ib_len), 0);
		if (packet.bth.dest_qpn != 1 || packet.payload_len != CM_MAD_BYTES)
			continue;
		assert_in_range(out->count, 0, 15);
		assert_int_equal(cm_message_decode(&out->message[out->count], packet.payload, packet.payload_len), 0);
		/* Nothing is lost: what Linux wrote is what we write. */
		cm_message_encode(again, &out->message[out->count]);
		assert_memory_equal(again, packet.payload, CM_MAD_BYTES);
		out->count++;
	}
	pcap_file_fini(&file);
}

static void kinds_are(const struct taken *t, uint32_t count, const uint32_t *kinds)
{
	assert_int_equal(t->count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(t->message[i].kind, kinds[i]);
}

static void rping(void **state)
{
	struct cm_ip_header header;
	struct taken t;
	const struct cm_req *req = &t.message[0].req;
	const struct cm_rep *rep = &t.message[1].rep;

	take(&t, "rping");
	kinds_are(&t, 5, (const uint32_t[]){ CM_REQ, CM_REP, CM_RTU, CM_DREQ, CM_DREP });
	assert_int_equal(req->local_id, 0x1ff0e122);
	assert_int_equal(req->service_id, cm_service_id(0x106, 7174));
	assert_int_equal(req->qpn, 0x28);
	assert_int_equal(req->starting_psn, 0xb92105);
	assert_int_equal(req->remote_timeout, 20);
	assert_int_equal(req->local_timeout, 20);
	assert_int_equal(req->retry_count, 7);
	assert_int_equal(req->rnr_retry_count, 7);
	assert_int_equal(req->mtu, 3);
	assert_int_equal(req->max_cm_retries, 15);
	assert_int_equal(req->primary.flow_label, 0x5d8e3);
	assert_int_equal(req->primary.ack_timeout, 19);
	assert_int_equal(req->primary.hop_limit, 64);
	assert_int_equal(req->primary.local_lid, 0xffff);
	assert_int_equal(cm_ip_header_decode(&header, req->private_data, sizeof(req->private_data)), CM_IP_HEADER_BYTES);
	assert_int_equal(header.source.port, 0xb383);
	assert_memory_equal(header.source.ip.bytes, "\x0a\x4d\x00\x03", 4);
	assert_memory_equal(header.destination.bytes, "\x0a\x4d\x00\x02", 4);
	assert_int_equal(rep->qpn, 0x2e);
	assert_int_equal(rep->target_ack_delay, 15);
	assert_int_equal(rep->rnr_retry_count, 7);
	assert_int_equal(rep->remote_id, req->local_id);
	assert_int_equal(t.message[3].dreq.remote_qpn, 0x2e);
	assert_int_equal(cm_message_ece(&t.message[0]).vendor, 0);
}

static void ece(void **state)
{
	struct taken t;

	take(&t, "cm-ece");
	assert_int_equal(cm_message_ece(&t.message[0]).vendor, 0x02c903);
	assert_int_equal(cm_message_ece(&t.message[0]).options, 0x01020304);
	assert_int_equal(cm_message_ece(&t.message[1]).vendor, 0x02c903);
	assert_int_equal(cm_message_ece(&t.message[1]).options, 0x01000004);
	assert_int_equal(t.message[1].rep.qpn, 0xdcba);
	assert_string_equal((const char *)t.message[1].rep.private_data, "private data of the reply");
}

static void rejects(void **state)
{
	struct taken t;

	take(&t, "cm-reject");
	kinds_are(&t, 4, (const uint32_t[]){ CM_REQ, CM_REJ, CM_REQ, CM_REJ });
	assert_int_equal(t.message[1].rej.reason, 28);
	assert_int_equal(t.message[1].rej.about, CM_ABOUT_REQ);
	assert_string_equal((const char *)t.message[1].rej.private_data, "private data of the refusal");
	assert_int_equal(t.message[3].rej.reason, 8);
	assert_int_equal(t.message[3].rej.local_id, 0);
	assert_int_equal(t.message[3].rej.remote_id, t.message[2].req.local_id);
}

static void sidr_and_others(void **state)
{
	struct taken t;

	take(&t, "udaddy");
	kinds_are(&t, 2, (const uint32_t[]){ CM_SIDR_REQ, CM_SIDR_REP });
	assert_int_equal(t.message[1].sidr_rep.qpn, 0x32);
	assert_int_equal(t.message[1].sidr_rep.qkey, 0x01234567);
	take(&t, "ucmatose");
	assert_int_equal(t.count, 10);
	take(&t, "rping-ipv6");
	assert_int_equal(t.count, 5);
	take(&t, "mckey");
	assert_int_equal(t.count, 0);
}

/* In a service's answer the vendor has three bytes of its own; Linux writes bits 15 to 8 into the first two, and loses the rest. */
static void ece_of_datagrams(void **state)
{
	struct cm_message m = { .kind = CM_SIDR_REP, .modifier = 5, .sidr_rep = { .ece_vendor = 0x025356 } }, out;
	uint8_t mad[CM_MAD_BYTES] = { 0 }, *body = mad + CM_MAD_HEADER_BYTES;

	cm_message_encode(mad, &m);
	assert_memory_equal(body + 6, "\x02\x53", 2);
	assert_int_equal(body[11], 0x56);
	assert_memory_equal(mad + 20, "\0\0\0\5", 4);
	assert_int_equal(cm_message_decode(&out, mad, sizeof(mad)), 0);
	assert_int_equal(cm_message_ece(&out).vendor, 0x025356);
	assert_int_equal(cm_message_ece(&out).options, 5);
	memcpy(body + 6, "\x00\x53", 2);
	assert_int_equal(cm_message_decode(&out, mad, sizeof(mad)), 0);
	assert_int_equal(cm_message_ece(&out).vendor, 0x005356);
	/* Without a vendor the modifier says nothing, here and in a request that has none. */
	memset(body + 6, 0, 2);
	body[11] = 0;
	assert_int_equal(cm_message_decode(&out, mad, sizeof(mad)), 0);
	assert_int_equal(cm_message_ece(&out).options, 0);
	m = (struct cm_message){ .kind = CM_REQ, .modifier = 7 };
	cm_message_encode(mad, &m);
	assert_int_equal(cm_message_decode(&out, mad, sizeof(mad)), 0);
	assert_int_equal(cm_message_ece(&out).options, 0);
	/* A client's question may have anything where a vendor could be. */
	m = (struct cm_message){ .kind = CM_SIDR_REQ };
	cm_message_encode(mad, &m);
	memset(body + 6, 0xff, 2);
	memset(mad + 20, 0xff, 4);
	assert_int_equal(cm_message_decode(&out, mad, sizeof(mad)), 0);
	assert_int_equal(cm_message_ece(&out).vendor, 0);
}

/* Two fields never share a bit, and none goes beyond its message; with the private data, each ends at the last byte. */
static void tables_do_not_overlap(void **state)
{
	for (uint32_t k = 0; k < CM_MESSAGE_KINDS; k++) {
		uint8_t seen[(CM_MAD_BYTES - CM_MAD_HEADER_BYTES) * 8] = { 0 };
		const struct cm_message_row *row = &cm_message_rows[k];
		const struct cm_field *last = &row->fields[row->count - 1];

		for (size_t i = 0; i < row->count; i++) {
			const struct cm_field *f = &row->fields[i];

			assert_in_range(f->bit + f->width, 1, sizeof(seen));
			for (uint32_t b = f->bit; b < f->bit + f->width; b++)
				assert_int_equal(seen[b]++, 0);
		}
		assert_int_equal(last->width, 8 * row->private_room);
		assert_int_equal(last->bit + last->width, sizeof(seen));
	}
}

static void refuses_what_is_none(void **state)
{
	static const struct { uint8_t at, value; } wrong[] = { { 0, 2 }, { 1, 3 }, { 2, 1 }, { 3, 1 }, { 16, 1 }, { 17, 0x0f }, { 17, 0x1b } };
	struct cm_message m = { .kind = CM_RTU }, out;
	uint8_t mad[CM_MAD_BYTES + 1] = { 0 }, bad[CM_MAD_BYTES];

	cm_message_encode(mad, &m);
	assert_int_equal(cm_message_decode(&out, mad, CM_MAD_BYTES), 0);
	for (size_t len = 0; len < CM_MAD_BYTES; len++)
		assert_int_equal(cm_message_decode(&out, mad, len), BASE_ERR_TRUNCATED);
	assert_int_equal(cm_message_decode(&out, mad, CM_MAD_BYTES + 1), BASE_ERR_MALFORMED);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(bad, mad, sizeof(bad));
		bad[wrong[i].at] = wrong[i].value;
		assert_int_equal(cm_message_decode(&out, bad, sizeof(bad)), BASE_ERR_UNSUPPORTED);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rping),
		cmocka_unit_test(ece),
		cmocka_unit_test(ece_of_datagrams),
		cmocka_unit_test(rejects),
		cmocka_unit_test(sidr_and_others),
		cmocka_unit_test(tables_do_not_overlap),
		cmocka_unit_test(refuses_what_is_none),
	};

	if (argc != 2)
		return 2;
	directory = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
