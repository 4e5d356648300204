/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/ucma.h"

#include "broker/ucma_fake_calls.h"

enum { JOINED = 12, FULL = RDMA_MC_JOIN_FLAG_FULLMEMBER, SENDONLY = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER };

/* What the sockets of slots are in: at most one group, which is enough here. */
static struct wire_gid in_group[UCMA_FAKE_SLOTS];
static bool is_in[UCMA_FAKE_SLOTS];
static unsigned changes;
static int refusal;

static int member(void *context, uint8_t slot, const struct wire_gid *mgid, uint32_t ifindex, bool enter)
{
	assert_int_equal(ifindex, 1);
	if (refusal != 0)
		return refusal;
	/* Never twice, and never out of what it is not in. */
	assert_int_equal(is_in[slot], !enter);
	if (!enter)
		assert_true(wire_gid_equal(mgid, &in_group[slot]));
	is_in[slot] = enter;
	in_group[slot] = *mgid;
	changes++;
	return 0;
}

static struct broker_ucma_ops ops;

static void members_watch(void)
{
	ops = *fake.u->ops;
	ops.member = member;
	fake.u->ops = &ops;
}

static int begin(void **state)
{
	start(state);
	memset(is_in, 0, sizeof(is_in));
	changes = 0;
	refusal = 0;
	members_watch();
	return 0;
}

static int end(void **state)
{
	stop(state);
	for (unsigned slot = 0; slot < UCMA_FAKE_SLOTS; slot++)
		assert_false(is_in[slot]);
	return 0;
}

static int join_raw(uint8_t slot, uint32_t id, uint64_t uid, const void *address, uint16_t size, uint16_t flags)
{
	struct rdma_ucm_join_mcast in = { .id = id, .uid = uid, .addr_size = size, .join_flags = flags };

	memcpy(&in.addr, address, size < sizeof(in.addr) ? size : sizeof(in.addr));
	return call(slot, RDMA_USER_CM_CMD_JOIN_MCAST, &in, sizeof(in), sizeof(struct rdma_ucm_create_id_resp));
}

static int join_status(uint8_t slot, uint32_t id, uint64_t uid, const char *group, uint16_t flags)
{
	const struct sockaddr_in address = address_of(group, 0);

	return join_raw(slot, id, uid, &address, sizeof(address), flags);
}

static uint32_t join(uint8_t slot, uint32_t id, uint64_t uid, uint16_t flags)
{
	assert_int_equal(join_status(slot, id, uid, "239.1.2.3", flags), 0);
	return ((struct rdma_ucm_create_id_resp *)(void *)fake.answer)->id;
}

static int leave(uint8_t slot, uint32_t group)
{
	const struct rdma_ucm_destroy_id in = { .id = group };

	return call(slot, RDMA_USER_CM_CMD_LEAVE_MCAST, &in, sizeof(in), sizeof(struct rdma_ucm_destroy_id_resp));
}

static uint32_t bound(uint8_t slot, uint64_t uid)
{
	uint32_t id = create(slot, uid, RDMA_PS_UDP);

	assert_int_equal(bind_to(slot, id, "127.0.0.1", 0), 0);
	return id;
}

static void test_join_and_leave(void **state)
{
	uint32_t id = bound(1, 10), group = join(1, id, 77, FULL);
	const uint8_t mgid[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
	const struct rdma_ucm_event_resp e = fake.events[1][0];

	assert_int_equal(fake.event_count[1], 1);
	assert_int_equal(e.event, JOINED);
	assert_int_equal(e.uid, 77);
	assert_int_equal(e.status, 0);
	assert_int_equal(e.param.ud.qp_num, 0xffffff);
	assert_int_equal(e.param.ud.qkey, 0x01234567);
	assert_int_equal(e.param.ud.ah_attr.is_global, 1);
	assert_int_equal(e.param.ud.ah_attr.grh.hop_limit, 64);
	assert_int_equal(e.param.ud.ah_attr.grh.sgid_index, 1);
	assert_int_equal(e.param.ud.ah_attr.port_num, 1);
	assert_memory_equal(e.param.ud.ah_attr.grh.dgid, mgid, sizeof(mgid));
	assert_true(is_in[1]);
	/* Another client's group is none; an id is no group. */
	assert_int_equal(leave(2, group), ENOENT);
	assert_int_equal(leave(1, id), ENOENT);
	assert_int_equal(leave(1, group), 0);
	assert_int_equal(((struct rdma_ucm_destroy_id_resp *)(void *)fake.answer)->events_reported, 1);
	assert_false(is_in[1]);
	assert_int_equal(leave(1, group), ENOENT);
}

/* RoCEv1: the group of IPv4 is one of IPv6, and there is no IP group to be in. */
static void test_roce_v1(void **state)
{
	const uint8_t mgid[16] = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2, 3 };

	broker_ucma_begin_with(fake.u, WIRE_GID_ROCE_V1);
	uint32_t group = join(1, bound(1, 10), 77, FULL);
	const struct rdma_ucm_event_resp e = fake.events[1][0];

	assert_int_equal(e.event, JOINED);
	assert_int_equal(e.param.ud.ah_attr.grh.sgid_index, 0);
	assert_int_equal(e.param.ud.ah_attr.grh.hop_limit, 1);
	assert_memory_equal(e.param.ud.ah_attr.grh.dgid, mgid, sizeof(mgid));
	assert_int_equal(changes, 0);
	assert_int_equal(leave(1, group), 0);
	assert_int_equal(changes, 0);
}

