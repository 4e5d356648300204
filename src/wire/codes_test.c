/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The small arithmetic: PSNs, syndromes, timers, MTUs, source ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/aeth.h"
#include "wire/flow.h"
#include "wire/mtu.h"
#include "wire/psn.h"
#include "wire/speed.h"
#include "wire/timer.h"

static void psn_goes_round(void **state)
{
	static const struct {
		uint32_t a, b;
		int32_t diff;
	} rows[] = {
		{5, 5, 0}, {6, 5, 1}, {5, 6, -1}, {0, 0xffffff, 1}, {0xffffff, 0, -1}, {0x7fffff, 0, 0x7fffff},
		{0x800000, 0, -0x800000}, {0, 0x800000, -0x800000}, {0, 0x800001, 0x7fffff}, {0x1000003, 1, 2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(wire_psn_diff(rows[i].a, rows[i].b), rows[i].diff);
		assert_int_equal(wire_psn_before(rows[i].a, rows[i].b), rows[i].diff < 0);
		assert_int_equal(wire_psn_add(rows[i].b, (uint32_t)rows[i].diff), rows[i].a & WIRE_PSN_MASK);
	}
	assert_int_equal(wire_psn_add(0xfffffe, 3), 1);
	assert_int_equal(wire_psn_add(0, (uint32_t)-1), 0xffffff);
}

static void syndromes_fall_into_classes(void **state)
{
	for (int s = 0; s < 256; s++) {
		enum wire_syndrome_class class = wire_syndrome_classify((uint8_t)s);

		assert_int_equal(class, s < 0x20 ? 0 : s < 0x40 ? 1 : s < 0x60 ? 2 : s < 0x80 ? 3 : 4);
		assert_int_equal(wire_syndrome_is_ack((uint8_t)s), class == WIRE_SYNDROME_ACK);
		assert_int_equal(wire_syndrome_is_rnr((uint8_t)s), class == WIRE_SYNDROME_RNR_NAK);
		assert_int_equal(wire_syndrome_is_nak((uint8_t)s), class == WIRE_SYNDROME_NAK);
		assert_int_equal(wire_syndrome_value((uint8_t)s), s % 32);
		assert_non_null(wire_syndrome_name((uint8_t)s));
	}
	assert_string_equal(wire_syndrome_name(0x1f), "ACK");
	assert_string_equal(wire_syndrome_name(0x2e), "RNR NAK");
	assert_string_equal(wire_syndrome_name(0x62), "NAK remote access");
	assert_string_equal(wire_syndrome_name(0x65), "NAK reserved code");
	assert_int_equal(wire_syndrome_rnr(14), 0x2e);
	assert_int_equal(wire_syndrome_rnr(0xff), 0x3f);
}

static void credits_follow_the_table(void **state)
{
	/* From code 5 on the counts double every second code. */
	assert_int_equal(wire_syndrome_credits(0), 0);
	assert_int_equal(wire_syndrome_credits(3), 3);
	assert_int_equal(wire_syndrome_credits(4), 4);
	assert_int_equal(wire_syndrome_credits(5), 6);
	for (uint8_t code = 6; code <= 30; code++)
		assert_int_equal(wire_syndrome_credits(code), 2 * wire_syndrome_credits(code - 2));
	assert_int_equal(wire_syndrome_credits(30), 32768);
	assert_int_equal(wire_syndrome_credits(0x1f), UINT32_MAX);
}

static void timers_follow_the_table(void **state)
{
	static const double rnr_ms[32] = {
		655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92,
		2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
	};

	for (uint8_t code = 0; code < 32; code++) {
		assert_int_equal(wire_timer_rnr_ns(code), (uint64_t)(rnr_ms[code] * 1e6 + 0.5));
		assert_int_equal(wire_timer_rnr_ns(code | 0x20), wire_timer_rnr_ns(code));
	}
	assert_true(wire_timer_ack_ns(0) == BASE_NEVER);
	assert_int_equal(wire_timer_ack_ns(1), 8192);
	assert_int_equal(wire_timer_ack_ns(14), 67108864);
	assert_int_equal(wire_timer_ack_ns(31) / BASE_SEC, 8796);
	assert_int_equal(wire_timer_cm_ns(0), BASE_MSEC);
	assert_int_equal(wire_timer_cm_ns(8), BASE_MSEC);
	assert_int_equal(wire_timer_cm_ns(20), 4096 * BASE_MSEC);
}

static void mtus_follow_the_table(void **state)
{
	static const uint32_t bytes[] = {0, 256, 512, 1024, 2048, 4096, 0};
	static const struct {
		uint32_t netdev, active, cm;
	} rows[] = {
		{1500, 1024, 1024}, {4096, 2048, 2048}, {4200, 4096, 4096}, {9000, 4096, 4096}, {65536, 4096, 4096},
		{4176, 4096, 2048}, {4175, 2048, 2048}, {4192, 4096, 4096}, {351, 256, 0}, {352, 256, 256}, {0, 256, 0},
	};

	for (int code = 0; code <= 6; code++)
		assert_int_equal(wire_mtu_bytes(code), bytes[code]);
	assert_int_equal(wire_mtu_bytes(-1), 0);
	assert_int_equal(wire_mtu_code(255), 0);
	assert_int_equal(wire_mtu_code(256), 1);
	assert_int_equal(wire_mtu_code(4095), 4);
	assert_int_equal(wire_mtu_code(-1), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(wire_mtu_bytes(wire_mtu_active(rows[i].netdev)), rows[i].active);
		assert_int_equal(wire_mtu_bytes(wire_mtu_cm(rows[i].netdev)), rows[i].cm);
	}
}

static void speeds_follow_the_table(void **state)
{
	static const struct {
		uint32_t mbps;
		const char *text;
	} rows[] = {
		{0, "10 Gb/sec (1X QDR)"},	{1, "2.5 Gb/sec (1X SDR)"},	 {1000, "2.5 Gb/sec (1X SDR)"},
		{1001, "10 Gb/sec (1X FDR10)"}, {20000, "20 Gb/sec (4X DDR)"},	 {25000, "25 Gb/sec (1X EDR)"},
		{40000, "40 Gb/sec (4X FDR10)"}, {400000, "100 Gb/sec (4X EDR)"}, {UINT32_MAX, "100 Gb/sec (4X EDR)"},
	};
	char text[WIRE_SPEED_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wire_speed_text(wire_speed_of_ethernet(rows[i].mbps), text);
		assert_string_equal(text, rows[i].text);
	}
}

static void source_ports_come_from_labels(void **state)
{
	assert_int_equal(wire_flow_port(0), 0xc000);
	assert_int_equal(wire_flow_port(0x3fff), 0xffff);
	assert_int_equal(wire_flow_port(0x12345), 0xc000 | (0x2345 ^ 0x4));
	assert_int_equal(wire_flow_port(0xfffff), 0xc000 | (0x3fff ^ 0x3f));
	assert_int_equal(wire_flow_label(0x11, 0x12), 0x132);
	/* The product is 0x7336bf94116; its low 20 bits with those above folded in: 0x94116 ^ 0x336bf ^ 7. */
	assert_int_equal(wire_flow_label(0x123456, 0x654321), 0xa77ae);
	assert_int_equal(wire_flow_label(0x123456, 0x654321), wire_flow_label(0x654321, 0x123456));
	for (uint32_t qpn = 0; qpn < 0x1000000; qpn += 4099) {
		assert_in_range(wire_flow_port(wire_flow_label(qpn, ~qpn & 0xffffff)), 0xc000, 0xffff);
		assert_in_range(wire_flow_port_unconnected(qpn), 0xc000, 0xffff);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psn_goes_round),
		cmocka_unit_test(syndromes_fall_into_classes),
		cmocka_unit_test(credits_follow_the_table),
		cmocka_unit_test(timers_follow_the_table),
		cmocka_unit_test(mtus_follow_the_table),
		cmocka_unit_test(speeds_follow_the_table),
		cmocka_unit_test(source_ports_come_from_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
