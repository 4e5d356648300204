/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What QP 1 takes and what it drops, of both encapsulations. */
#include "broker/gsi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "wire/bth.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#define IFINDEX 4u
#define BYTES (WIRE_BTH_BYTES + WIRE_DETH_BYTES + CM_MAD_BYTES + WIRE_ICRC_BYTES)

static const struct wire_gid ours = {{[10] = 0xff, 0xff, 10, 0, 0, 1}}, theirs = {{[10] = 0xff, 0xff, 10, 0, 0, 2}};
static struct netdev_table table;

enum harm { NONE, ICRC, QPN, QKEY, LENGTH, OTHER_GID, OTHER_INTERFACE, HARMS };
enum expected { TAKEN, FORM, BAD_ICRC, ADDRESS };

static const struct {
	const char *goal;
	enum expected v1, v2;
} rows[HARMS] = {
	[NONE] = {"sound", TAKEN, TAKEN},
	[ICRC] = {"a wrong ICRC", BAD_ICRC, BAD_ICRC},
	[QPN] = {"another QP", FORM, FORM},
	[QKEY] = {"another Q_Key", FORM, FORM},
	[LENGTH] = {"no MAD", FORM, FORM},
	[OTHER_GID] = {"an address that nobody has", ADDRESS, ADDRESS},
	/* The kernel gave the datagram to this host; a frame it only showed. */
	[OTHER_INTERFACE] = {"by another interface", ADDRESS, TAKEN},
};

static void packet_make(struct broker_gsi_packet *packet, uint8_t ib[BYTES], enum wire_gid_type type, enum harm harm)
{
	const struct wire_packet head = {
		.bth = {.opcode = WIRE_UD_SEND_ONLY, .pkey = WIRE_PKEY_DEFAULT, .dest_qpn = harm == QPN ? 2 : WIRE_QPN_GSI},
		.deth = {.qkey = harm == QKEY ? 7 : WIRE_QKEY_GSI, .src_qpn = WIRE_QPN_GSI},
	};
	struct wire_icrc_flow flow;

	*packet = (struct broker_gsi_packet){.gid_type = type, .source = theirs, .destination = ours, .source_port = 0xc123,
		.source_mac = {2, 0, 0, 0, 0, 9}, .ifindex = harm == OTHER_INTERFACE ? 9 : IFINDEX, .ib = ib,
		.len = harm == LENGTH ? BYTES - 8 : BYTES};
	packet->destination.raw[15] ^= harm == OTHER_GID;
	memset(ib, 0x5a, BYTES);
	wire_packet_encode_headers(ib, &head);
	if (type == WIRE_GID_ROCE_V1)
		wire_icrc_flow_grh(&flow, &packet->source, &packet->destination);
	else
		wire_icrc_flow_gids(&flow, &packet->source, &packet->destination, packet->source_port, WIRE_UDP_PORT_ROCE);
	wire_icrc_store(ib + packet->len - 4, wire_icrc_compute(&flow, 0, ib, packet->len - 4) ^ (harm == ICRC));
}

static void packets_are_judged(void **state)
{
	for (int v2 = 0; v2 < 2; v2++) {
		for (int harm = 0; harm < HARMS; harm++) {
			const enum wire_gid_type type = v2 ? WIRE_GID_ROCE_V2 : WIRE_GID_ROCE_V1;
			const enum expected expected = v2 ? rows[harm].v2 : rows[harm].v1;
			struct broker_gsi gsi = {.socket = -1, .raw = -1};
			struct broker_gsi_packet packet;
			struct cm_path from;
			const uint8_t *mad;
			uint8_t ib[BYTES];
			size_t len;

			packet_make(&packet, ib, type, (enum harm)harm);
			bool taken = broker_gsi_receive(&gsi, &table, &packet, &from, &mad, &len);
			if (taken != (expected == TAKEN) || gsi.dropped_form != (expected == FORM) ||
			    gsi.dropped_icrc != (expected == BAD_ICRC) || gsi.dropped_address != (expected == ADDRESS))
				fail_msg("v%d, %s", v2 + 1, rows[harm].goal);
			if (!taken)
				continue;
			assert_true(from.gid_type == type && wire_gid_equal(&from.dgid, &theirs) && len == CM_MAD_BYTES);
			assert_memory_equal(from.mac, packet.source_mac, sizeof(from.mac));
		}
	}
}

/* Without a socket of its encapsulation a message is lost and counted. */
static void nothing_to_send_by(void **state)
{
	struct broker_gsi gsi = {.socket = -1, .raw = -1};
	struct cm_send out = {.path = {.sgid = ours, .dgid = theirs, .gsi_qpn = 1}};

	for (int v2 = 0; v2 < 2; v2++) {
		out.path.gid_type = v2 ? WIRE_GID_ROCE_V2 : WIRE_GID_ROCE_V1;
		broker_gsi_send(&gsi, &table, &out);
	}
	assert_true(gsi.sent == 2 && gsi.send_errors == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(packets_are_judged), cmocka_unit_test(nothing_to_send_by)};
	struct netdev_device *device = &table.devices[0];

	table.count = 1;
	*device = (struct netdev_device){.name = "sv_eth0", .ifname = "eth0", .ifindex = IFINDEX, .mtu = 1500, .up = true};
	device->gids[0] = (struct netdev_gid){ours, WIRE_GID_ROCE_V1, IFINDEX, true};
	device->gids[1] = (struct netdev_gid){ours, WIRE_GID_ROCE_V2, IFINDEX, true};
	return cmocka_run_group_tests_name("gsi", tests, NULL, NULL);
}
