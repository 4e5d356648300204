/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* In a network namespace of its own, where packet sockets are allowed and lo is ours; skipped where none can be made. */
#include "link/link_internal.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "link/path.h"
#include "link/test_wire.h"
#include "wire/frame.h"

#define SLOT_A 1u
#define SLOT_B 2u
#define OTHER_IFINDEX 77u /* no interface; frames through lo are for whom their source MAC says */

static const struct wire_gid gid_a = {{0xfe, 0x80, [8] = 2, 0, 0, 0xff, 0xfe, 0, 0, 1}};
static const struct wire_gid gid_b = {{0xfe, 0x80, [8] = 2, 0, 0, 0xff, 0xfe, 0, 0, 2}};
static const struct wire_gid group = {{0xff, 0x0e, [12] = 0, 0, 0x77, 1}};

/* A is interface 1, B is OTHER_IFINDEX. */
static bool owns(void *context, const struct wire_gid *gid, uint32_t ifindex)
{
	return (ifindex == 1 && wire_gid_equal(gid, &gid_a)) || (ifindex == OTHER_IFINDEX && wire_gid_equal(gid, &gid_b));
}

struct host {
	struct test_end end[2];
	int fd[2];
};

static void host_make(struct host *host, struct link_hooks hooks)
{
	for (int i = 0; i < 2; i++) {
		host->fd[i] = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_true(host->fd[i] > 0);
		const struct link_config more = {.udp_socket = -1, .raw_socket = host->fd[i], .raw_owns = owns, .hooks = hooks};
		test_end_make_with(&host->end[i], i == 0 ? SLOT_A : SLOT_B, &more);
		assert_int_equal(link_raw_listen(host->end[i].link), 0);
		assert_int_equal(link_raw_listen(host->end[i].link), 0);
	}
}

static void host_free(struct host *host)
{
	for (int i = 0; i < 2; i++) {
		test_end_free(&host->end[i]);
		close(host->fd[i]);
	}
}

/* From A to B, or to the group. */
static struct link_path path_make(const struct wire_gid *to)
{
	const struct link_path_address address = {
		.gid_type = WIRE_GID_ROCE_V1,
		.sgid = gid_a,
		.dgid = *to,
		.ifindex = 1,
		.qpn = SLOT_A << 16 | 0x11,
		.dest_qpn = to == &group ? WIRE_QPN_MULTICAST : SLOT_B << 16 | 0x22,
		.flow_label = 0x12345,
		.traffic_class = 0x28,
		.hop_limit = 33,
	};
	const uint8_t mac[6] = {0};
	struct link_path path;

	assert_int_equal(link_path_raw(&path, &address, mac, mac, to == &group ? 0 : OTHER_IFINDEX), 0);
	return path;
}

static uint64_t drops(const struct test_end *end, enum link_drop why)
{
	return atomic_load(&end->counters.drops[why]);
}

static void runs_cross_loopback(void **state)
{
	struct base_random r = {.state = 1};
	struct link_path path = path_make(&gid_b);
	struct seen seen = {0};
	struct host host;
	uint32_t psn = 0, offset = 0, packets = 0;

	host_make(&host, (struct link_hooks){0});
	for (int round = 0; round < 300; round++) {
		unsigned runs = 1 + (unsigned)base_random_below(&r, 8);

		for (unsigned i = 0; i < runs; i++) {
			unsigned n = base_random_below(&r, 3) == 0 ? 1 + (unsigned)base_random_below(&r, 20) : 1;
			uint32_t len = n == 1 ? (uint32_t)base_random_below(&r, 1025) : (n - 1) * 1024 + 1 + (uint32_t)base_random_below(&r, 1024);

			assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, n, len), 0);
			packets += n;
		}
		link_flush(host.end[0].link);
		/* The socket is readable as long as there is something in the ring, however small the budget. */
		while (seen.count < packets) {
			struct pollfd p = {host.fd[1], POLLIN, 0};

			assert_int_equal(poll(&p, 1, 1000), 1);
			assert_true(link_receive(host.end[1].link, false, false, 3, see, &seen) > 0);
		}
	}
	assert_true(seen.disorder == 0 && seen.corrupt == 0 && seen.offset == offset && seen.count == packets);
	assert_true(wire_gid_equal(&seen.last.sgid, &gid_a) && wire_gid_equal(&seen.last.dgid, &gid_b));
	assert_true(seen.last.kind == LINK_RAW && seen.last.gid_type == WIRE_GID_ROCE_V1 && seen.last.ifindex == OTHER_IFINDEX);
	assert_true(seen.last.traffic_class == 0x28 && seen.last.hop_limit == 33);
	assert_int_equal(atomic_load(&host.end[0].counters.sent_packets[LINK_RAW]), packets);
	assert_int_equal(atomic_load(&host.end[1].counters.received_packets[LINK_RAW]), packets);
	/* Neither heard the other's. */
	assert_int_equal(link_receive(host.end[0].link, false, false, 100, see, &seen), 0);
	for (int d = 0; d < LINK_DROPS; d++)
		assert_true(drops(&host.end[0], d) == 0 && drops(&host.end[1], d) == 0);
	host_free(&host);
}

