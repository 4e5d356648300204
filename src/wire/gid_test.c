/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "wire/gid.h"

static struct wire_gid parse(const char *text)
{
	struct wire_gid gid;

	assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	return gid;
}

static void predicates(void **state)
{
	static const struct {
		const char *text;
		bool zero, mapped, multicast, link_local;
	} rows[] = {
		{"::", true, false, false, false},
		{"::1", false, false, false, false},
		{"::ffff:10.0.0.1", false, true, false, false},
		{"::ffff:224.0.0.1", false, true, true, false},
		{"::ffff:239.255.77.1", false, true, true, false},
		{"::ffff:240.0.0.1", false, true, false, false},
		{"::fffe:224.0.0.1", false, false, false, false},
		{"1::ffff:224.0.0.1", false, false, false, false},
		{"fe80::1", false, false, false, true},
		{"fe80:0:0:1::1", false, false, false, false},
		{"fe81::1", false, false, false, false},
		{"ff0e::ffff:239.1.1.1", false, false, true, false},
		{"2001:db8::1", false, false, false, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_gid gid = parse(rows[i].text);

		assert_int_equal(wire_gid_is_zero(&gid), rows[i].zero);
		assert_int_equal(wire_gid_is_ipv4_mapped(&gid), rows[i].mapped);
		assert_int_equal(wire_gid_is_multicast(&gid), rows[i].multicast);
		assert_int_equal(wire_gid_is_link_local(&gid), rows[i].link_local);
	}
}

static void addresses_become_gids(void **state)
{
	static const uint8_t v4[4] = {192, 0, 2, 1};
	struct wire_gid mapped = wire_gid_from_ipv4(v4), expected = parse("::ffff:192.0.2.1"), other = parse("::ffff:192.0.2.2");
	struct wire_gid same = wire_gid_from_ipv6(expected.raw);

	assert_true(wire_gid_equal(&mapped, &expected));
	assert_true(wire_gid_equal(&same, &expected));
	assert_false(wire_gid_equal(&mapped, &other));
}

static void macs_become_gids_and_come_back(void **state)
{
	static const uint8_t mac[6] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55};
	struct wire_gid gid = wire_gid_from_mac(mac), expected = parse("fe80::211:22ff:fe33:4455");
	struct wire_gid global = parse("2001:db8::211:22ff:fe33:4455"), plain = parse("fe80::1");
	uint8_t back[6] = {9};

	assert_true(wire_gid_equal(&gid, &expected));
	assert_true(wire_gid_to_mac(back, &gid));
	assert_memory_equal(back, mac, 6);
	back[0] = 9;
	assert_false(wire_gid_to_mac(back, &global));
	assert_false(wire_gid_to_mac(back, &plain));
	assert_int_equal(back[0], 9);
}

static void groups_have_group_macs(void **state)
{
	struct wire_gid v4 = parse("::ffff:239.255.77.1"), v6 = parse("ff0e::ffff:239.1.2.3"), unicast = parse("fe80::1");
	static const uint8_t mac4[6] = {0x01, 0x00, 0x5e, 0x7f, 77, 1}, mac6[6] = {0x33, 0x33, 239, 1, 2, 3};
	uint8_t mac[6];

	assert_true(wire_gid_multicast_mac(mac, &v4));
	assert_memory_equal(mac, mac4, 6);
	assert_true(wire_gid_multicast_mac(mac, &v6));
	assert_memory_equal(mac, mac6, 6);
	assert_false(wire_gid_multicast_mac(mac, &unicast));
	assert_memory_equal(mac, mac6, 6);
}

static void texts(void **state)
{
	struct wire_gid gid = parse("fe80::211:22ff:fe33:4455"), mapped = parse("::ffff:10.0.0.1");
	struct wire_gid full = parse("1111:2222:3333:4444:5555:6666:7777:8888");
	char text[WIRE_GID_TEXT];

	assert_string_equal(wire_gid_to_text(text, &gid), "fe80:0000:0000:0000:0211:22ff:fe33:4455");
	assert_string_equal(wire_gid_to_address(text, &gid), "fe80::211:22ff:fe33:4455");
	assert_string_equal(wire_gid_to_text(text, &mapped), "0000:0000:0000:0000:0000:ffff:0a00:0001");
	assert_string_equal(wire_gid_to_address(text, &mapped), "::ffff:10.0.0.1");
	assert_string_equal(wire_gid_to_address(text, &full), "1111:2222:3333:4444:5555:6666:7777:8888");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(predicates),
		cmocka_unit_test(addresses_become_gids),
		cmocka_unit_test(macs_become_gids_and_come_back),
		cmocka_unit_test(groups_have_group_macs),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
