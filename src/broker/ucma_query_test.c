/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/ucma.h"

#include "broker/ucma_fake_calls.h"

static const struct wire_gid one = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } }, two = { { [10] = 0xff, 0xff, 127, 0, 0, 2 } };

static void noticed(int neighbour, uint32_t ifindex, const struct wire_gid *address)
{
	fake.neighbour = neighbour;
	broker_ucma_neighbour_changed(fake.u, ifindex, address);
}

static void pass_ms(unsigned ms)
{
	ucma_fake_tick(&fake, ms * BASE_MSEC);
}

static void test_answer(void **state)
{
	uint32_t id = create(1, 1, RDMA_PS_TCP), bound = create(1, 2, RDMA_PS_TCP);

	assert_int_equal(bind_to(1, bound, "127.0.0.1", 7200), 0);
	fake.neighbour = BASE_ERR_AGAIN;
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), 0);
	assert_int_equal(resolve(1, bound, "127.0.0.1", 7000), 0);
	no_event(1);
	assert_true(broker_ucma_is_asking(fake.u) && broker_ucma_deadline(fake.u) == fake.now + BASE_SEC);
	/* Nothing else can be done with it meanwhile. */
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), EINVAL);
	assert_int_equal(bind_to(1, id, "127.0.0.1", 0), EINVAL);
	assert_int_equal(route(1, id, 1000), EINVAL);
	assert_int_equal(listen_on(1, bound, 1), EINVAL);
	assert_int_equal(connect_to(1, id, 0), EINVAL);
	/* Others' notices, and one that says nothing yet. */
	noticed(BASE_OK, 2, &one);
	noticed(BASE_OK, 1, &two);
	noticed(BASE_ERR_AGAIN, 1, &one);
	noticed(BASE_ERR_TIMEDOUT, 1, &one);
	noticed(BASE_ERR_UNREACH, 1, &one);
	no_event(1);
	noticed(BASE_OK, 1, &one);
	event(1, ADDR_RESOLVED, bound, 0);
	event(1, ADDR_RESOLVED, id, 0);
	assert_false(broker_ucma_is_asking(fake.u));
	assert_int_equal(route(1, bound, 1000), 0);
	event(1, ROUTE_RESOLVED, bound, 0);
	assert_int_equal(query(1, bound, RDMA_USER_CM_QUERY_ADDR, sizeof(struct rdma_ucm_query_addr_resp)), 0);
	struct sockaddr_in source;
	memcpy(&source, &((struct rdma_ucm_query_addr_resp *)(void *)fake.answer)->src_addr, sizeof(source));
	assert_int_equal(ntohs(source.sin_port), 7200);
	/* Lost notices: all are looked at. */
	uint32_t third = create(1, 3, RDMA_PS_TCP);
	fake.neighbour = BASE_ERR_AGAIN;
	assert_int_equal(resolve(1, third, "127.0.0.1", 7000), 0);
	noticed(BASE_OK, 0, &(struct wire_gid){ { 0 } });
	event(1, ADDR_RESOLVED, third, 0);
}

static void test_nobody(void **state)
{
	uint32_t id = create(1, 1, RDMA_PS_TCP), other = create(2, 1, RDMA_PS_TCP);

	fake.neighbour = BASE_ERR_AGAIN;
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), 0);
	pass_ms(500);
	assert_int_equal(resolve(2, other, "127.0.0.1", 7000), 0);
	pass_ms(499);
	no_event(1);
	pass_ms(1);
	event(1, ADDR_ERROR, id, -ETIMEDOUT);
	no_event(2);
	pass_ms(500);
	event(2, ADDR_ERROR, other, -ETIMEDOUT);
	assert_false(broker_ucma_is_asking(fake.u));
	/* It can try again. */
	fake.neighbour = BASE_OK;
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), 0);
	event(1, ADDR_RESOLVED, id, 0);
	/* No way at all is told at once. */
	fake.neighbour = BASE_ERR_UNREACH;
	assert_int_equal(resolve(2, other, "127.0.0.1", 7000), ENETUNREACH);
	no_event(2);
}

/* Whoever asked is gone, or its device is. */
static void test_gone(void **state)
{
	uint32_t id = create(1, 1, RDMA_PS_TCP), other = create(2, 1, RDMA_PS_TCP), third = create(3, 1, RDMA_PS_TCP);

	fake.neighbour = BASE_ERR_AGAIN;
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), 0);
	assert_int_equal(resolve(2, other, "127.0.0.1", 7000), 0);
	assert_int_equal(resolve(3, third, "127.0.0.1", 7000), 0);
	assert_int_equal(destroy(1, id), 0);
	broker_ucma_gone(fake.u, 2);
	fake.table.devices[0].ifindex = 0;
	noticed(BASE_OK, 1, &one);
	no_event(1);
	event(3, ADDR_ERROR, third, -ENODEV);
	assert_false(broker_ucma_is_asking(fake.u));
	fake.table.devices[0].ifindex = 1;
}

/* The next broker knows that something was asked. */
static void test_restart(void **state)
{
	uint32_t id = create(1, 1, RDMA_PS_TCP), bound = create(1, 2, RDMA_PS_TCP);

	assert_int_equal(bind_to(1, bound, "127.0.0.1", 7200), 0);
	fake.neighbour = BASE_ERR_AGAIN;
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), 0);
	assert_int_equal(resolve(1, bound, "127.0.0.1", 7000), 0);
	ucma_fake_restart(&fake, &cm_config_fast);
	ucma_fake_adopt_all(&fake);
	for (int i = 0; i < 2; i++)
		assert_int_equal((int)event(1, ADDR_ERROR, 0, -ETIMEDOUT).status, -ETIMEDOUT);
	no_event(1);
	fake.neighbour = BASE_OK;
	assert_int_equal(resolve(1, bound, "127.0.0.1", 7000), 0);
	event(1, ADDR_RESOLVED, bound, 0);
	assert_int_equal(resolve(1, id, "127.0.0.1", 7000), 0);
	event(1, ADDR_RESOLVED, id, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answer),  /* the notice about its hop resolves it */
		TEST(test_nobody),  /* ADDR_ERROR when the time is over */
		TEST(test_gone),    /* programs and devices that go meanwhile */
		TEST(test_restart), /* brokers that do */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