/* Every member on this host hears it once, the sender, too. */
static void groups_are_heard_once(void **state)
{
	struct link_path path = path_make(&group);
	struct host host;
	uint32_t psn = 0, offset = 0;

	assert_true(path.frame_to[0] == 0x33 && path.frame_to[1] == 0x33 && path.frame_to[4] == 0x77);
	host_make(&host, (struct link_hooks){0});
	for (int i = 0; i < 2; i++)
		assert_int_equal(link_raw_group(host.end[i].link, 1, &group, true), 0);
	assert_int_equal(link_raw_group(host.end[0].link, 1, &gid_a, true), BASE_ERR_INVAL);
	/* As many as one likes. */
	for (int enter = 1; enter >= 0; enter--) {
		for (uint8_t i = 0; i < 200; i++) {
			const struct wire_gid one = {{0xff, 0x0e, [14] = 0x55, i}};

			assert_int_equal(link_raw_group(host.end[0].link, 1, &one, enter), 0);
		}
	}
	for (int i = 0; i < 10; i++)
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 50), 0);
	link_flush(host.end[0].link);
	for (int i = 0; i < 2; i++) {
		struct seen seen = {0};

		while (link_receive(host.end[i].link, false, false, 3, see, &seen) > 0)
			;
		assert_true(seen.count == 10 && seen.disorder == 0 && seen.corrupt == 0);
		assert_true(seen.last.ifindex == 1 && wire_gid_equal(&seen.last.dgid, &group));
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(link_raw_group(host.end[i].link, 1, &group, false), 0);
	host_free(&host);
}

/* --- bad frames ----------------------------------------------------------------------------------------------------------- */

#define SENT LINK_DROPS /* taken */

enum harm {
	NONE, PADDED, TAGGED, SHORT, NO_GRH, LENGTH, ICRC, OPCODE, OTHER_MAC, BROADCAST, OTHER_GID, OTHER_INTERFACE, LO_OF_NOBODY, STRAY, V2,
	GROUP, GROUP_OTHER_MAC, GROUP_AS_HOST, HOST_AS_GROUP
};

