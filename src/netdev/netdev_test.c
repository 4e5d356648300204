/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "netdev/netdev.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"

static struct netdev_table table;
static struct netdev_scan scan;

static int fresh(void **state)
{
	memset(&table, 0, sizeof(table));
	memset(&scan, 0, sizeof(scan));
	scan.host_key = 99;
	return 0;
}

static struct netdev_interface *add_interface(const char *name, uint32_t ifindex, uint8_t last)
{
	struct netdev_interface *i = &scan.interfaces[scan.count++];

	*i = (struct netdev_interface){ .ifindex = ifindex, .mtu = 1500, .admin_up = true, .carrier = true };
	snprintf(i->ifname, sizeof(i->ifname), "%s", name);
	if (last != 0) {
		memcpy(i->mac, (uint8_t[]){ 0x02, 0xfc, 0, 0, 0, last }, 6);
		i->has_mac = true;
	}
	return i;
}

static struct wire_gid gid_of(const char *text)
{
	struct wire_gid gid;
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "%s%s", strchr(text, ':') == NULL ? "::ffff:" : "", text);
	assert_int_equal(inet_pton(AF_INET6, mapped, gid.raw), 1);
	return gid;
}

static void address_add(struct netdev_interface *i, const char *text)
{
	i->addresses[i->address_count++] = gid_of(text);
}

static void address_remove(struct netdev_interface *i, unsigned at)
{
	memmove(&i->addresses[at], &i->addresses[at + 1], (i->address_count - at - 1) * sizeof(i->addresses[0]));
	i->address_count--;
}

static void expect_gid(const struct netdev_device *d, unsigned at, const char *text)
{
	struct wire_gid gid = gid_of(text);

	for (unsigned k = 0; k < 2; k++) {
		assert_true(d->gids[at + k].valid);
		assert_int_equal(d->gids[at + k].type, k == 0 ? WIRE_GID_ROCE_V1 : WIRE_GID_ROCE_V2);
		assert_memory_equal(d->gids[at + k].gid.raw, gid.raw, 16);
		assert_int_equal(d->gids[at + k].ifindex, d->ifindex);
	}
}

static void test_gid_order(void **state)
{
	struct netdev_interface *eth = add_interface("eth0", 3, 1);

	address_add(eth, "192.0.2.2");
	address_add(eth, "10.1.1.1");
	address_add(eth, "fe80::fc:ff:fe00:1"); /* equals the default GID */
	address_add(eth, "fd00::2");
	assert_true(netdev_table_update(&table, &scan, NULL));
	assert_int_equal(table.count, 1);
	const struct netdev_device *d = &table.devices[0];
	assert_string_equal(d->name, "sv_eth0");
	assert_true(d->node_guid == 0x00fc00fffe000001ull);
	expect_gid(d, 0, "fe80::fc:ff:fe00:1");
	expect_gid(d, 2, "192.0.2.2");
	expect_gid(d, 4, "10.1.1.1");
	expect_gid(d, 6, "fd00::2");
	assert_false(d->gids[8].valid);
	struct wire_gid v4 = gid_of("10.1.1.1"), none = gid_of("10.1.1.2");
	assert_int_equal(netdev_device_gid_index(d, &v4, WIRE_GID_ROCE_V2), 5);
	assert_int_equal(netdev_device_gid_index(d, &none, WIRE_GID_ROCE_V2), BASE_ERR_NOENT);
}

static void test_holes_are_reused(void **state)
{
	struct netdev_interface *eth = add_interface("eth0", 3, 1);
	uint64_t changed;

	address_add(eth, "10.0.0.1");
	address_add(eth, "10.0.0.2");
	address_add(eth, "fd00::1");
	netdev_table_update(&table, &scan, NULL);
	assert_false(netdev_table_update(&table, &scan, &changed));
	assert_true(changed == 0 && table.generation == 1);
	address_remove(eth, 0);
	assert_true(netdev_table_update(&table, &scan, &changed));
	assert_true(changed == 1 && table.generation == 2 && table.devices[0].generation == 2);
	assert_false(table.devices[0].gids[2].valid);
	assert_false(table.devices[0].gids[3].valid);
	expect_gid(&table.devices[0], 4, "10.0.0.2");
	expect_gid(&table.devices[0], 6, "fd00::1");
	address_add(eth, "fd00::2");
	address_add(eth, "fd00::3");
	netdev_table_update(&table, &scan, NULL);
	expect_gid(&table.devices[0], 2, "fd00::2");
	expect_gid(&table.devices[0], 8, "fd00::3");
}