/* The socket leaves with the last of the client's ids, and only this client's socket. */
static void test_members_are_counted(void **state)
{
	uint32_t one = bound(1, 10), two = bound(1, 11), other = bound(2, 20), group = join(1, one, 77, FULL);

	join(1, two, 78, FULL);
	join(2, other, 79, FULL);
	assert_int_equal(changes, 2);
	assert_int_equal(leave(1, group), 0);
	assert_true(is_in[1]);
	assert_int_equal(destroy(1, two), 0);
	assert_false(is_in[1]);
	assert_true(is_in[2]);
	broker_ucma_gone(fake.u, 2);
	assert_false(is_in[2]);
}

static void test_who_only_sends_is_no_member(void **state)
{
	uint32_t id = bound(1, 10), group = join(1, id, 77, SENDONLY);

	assert_int_equal(fake.event_count[1], 1);
	assert_int_equal(changes, 0);
	assert_int_equal(leave(1, group), 0);
	assert_int_equal(changes, 0);
}

static void test_refusals(void **state)
{
	const struct sockaddr_in group = address_of("239.1.2.3", 0);
	const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { 0xff, 0x0e, [15] = 1 } };
	uint32_t id = create(1, 10, RDMA_PS_UDP), rc = create(1, 11, RDMA_PS_TCP);

	assert_int_equal(join_status(1, id, 77, "239.1.2.3", FULL), EINVAL);
	assert_int_equal(bind_to(1, rc, "127.0.0.1", 0), 0);
	assert_int_equal(join_status(1, rc, 77, "239.1.2.3", FULL), EINVAL);
	assert_int_equal(bind_to(1, id, "127.0.0.1", 0), 0);
	assert_int_equal(join_status(1, id, 77, "0.0.0.0", FULL), EINVAL);
	assert_int_equal(join_status(1, id, 77, "127.0.0.1", FULL), EINVAL);
	assert_int_equal(join_status(1, id, 77, "239.1.2.3", 2), EINVAL);
	assert_int_equal(join_raw(1, id, 77, &six, sizeof(six), FULL), EINVAL);
	assert_int_equal(join_raw(1, id, 77, &group, 0, FULL), EINVAL);
	assert_int_equal(join_raw(1, id, 77, &group, 8, FULL), EINVAL);
	assert_int_equal(join_raw(1, id, 77, &group, 129, FULL), EINVAL);
	assert_int_equal(join_status(2, id, 77, "239.1.2.3", FULL), ENOENT);
	refusal = ENOMEM;
	assert_int_equal(join_status(1, id, 77, "239.1.2.3", FULL), ENOMEM);
	refusal = 0;
	ops.member = NULL;
	assert_int_equal(join_status(1, id, 77, "239.1.2.3", FULL), ENODEV);
	ops.member = member;
	/* An MTU that no message fits into; an interface that is gone. */
	fake.table.devices[0].mtu = 100;
	assert_int_equal(join_status(1, id, 77, "239.1.2.3", FULL), EINVAL);
	fake.table.devices[0].mtu = 1500;
	fake.table.devices[0].ifindex = 0;
	assert_int_equal(join_status(1, id, 77, "239.1.2.3", FULL), ENODEV);
	assert_int_equal(fake.event_count[1], 0);
	assert_int_equal(changes, 0);
}

static void test_the_command_of_old_programs(void **state)
{
	struct rdma_ucm_join_ip_mcast in = { .id = bound(1, 10), .uid = 5 };
	const struct sockaddr_in group = address_of("239.1.2.3", 0);
	const size_t room = sizeof(struct rdma_ucm_create_id_resp);

	memcpy(&in.addr, &group, sizeof(group));
	assert_int_equal(call(1, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &in, 40, room), EINVAL);
	assert_int_equal(call(1, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &in, sizeof(in), room - 1), ENOSPC);
	assert_int_equal(call(1, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &in, sizeof(in), room), 0);
	assert_true(is_in[1]);
	assert_int_equal(fake.events[1][0].uid, 5);
}

/* The socket stayed in: the next broker enters again, which changes nothing, and knows when to leave. */
static void test_next_broker(void **state)
{
	uint32_t id = bound(1, 10), group = join(1, id, 77, FULL);
	uint8_t kept[IPC_CM_MAX] = { 0 };

	ucma_fake_restart(&fake, &cm_config_fast);
	members_watch();
	is_in[1] = false; /* so that entering again is seen */
	ucma_fake_adopt_all(&fake);
	assert_true(is_in[1]);
	assert_int_not_equal(create(1, 11, RDMA_PS_UDP), group);
	assert_int_equal(leave(1, group), 0);
	assert_false(is_in[1]);
	/* Damage, and a group of an id that nobody knows, which goes with the process. */
	for (uint32_t len = 0; len <= 64; len++)
		ucma_fake_adopt(&fake, 1, 900, kept, len);
	assert_null(fake.u->groups);
	for (unsigned i = 0; i < UCMA_FAKE_KEPT; i++)
		assert_int_not_equal(fake.kept[i].len, 40);
	group = join(1, id, 78, FULL);
	for (unsigned i = 0; i < UCMA_FAKE_KEPT; i++)
		if (fake.kept[i].len == 40)
			memcpy(kept, fake.kept[i].bytes, 40);
	kept[4] = 99; /* the id */
	ucma_fake_adopt(&fake, 1, 901, kept, 40);
	ucma_fake_adopt(&fake, 1, 901, kept, 40);
	assert_int_equal(leave(1, group), 0);
	assert_true(is_in[1]);
	broker_ucma_gone(fake.u, 1);
	assert_false(is_in[1]);
	assert_null(fake.u->groups);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_join_and_leave), TEST(test_roce_v1), TEST(test_members_are_counted),
		TEST(test_who_only_sends_is_no_member), TEST(test_refusals),
		TEST(test_the_command_of_old_programs), TEST(test_next_broker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