static const struct {
	const char *goal;
	enum harm harm;
	enum link_drop expected;
} frames[] = {
	{"a sound one", NONE, SENT},
	{"padding counts for nothing", PADDED, SENT},
	{"a tag that is still in the frame", TAGGED, SENT},
	{"cut", SHORT, LINK_DROP_TRUNCATED},
	{"a GRH before something else", NO_GRH, LINK_DROP_MALFORMED},
	{"a GRH longer than the frame", LENGTH, LINK_DROP_TRUNCATED},
	{"a wrong ICRC", ICRC, LINK_DROP_ICRC},
	{"no such opcode", OPCODE, LINK_DROP_MALFORMED},
	{"another host's MAC or VLAN", OTHER_MAC, LINK_DROP_ADDRESS},
	{"broadcast", BROADCAST, LINK_DROP_ADDRESS},
	{"a GID that is not ours", OTHER_GID, LINK_DROP_ADDRESS},
	{"our GID at another interface", OTHER_INTERFACE, LINK_DROP_ADDRESS},
	{"through lo from nobody", LO_OF_NOBODY, LINK_DROP_ADDRESS},
	{"another slot's", STRAY, LINK_DROP_STRAY},
	{"RoCEv2", V2, LINK_DROP_MALFORMED},
	{"a group", GROUP, SENT},
	{"a group with another group's MAC", GROUP_OTHER_MAC, LINK_DROP_ADDRESS},
	{"a group sent to our MAC", GROUP_AS_HOST, LINK_DROP_ADDRESS},
	{"our GID sent to a group's MAC", HOST_AS_GROUP, LINK_DROP_ADDRESS},
};

static void count_only(void *context, const struct link_rx *rx)
{
	++*(unsigned *)context;
}

/* Builds the frame of a row and judges it; 70 to 90 bytes. */
static bool judge_frame(struct link_raw *raw, enum harm harm, unsigned *count)
{
	struct wire_frame frame = {.encap = WIRE_ENCAP_V1, .grh = {.hop_limit = 1, .sgid = gid_a, .dgid = gid_b}};
	struct wire_packet head = {.bth = {.opcode = WIRE_RC_SEND_ONLY, .pkey = 0xffff, .dest_qpn = SLOT_B << 16 | 0x22}};
	struct link_raw_arrival arrival = {.ifindex = OTHER_IFINDEX, .packet_type = PACKET_HOST};
	uint8_t ib[64] = {0}, bytes[256], *exact;
	bool is_group = harm == GROUP || harm == GROUP_OTHER_MAC || harm == GROUP_AS_HOST, taken;
	ssize_t len;

	if (is_group) {
		head.bth.dest_qpn = WIRE_QPN_MULTICAST;
		frame.grh.dgid = group;
		wire_gid_multicast_mac(frame.eth.dst, &group);
	}
	if (harm == GROUP || harm == GROUP_OTHER_MAC || harm == HOST_AS_GROUP)
		arrival.packet_type = PACKET_MULTICAST;
	frame.eth.dst[5] ^= harm == GROUP_OTHER_MAC;
	if (harm == OTHER_MAC)
		arrival.packet_type = PACKET_OTHERHOST;
	if (harm == BROADCAST)
		arrival.packet_type = PACKET_BROADCAST;
	frame.grh.dgid.raw[15] ^= harm == OTHER_GID;
	arrival.ifindex = harm == OTHER_INTERFACE ? 3 : harm == LO_OF_NOBODY ? LINK_RAW_LO : OTHER_IFINDEX;
	if (harm == STRAY)
		head.bth.dest_qpn = 9 << 16;
	if (harm == TAGGED) {
		frame.eth.vlan_count = 1;
		frame.eth.vlan[0] = (struct wire_vlan){WIRE_ETHERTYPE_VLAN, 0};
	}
	if (harm == V2) {
		frame.encap = WIRE_ENCAP_V2_IPV6;
		frame.ipv6 = (struct wire_ipv6){.hop_limit = 1};
	}
	len = (ssize_t)wire_packet_encode_headers(ib, &head) + 8;
	if (harm == OPCODE)
		ib[0] = 0x1f;
	len = wire_frame_encode(bytes, sizeof(bytes), &frame, ib, (size_t)len);
	assert_true(len > 0);
	if (harm == ICRC)
		bytes[len - 1] ^= 1;
	if (harm == NO_GRH)
		bytes[WIRE_ETH_BYTES + 6] = 17;
	if (harm == LENGTH)
		bytes[WIRE_ETH_BYTES + 5]++;
	if (harm == SHORT)
		len = 40;
	if (harm == PADDED)
		memset(bytes + len, 0xa5, 22), len += 22;
	/* Exactly as large as it is: the sanitizer sees a byte too far. */
	exact = malloc((size_t)len);
	assert_non_null(exact);
	memcpy(exact, bytes, (size_t)len);
	taken = link_raw_take(raw, &arrival, exact, (uint32_t)len, count_only, count);
	free(exact);
	return taken;
}

