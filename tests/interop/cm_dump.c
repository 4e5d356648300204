/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 *   cm_dump PCAP
 *
 * Each message of connection management in a capture as our codec reads it: a line of JSON with the frame's number (from 1), the
 * kind, the header's values and every field by its name in struct cm_*; byte strings in hex. Exit status 1 for a message that
 * does not decode.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cm/message.h"
#include "cm/message_table.h"
#include "pcap.h"
#include "wire/frame.h"
#include "wire/packet.h"

enum { GSI = 1, CLASS_AT = 1, CLASS_CM = 7 };

static uint64_t number(const struct cm_field *field, const uint8_t *member)
{
	uint64_t eight;
	uint32_t four;
	uint16_t two;

	switch (field->size) {
	case 1:
		return *member;
	case 2:
		memcpy(&two, member, 2);
		return two;
	case 4:
		memcpy(&four, member, 4);
		return four;
	default:
		memcpy(&eight, member, 8);
		return eight;
	}
}

static void print(size_t frame, const struct cm_message *message)
{
	const struct cm_message_row *row = &cm_message_rows[message->kind - CM_REQ];
	const uint8_t *content = (const uint8_t *)&message->req; /* the union's members begin at one place */

	printf("{\"frame\": %zu, \"kind\": \"%s\", \"tid\": %" PRIu64 ", \"attribute\": %u, \"modifier\": %u", frame, row->name,
	       message->tid, (unsigned)message->kind, message->modifier);
	for (size_t i = 0; i < row->count; i++) {
		const struct cm_field *field = &row->fields[i];

		printf(", \"%s\": ", field->name);
		if (field->size) {
			printf("%" PRIu64, number(field, content + field->offset));
			continue;
		}
		putchar('"');
		for (unsigned b = 0; b < field->width / 8u; b++)
			printf("%02x", content[field->offset + b]);
		putchar('"');
	}
	puts("}");
}

int main(int argc, char **argv)
{
	struct pcap_file file;
	int bad = 0;

	if (argc != 2 || pcap_file_init(&file, argv[1]) != 0) {
		fprintf(stderr, "usage: cm_dump PCAP\n");
		return 2;
	}
	for (size_t i = 0; i < file.count; i++) {
		struct wire_frame frame;
		struct wire_packet packet;
		struct cm_message message;

		if (wire_frame_decode(&frame, file.frames[i].bytes, file.frames[i].len) != 0 ||
		    wire_packet_decode(&packet, frame.ib, frame.ib_len) != 0 || packet.bth.dest_qpn != GSI ||
		    packet.payload_len <= CLASS_AT || ((const uint8_t *)packet.payload)[CLASS_AT] != CLASS_CM)
			continue;
		if (cm_message_decode(&message, packet.payload, packet.payload_len) == 0) {
			print(i + 1, &message);
		} else {
			fprintf(stderr, "frame %zu is no message\n", i + 1);
			bad = 1;
		}
	}
	pcap_file_fini(&file);
	return bad;
}