static void test_devices_keep_their_place(void **state)
{
	uint8_t order[NETDEV_MAX_DEVICES];
	uint64_t changed;

	add_interface("lo", 1, 0)->loopback = true;
	add_interface("eth0", 2, 1);
	struct netdev_interface *wlan = add_interface("wlan0", 3, 2);
	wlan->default_route = true;
	add_interface("down0", 4, 3)->admin_up = false;
	netdev_table_update(&table, &scan, NULL);
	assert_int_equal(table.count, 3);
	assert_string_equal(table.devices[0].name, "sv_wlan0");
	assert_string_equal(table.devices[1].name, "sv_lo");
	assert_string_equal(table.devices[2].name, "sv_eth0");
	/* The default route moves: places stay, the order to list changes. */
	wlan->default_route = false;
	scan.interfaces[1].default_route = true;
	wlan->carrier = false;
	netdev_table_update(&table, &scan, &changed);
	assert_true(changed == 0x5);
	assert_string_equal(table.devices[0].name, "sv_wlan0");
	assert_false(table.devices[0].up);
	assert_int_equal(netdev_table_order(&table, order), 3);
	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 0);
	/* An interface goes away and another comes up. */
	scan.interfaces[3].admin_up = true;
	scan.interfaces[2] = scan.interfaces[3];
	scan.count = 3;
	netdev_table_update(&table, &scan, &changed);
	assert_int_equal(table.count, 4);
	assert_int_equal(table.devices[0].ifindex, 0);
	assert_string_equal(table.devices[3].name, "sv_down0");
	assert_true(changed == 0x9);
}

static void test_loopback_has_a_stable_address(void **state)
{
	struct netdev_interface *lo = add_interface("lo", 1, 0);

	address_add(lo, "127.0.0.1");
	address_add(lo, "::1");
	netdev_table_update(&table, &scan, NULL);
	struct netdev_device first = table.devices[0];
	assert_int_equal(first.mac[0], 2);
	assert_true(wire_gid_is_link_local(&first.gids[0].gid));
	assert_false(wire_gid_is_zero(&first.gids[1].gid));
	expect_gid(&first, 2, "127.0.0.1");
	expect_gid(&first, 4, "::1");
	memset(&table, 0, sizeof(table));
	netdev_table_update(&table, &scan, NULL);
	assert_true(table.devices[0].node_guid == first.node_guid);
	memset(&table, 0, sizeof(table));
	scan.host_key++;
	netdev_table_update(&table, &scan, NULL);
	assert_true(table.devices[0].node_guid != first.node_guid);
}

static void test_names(void **state)
{
	char name[NETDEV_NAME_MAX];

	netdev_name(name, "eth0.100");
	assert_string_equal(name, "sv_eth0.100");
	netdev_name(name, "a/b c\xff");
	assert_string_equal(name, "sv_a_b_c_");
	add_interface("a b", 7, 1);
	add_interface("a:b", 8, 2);
	netdev_table_update(&table, &scan, NULL);
	assert_string_equal(table.devices[0].name, "sv_a_b");
	assert_string_equal(table.devices[1].name, "sv_a_b_8");
}

