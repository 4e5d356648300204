/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Against the kernel, in a network namespace of its own where that is permitted; else only what every host has (lo). */
#include "netdev/scan.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"

static struct netdev_scan scan;
static struct netdev_table table;
static bool own_namespace;

static const struct netdev_interface *find(const char *ifname)
{
	for (uint32_t i = 0; i < scan.count; i++)
		if (strcmp(scan.interfaces[i].ifname, ifname) == 0)
			return &scan.interfaces[i];
	return NULL;
}

static void run(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static void test_loopback(void **state)
{
	if (own_namespace)
		run("ip link set lo up");
	assert_int_equal(netdev_scan(&scan), BASE_OK);
	const struct netdev_interface *lo = find("lo");
	assert_non_null(lo);
	assert_true(lo->loopback && lo->admin_up && lo->carrier && !lo->has_mac && lo->address_count >= 1);
	assert_memory_equal(lo->addresses[0].raw + 10, "\xff\xff\x7f\x00\x00\x01", 6);
}

static void test_interfaces(void **state)
{
	if (!own_namespace)
		skip();
	run("ip link add veth0 address 02:00:00:00:00:07 mtu 4200 type veth peer name veth1 && ip link set veth0 up && "
		"ip link set veth1 up && ip addr add fd00::7/64 dev veth0 nodad && "
		"ip addr add 10.9.0.1/24 dev veth0 && ip addr add 10.9.0.2/24 dev veth0");
	assert_int_equal(netdev_scan(&scan), BASE_OK);
	const struct netdev_interface *veth = find("veth0");
	assert_non_null(veth);
	assert_true(veth->has_mac && veth->mtu == 4200 && veth->mac[5] == 7 && !veth->default_route);
	netdev_table_update(&table, &scan, NULL);
	const struct netdev_device *d = netdev_table_find(&table, "sv_veth0");
	assert_non_null(d);
	struct wire_gid v4 = wire_gid_from_ipv4((uint8_t[]){ 10, 9, 0, 1 }), v4b = wire_gid_from_ipv4((uint8_t[]){ 10, 9, 0, 2 });
	struct wire_gid v6 = { { 0xfd, [15] = 7 } };
	assert_int_equal(netdev_device_gid_index(d, &v4, WIRE_GID_ROCE_V1), 2);
	assert_int_equal(netdev_device_gid_index(d, &v4b, WIRE_GID_ROCE_V2), 5);
	assert_int_equal(netdev_device_gid_index(d, &v6, WIRE_GID_ROCE_V2), 7);
	run("ip route add default via 10.9.0.254 dev veth0");
	assert_int_equal(netdev_scan(&scan), BASE_OK);
	assert_true(find("veth0")->default_route);
	assert_false(find("lo")->default_route);
}

static void test_monitor(void **state)
{
	if (!own_namespace)
		skip();
	int fd = netdev_monitor_open();
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_true(fd >= 0);
	assert_false(netdev_monitor_drain(fd));
	run("ip addr add 10.9.0.3/24 dev veth0");
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_true(netdev_monitor_drain(fd));
	assert_false(netdev_monitor_drain(fd));
	close(fd);
}

/* As root, or as an ordinary user who becomes root of a user namespace of his own. */
static bool namespace_make(void)
{
	unsigned uid = geteuid();
	char map[32];

	if (unshare(CLONE_NEWNET) == 0)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return false;
	int len = snprintf(map, sizeof(map), "0 %u 1", uid), fd = open("/proc/self/uid_map", O_WRONLY);
	bool mapped = fd >= 0 && write(fd, map, (size_t)len) == len;
	if (fd >= 0)
		close(fd);
	return mapped;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback),   /* what every host has */
		cmocka_unit_test(test_interfaces), /* MAC, MTU, address order, default route */
		cmocka_unit_test(test_monitor),    /* a change is heard, once */
	};

	own_namespace = namespace_make();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