static void bad_frames_are_counted(void **state)
{
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct link_counters counters = {0};
		struct link_raw raw = {.counters = &counters, .socket = -1, .slot = SLOT_B, .owns = owns};
		unsigned count = 0;
		bool taken = judge_frame(&raw, frames[i].harm, &count);

		if (taken != (frames[i].expected == SENT) || count != taken ||
		    (!taken && atomic_load(&counters.drops[frames[i].expected]) != 1))
			fail_msg("%s: %s, %u given", frames[i].goal, taken ? "taken" : "dropped", count);
	}
}

/* --- what a wire does ----------------------------------------------------------------------------------------------------- */

/* Nobody looks while more is sent than the ring holds: what found no place is counted, to the frame. */
static void overflow_is_counted(void **state)
{
	struct link_path path = path_make(&gid_b);
	struct seen seen = {0};
	struct host host;
	uint32_t psn = 0, offset = 0, sent = 0;

	host_make(&host, (struct link_hooks){0});
	while (sent < 2 * LINK_RAW_FRAMES) {
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 10), 0);
		link_flush(host.end[0].link);
		sent++;
	}
	while (link_receive(host.end[1].link, false, false, 100, see, &seen) > 0)
		;
	for (unsigned i = 0; i <= LINK_RAW_SILENT + 1; i++)
		link_receive(host.end[1].link, false, false, 100, see, &seen);
	assert_true(seen.count > 0 && drops(&host.end[1], LINK_DROP_RECEIVE_FULL) > 0);
	assert_int_equal(seen.count + drops(&host.end[1], LINK_DROP_RECEIVE_FULL), sent);
	/* And the ring goes on. */
	seen = (struct seen){.next_psn = psn, .offset = offset};
	assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 5, 4200), 0);
	link_flush(host.end[0].link);
	while (link_receive(host.end[1].link, false, false, 100, see, &seen) > 0)
		;
	assert_true(seen.count == 5 && seen.disorder == 0 && seen.corrupt == 0);
	host_free(&host);
}

static void small_mtu_is_counted(void **state)
{
	struct link_path path = path_make(&gid_b);
	struct seen seen = {0};
	struct host host;
	uint32_t psn = 0, offset = 0;

	assert_true(lo_set(1000));
	host_make(&host, (struct link_hooks){0});
	assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 1, 1024), 0);
	link_flush(host.end[0].link);
	assert_int_equal(drops(&host.end[0], LINK_DROP_SEND_MTU), 1);
	assert_int_equal(link_receive(host.end[1].link, false, false, 100, see, &seen), 0);
	host_free(&host);
	assert_true(lo_set(65536));
}

/* As in a process that may not have a packet socket. */
static void without_a_socket(void **state)
{
	struct link_path path = path_make(&gid_b);
	struct transport_room room;
	struct test_end end;

	test_end_make(&end, SLOT_A, -1, (struct link_hooks){0});
	assert_int_equal(link_raw_listen(end.link), BASE_ERR_PERM);
	assert_int_equal(link_raw_group(end.link, 1, &group, true), BASE_ERR_PERM);
	assert_int_equal(link_reserve(end.link, &path, &room), BASE_ERR_GONE);
	assert_int_equal(link_room_fd(end.link), -1);
	test_end_free(&end);
}

/* --- hooks ---------------------------------------------------------------------------------------------------------------- */

/* Loses every third packet and doubles every fifth, on the way out. */
struct plan {
	unsigned asked, lost, twice, seen_out, seen_in;
};

static enum link_verdict judge(void *context, bool outgoing, const struct link_path *path, const struct transport_run *run)
{
	struct plan *plan = context;

	assert_true(path->kind == LINK_RAW && path->gid_type == WIRE_GID_ROCE_V1 && run->packets == 1);
	if (!outgoing)
		return LINK_PASS;
	plan->asked++;
	if (plan->asked % 3 == 0)
		return plan->lost++, LINK_LOSE;
	return plan->asked % 5 == 0 ? (plan->twice++, LINK_TWICE) : LINK_PASS;
}