/* After any sequence of scans each address is there once as v1 and v2, nothing else is, and what stayed kept its index. */
static void test_random_changes(void **state)
{
	static struct netdev_table before;
	struct base_random r = { 4711 };

	for (unsigned round = 0; round < 3000; round++) {
		scan.count = 0;
		struct netdev_interface *eth = add_interface("eth0", 3, 1);
		for (unsigned i = 0; i < NETDEV_MAX_ADDRESSES; i++) {
			if (base_random_below(&r, 3) == 0)
				continue;
			char text[32];
			snprintf(text, sizeof(text), "10.0.0.%u", i + 1);
			address_add(eth, text);
		}
		before = table;
		netdev_table_update(&table, &scan, NULL);
		unsigned valid = 0;
		for (unsigned at = 2; at < NETDEV_MAX_GIDS; at += 2) {
			const struct netdev_gid *g = &table.devices[0].gids[at];
			assert_int_equal(g[0].valid, g[1].valid);
			valid += g->valid;
		}
		assert_int_equal(valid, eth->address_count);
		for (unsigned i = 0; i < eth->address_count; i++) {
			int now = netdev_device_gid_index(&table.devices[0], &eth->addresses[i], WIRE_GID_ROCE_V1);
			int then = netdev_device_gid_index(&before.devices[0], &eth->addresses[i], WIRE_GID_ROCE_V1);
			assert_true(now >= 2 && now % 2 == 0);
			assert_true(then < 0 || then == now);
		}
	}
}

static void expect_entry(const struct netdev_device *d, unsigned at, const char *text, enum wire_gid_type type, uint32_t ifindex)
{
	struct wire_gid gid = gid_of(text);

	assert_true(d->gids[at].valid);
	assert_memory_equal(d->gids[at].gid.raw, gid.raw, 16);
	assert_int_equal(d->gids[at].type, type);
	assert_int_equal(d->gids[at].ifindex, ifindex);
}

static void test_vlans(void **state)
{
	struct netdev_interface *eth = add_interface("eth0", 3, 1);
	struct netdev_interface *vlan = add_interface("eth0.7", 5, 1), *stacked = add_interface("eth0.7.9", 6, 1);
	uint64_t changed;

	vlan->vlan_of = 3;
	stacked->vlan_of = 5;
	address_add(eth, "10.0.0.1");
	address_add(vlan, "10.7.0.1");
	address_add(vlan, "10.0.0.1"); /* the same address in another network */
	address_add(vlan, "fe80::fc:ff:fe00:1"); /* the default GID, on another interface */
	address_add(stacked, "10.9.0.1");
	netdev_table_update(&table, &scan, NULL);
	assert_int_equal(table.count, 3);
	const struct netdev_device *d = &table.devices[0];
	static const struct {
		const char *text;
		uint32_t ifindex;
	} rows[] = { { "fe80::fc:ff:fe00:1", 3 }, { "10.0.0.1", 3 }, { "10.7.0.1", 5 }, { "10.0.0.1", 5 }, { "fe80::fc:ff:fe00:1", 5 },
		     { "10.9.0.1", 6 } };
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		expect_entry(d, 2 * i, rows[i].text, WIRE_GID_ROCE_V1, rows[i].ifindex);
		expect_entry(d, 2 * i + 1, rows[i].text, WIRE_GID_ROCE_V2, rows[i].ifindex);
	}
	assert_false(d->gids[12].valid);
	/* The VLANs are devices with their own. */
	expect_gid(&table.devices[1], 2, "10.7.0.1");
	assert_false(table.devices[1].gids[6].valid);
	expect_gid(&table.devices[2], 2, "10.9.0.1");
	/* Found at its own entry, also when a VLAN's comes before. */
	struct wire_gid both = gid_of("10.0.0.1");
	address_remove(eth, 0);
	netdev_table_update(&table, &scan, NULL);
	assert_int_equal(netdev_device_gid_index(d, &both, WIRE_GID_ROCE_V2), 7);
	vlan->address_count = 0;
	address_add(vlan, "10.0.0.1");
	netdev_table_update(&table, &scan, &changed);
	assert_int_equal(changed, 3);
	/* Gone with its interface. */
	scan.count = 1;
	netdev_table_update(&table, &scan, NULL);
	for (unsigned at = 2; at < NETDEV_MAX_GIDS; at++)
		assert_false(d->gids[at].valid);
}

