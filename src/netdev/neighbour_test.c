/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Against the kernel: a veth pair from a network namespace of ours to one of a child's, which answers ARP and ND there. Without such a
 * namespace only what every host has (lo).
 */
#include "netdev/neighbour.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"

static bool own_namespace;
static const uint8_t mac_here[6] = { 2, 0, 0, 0, 0, 1 }, mac_there[6] = { 2, 0, 0, 0, 0, 2 };

static struct wire_gid gid_of(const char *text)
{
	struct wire_gid gid;
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "%s%s", strchr(text, ':') == NULL ? "::ffff:" : "", text);
	assert_int_equal(inet_pton(AF_INET6, mapped, gid.raw), 1);
	return gid;
}

static void run(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static int resolve(const char *source, const char *destination, unsigned timeout_ms, struct netdev_hop *out)
{
	struct wire_gid from = gid_of(source), to = gid_of(destination);

	return netdev_hop_resolve(&from, &to, wire_gid_is_link_local(&to) || wire_gid_is_multicast(&to) ? if_nametoindex("here") : 0,
				  timeout_ms * BASE_MSEC, out);
}

static void known(const char *source, const char *destination, const uint8_t mac[6])
{
	struct netdev_hop hop;

	assert_int_equal(resolve(source, destination, 5000, &hop), BASE_OK);
	assert_memory_equal(hop.mac, mac, 6);
	assert_int_equal(hop.ifindex, if_nametoindex("here"));
	assert_int_equal(hop.vlan, NETDEV_NO_VLAN);
	assert_false(hop.local);
	if (!hop.asks)
		return;
	/* From now on without asking. */
	memset(hop.mac, 0, sizeof(hop.mac));
	assert_int_equal(netdev_hop_look(&hop), BASE_OK);
	assert_memory_equal(hop.mac, mac, 6);
}

static void test_this_host(void **state)
{
	struct netdev_hop hop;

	assert_int_equal(resolve("127.0.0.1", "127.0.0.1", 0, &hop), BASE_OK);
	assert_true(hop.local && !hop.asks);
	if (!own_namespace)
		return;
	assert_int_equal(resolve("10.9.9.1", "10.9.9.1", 0, &hop), BASE_OK);
	assert_true(hop.local);
	struct wire_gid own = gid_of("10.9.9.1");
	assert_int_equal(netdev_hop_resolve(&own, &own, if_nametoindex("here"), 0, &hop), BASE_OK);
	assert_memory_equal(hop.mac, mac_here, 6);
}

static void test_answers(void **state)
{
	if (!own_namespace)
		skip();
	struct wire_gid from = gid_of("10.9.9.1"), to = gid_of("10.9.9.2");
	struct netdev_hop hop;

	assert_int_equal(netdev_hop_find(&from, &to, 0, &hop), BASE_OK);
	assert_true(hop.asks);
	assert_int_equal(netdev_hop_look(&hop), BASE_ERR_AGAIN); /* nobody has asked yet */
	known("10.9.9.1", "10.9.9.2", mac_there);
	known("fd09::1", "fd09::2", mac_there);
	known("fe80::ff:fe00:1", "fe80::ff:fe00:2", mac_there);
	/* Behind a gateway. */
	run("ip route add 192.0.2.0/24 via 10.9.9.2");
	known("10.9.9.1", "192.0.2.200", mac_there);
	run("ip route add 198.51.100.0/24 via inet6 fe80::ff:fe00:2 dev here");
	known("10.9.9.1", "198.51.100.7", mac_there);
	/* Written by hand. */
	run("ip neigh add 10.9.9.50 lladdr 02:00:00:00:00:32 dev here nud permanent");
	known("10.9.9.1", "10.9.9.50", (const uint8_t[]){ 2, 0, 0, 0, 0, 0x32 });
}

static void test_groups(void **state)
{
	if (!own_namespace)
		skip();
	known("10.9.9.1", "224.1.2.3", (const uint8_t[]){ 1, 0, 0x5e, 1, 2, 3 });
	known("fd09::1", "ff0e::1:2", (const uint8_t[]){ 0x33, 0x33, 0, 1, 0, 2 });
}

static void test_nobody(void **state)
{
	struct netdev_hop hop;
	uint64_t before;

	if (!own_namespace)
		skip();
	/* The kernel asks three times, then it says that it failed. */
	before = base_clock_now();
	assert_int_equal(resolve("10.9.9.1", "10.9.9.77", 20000, &hop), BASE_ERR_TIMEDOUT);
	assert_true(base_clock_now() - before < 5 * BASE_SEC);
	/* And again, though the entry says failed. */
	assert_int_equal(resolve("10.9.9.1", "10.9.9.77", 20000, &hop), BASE_ERR_TIMEDOUT);
	/* We may be less patient. */
	before = base_clock_now();
	assert_int_equal(resolve("10.9.9.1", "10.9.9.78", 20, &hop), BASE_ERR_TIMEDOUT);
	assert_true(base_clock_now() - before >= 20 * BASE_MSEC);
	assert_int_equal(resolve("10.9.9.1", "203.0.113.1", 1000, &hop), BASE_ERR_UNREACH);
}

struct heard {
	struct wire_gid wanted;
	unsigned count;
};

static void hear(void *context, uint32_t ifindex, const struct wire_gid *address)
{
	struct heard *h = context;

	h->count += ifindex == if_nametoindex("here") && wire_gid_equal(address, &h->wanted);
}

static void test_notices(void **state)
{
	if (!own_namespace)
		skip();
	int fd = netdev_notices_open();
	struct heard h = { gid_of("10.9.9.51"), 0 };
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_true(fd >= 0);
	assert_false(netdev_notices_read(fd, hear, &h));
	run("ip neigh add 10.9.9.51 lladdr 02:00:00:00:00:33 dev here nud permanent");
	while (h.count == 0) {
		assert_int_equal(poll(&p, 1, 5000), 1);
		assert_true(netdev_notices_read(fd, hear, &h));
	}
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
	int len = snprintf(map, sizeof(map), "0 %u 1", uid);
	FILE *f = fopen("/proc/self/uid_map", "w");
	bool mapped = f != NULL && fwrite(map, 1, (size_t)len, f) == (size_t)len;
	return f != NULL && fclose(f) == 0 && mapped;
}

/* The other host: a process in another namespace. */
static pid_t other_start(void)
{
	char command[256];
	int ready[2], go[2];
	char x = 0;

	if (pipe(ready) != 0 || pipe(go) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		bool made = unshare(CLONE_NEWNET) == 0 && write(ready[1], &x, 1) == 1 && read(go[0], &x, 1) == 1 &&
			system("ip link set lo up && ip addr add 10.9.9.2/24 dev there && ip link set there up && "
			       "ip addr add fd09::2/64 dev there nodad") == 0;
		x = made;
		if (write(ready[1], &x, 1) == 1)
			pause();
		_exit(0);
	}
	snprintf(command, sizeof(command), "ip link set lo up && ip link add here address 02:00:00:00:00:01 type veth peer name there "
		"address 02:00:00:00:00:02 netns %d", (int)pid);
	if (pid < 0 || read(ready[0], &x, 1) != 1 || system(command) != 0 || write(go[1], &x, 1) != 1 ||
	    read(ready[0], &x, 1) != 1 || x != 1 || system("ip addr add 10.9.9.1/24 dev here && ip link set here up && "
		"ip addr add fd09::1/64 dev here nodad && ip ntable change name arp_cache dev here retrans 50") != 0)
		return -1;
	return pid;
}

/* Link-local addresses can be used after the kernel has looked for doubles. */
static void link_local_await(void)
{
	for (int i = 0; i < 500 && system("ip -6 addr show dev here | grep -q tentative") == 0; i++)
		poll(NULL, 0, 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_host), /* own addresses need no asking */
		cmocka_unit_test(test_answers),   /* IPv4, IPv6, link-local, gateways, by hand */
		cmocka_unit_test(test_groups),    /* made from the address */
		cmocka_unit_test(test_nobody),    /* no answer, no route */
		cmocka_unit_test(test_notices),   /* the neighbour that changed is named */
	};
	pid_t other = -1;

	own_namespace = namespace_make();
	if (own_namespace) {
		other = other_start();
		own_namespace = other > 0;
		link_local_await();
	}
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (other > 0) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	return failed;
}