static void observe(void *context, bool outgoing, const struct link_path *path, const struct transport_run *run)
{
	struct plan *plan = context;

	++*(outgoing ? &plan->seen_out : &plan->seen_in);
}

static void hooks_see_single_packets(void **state)
{
	struct link_path path = path_make(&gid_b);
	struct plan plan = {0};
	struct host host;
	uint32_t psn = 0, offset = 0;
	unsigned count = 0;

	host_make(&host, (struct link_hooks){judge, observe, &plan});
	for (int i = 0; i < 20; i++)
		assert_int_equal(send_run(&host.end[0], &path, &psn, &offset, 10, 9 * 1024 + 5), 0);
	link_flush(host.end[0].link);
	while (link_receive(host.end[1].link, false, false, 100, count_only, &count) > 0)
		;
	assert_true(plan.asked == 200 && plan.lost > 0 && plan.twice > 0);
	assert_int_equal(count, 200 - plan.lost + plan.twice);
	assert_true(plan.seen_out == count && plan.seen_in == count);
	assert_int_equal(drops(&host.end[0], LINK_DROP_FAULT), plan.lost);
	host_free(&host);
}

static void paths_are_judged(void **state)
{
	const uint8_t from[6] = {2, 0, 0, 0, 0, 1}, to[6] = {2, 0, 0, 0, 0, 2};
	struct link_path_address in = {.gid_type = WIRE_GID_ROCE_V1, .sgid = gid_a, .dgid = gid_b, .ifindex = 5, .dest_qpn = 0x020022};
	struct link_path path = {.ifindex = 99};

	in.gid_type = WIRE_GID_ROCE_V2;
	assert_int_equal(link_path_raw(&path, &in, from, to, 0), BASE_ERR_UNSUPPORTED);
	in.gid_type = WIRE_GID_ROCE_V1;
	in.sgid = (struct wire_gid){{0}};
	assert_int_equal(link_path_raw(&path, &in, from, to, 0), BASE_ERR_UNREACH);
	assert_int_equal(path.ifindex, 99); /* written only on success */
	in.sgid = gid_a;
	assert_int_equal(link_path_raw(&path, &in, from, to, 0), 0);
	assert_true(path.kind == LINK_RAW && path.frame_ifindex == 5 && memcmp(path.frame_to, to, 6) == 0 &&
		    memcmp(path.frame_from, from, 6) == 0);
	/* Mapped IPv4 groups have the MACs of IPv4. */
	in.dgid = wire_gid_from_ipv4((const uint8_t[]){239, 129, 2, 3});
	assert_int_equal(link_path_raw(&path, &in, from, to, 0), 0);
	assert_memory_equal(path.frame_to, ((const uint8_t[]){1, 0, 0x5e, 1, 2, 3}), 6);
	in.dgid = gid_b;
	assert_int_equal(link_path_raw(&path, &in, from, to, 9), 0);
	assert_true(path.frame_ifindex == LINK_RAW_LO && link_raw_local_interface(path.frame_from) == 9);
	assert_int_equal(link_raw_local_interface(from), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_judged),
		cmocka_unit_test(bad_frames_are_counted),
		cmocka_unit_test(without_a_socket),
		cmocka_unit_test(runs_cross_loopback),
		cmocka_unit_test(groups_are_heard_once),
		cmocka_unit_test(overflow_is_counted),
		cmocka_unit_test(small_mtu_is_counted),
		cmocka_unit_test(hooks_see_single_packets),
	};

	if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
		fprintf(stderr, "skipped: no network namespace of our own: %s\n", strerror(errno));
		return 77;
	}
	if (!lo_set(65536)) {
		fprintf(stderr, "skipped: lo cannot be brought up: %s\n", strerror(errno));
		return 77;
	}
	alarm(100); /* a hang is a failure */
	return cmocka_run_group_tests_name("raw", tests, NULL, NULL);
}