static void test_profiles(void **state)
{
	struct netdev_interface *eth = add_interface("eth0", 3, 1);
	uint64_t changed;

	address_add(eth, "10.0.0.1");
	address_add(eth, "fd00::1");
	address_add(eth, "10.0.0.2");
	scan.profile = NETDEV_GIDS_V2;
	netdev_table_update(&table, &scan, NULL);
	const struct netdev_device *d = &table.devices[0];
	expect_entry(d, 0, "fe80::fc:ff:fe00:1", WIRE_GID_ROCE_V2, 3);
	expect_entry(d, 1, "10.0.0.1", WIRE_GID_ROCE_V2, 3);
	expect_entry(d, 2, "fd00::1", WIRE_GID_ROCE_V2, 3);
	expect_entry(d, 3, "10.0.0.2", WIRE_GID_ROCE_V2, 3);
	assert_false(d->gids[4].valid);
	address_remove(eth, 0);
	netdev_table_update(&table, &scan, NULL);
	assert_false(d->gids[1].valid);
	address_add(eth, "10.0.0.3");
	netdev_table_update(&table, &scan, NULL);
	expect_entry(d, 1, "10.0.0.3", WIRE_GID_ROCE_V2, 3);
	/* The next broker has another: the table starts anew. */
	scan.profile = NETDEV_GIDS_IPV6;
	assert_true(netdev_table_update(&table, &scan, &changed));
	assert_int_equal(changed, 1);
	expect_gid(d, 0, "fe80::fc:ff:fe00:1");
	expect_gid(d, 2, "fd00::1");
	assert_false(d->gids[4].valid);
	assert_true(d->gid_generation == table.generation);
	scan.profile = NETDEV_GIDS_ALL;
	netdev_table_update(&table, &scan, NULL);
	expect_gid(d, 2, "fd00::1");
	expect_gid(d, 4, "10.0.0.2");
	expect_gid(d, 6, "10.0.0.3");
}

/* What is told as a change of GIDs is one. */
static void test_generations(void **state)
{
	struct netdev_interface *eth = add_interface("eth0", 3, 1);
	uint64_t changed;

	address_add(eth, "10.0.0.1");
	netdev_table_update(&table, &scan, NULL);
	const struct netdev_device *d = &table.devices[0];
	uint64_t before = d->gid_generation;
	assert_true(before == table.generation);
	eth->mtu = 9000;
	eth->carrier = false;
	eth->speed = 1000;
	assert_true(netdev_table_update(&table, &scan, &changed));
	assert_true(d->gid_generation == before && d->generation == before + 1 && d->mtu == 9000 && !d->up && d->speed == 1000);
	address_add(eth, "10.0.0.2");
	netdev_table_update(&table, &scan, &changed);
	assert_true(d->gid_generation == table.generation);
	/* Another interface of that name: all its entries are others. */
	eth->ifindex = 9;
	netdev_table_update(&table, &scan, &changed);
	assert_true(d->ifindex == 9 && d->gid_generation == table.generation);
	expect_gid(d, 2, "10.0.0.1");
	scan.count = 0;
	netdev_table_update(&table, &scan, &changed);
	assert_true(d->ifindex == 0 && !d->gids[0].valid && d->gid_generation == table.generation);
	assert_false(netdev_table_update(&table, &scan, &changed));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_gid_order, fresh),                     /* default v1 v2, IPv4, IPv6, no repeat */
		cmocka_unit_test_setup(test_holes_are_reused, fresh),              /* indexes stay, the lowest hole is filled */
		cmocka_unit_test_setup(test_devices_keep_their_place, fresh),      /* default route first, ports down, interfaces gone */
		cmocka_unit_test_setup(test_loopback_has_a_stable_address, fresh), /* lo has no MAC */
		cmocka_unit_test_setup(test_names, fresh),                         /* characters, collisions */
		cmocka_unit_test_setup(test_vlans, fresh),                         /* their addresses in the table below */
		cmocka_unit_test_setup(test_profiles, fresh),                      /* v2 alone, IPv6 alone */
		cmocka_unit_test_setup(test_generations, fresh),                   /* GIDs apart from the rest */
		cmocka_unit_test_setup(test_random_changes, fresh),                /* invariants over many scans */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
