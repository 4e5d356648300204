/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/ucma.h"

#include "broker/ucma_fake_calls.h"

static void test_restart(void **state)
{
	struct pair p = connected(7000);
	uint32_t bound = create(3, 30, RDMA_PS_TCP), resolved = create(3, 31, RDMA_PS_TCP), waiting = routed(3, 32, RDMA_PS_TCP, 7000);

	assert_int_equal(bind_to(3, bound, "127.0.0.1", 7100), 0);
	assert_int_equal(bind_to(3, resolved, "127.0.0.1", 7200), 0);
	assert_int_equal(resolve(3, resolved, "127.0.0.1", 7000), 0);
	event(3, ADDR_RESOLVED, resolved, 0);
	assert_int_equal(connect_to(3, waiting, 0), 0);
	event(1, REQUEST, 0, 0);
	ucma_fake_restart(&fake, &cm_config_fast);
	/* Somebody new is there before the survivors come back: nobody loses an id to it. */
	broker_ucma_gone(fake.u, 3);
	ucma_fake_adopt_all(&fake);
	event(3, UNREACHABLE, waiting, -ETIMEDOUT);
	no_event(1); /* the request was nobody's */
	no_event(2);
	/* With its port. */
	assert_int_equal(query(3, resolved, RDMA_USER_CM_QUERY_ADDR, sizeof(struct rdma_ucm_query_addr_resp)), 0);
	struct sockaddr_in source;
	memcpy(&source, &((struct rdma_ucm_query_addr_resp *)(void *)fake.answer)->src_addr, sizeof(source));
	assert_int_equal(ntohs(source.sin_port), 7200);
	assert_int_equal(route(3, resolved, 1000), 0);
	event(3, ROUTE_RESOLVED, resolved, 0);
	/* Listener and binding. */
	uint32_t other = create(2, 21, RDMA_PS_TCP);
	assert_int_equal(bind_to(2, other, "127.0.0.1", 7100), EADDRINUSE);
	assert_int_equal(connect_to(3, resolved, 0), 0);
	event(1, REQUEST, 0, 0);
	/* The connection. */
	assert_int_equal(disconnect(2, p.client), 0);
	event(1, DISCONNECTED, p.child, 0);
	assert_int_equal(destroy(1, p.child), 0);
}

/* Who was told that it is over is not told again; who waits to hear it does. */
static void test_restart_while_parting(void **state)
{
	struct pair p = connected(7000);

	assert_int_equal(disconnect(2, p.client), 0);
	event(1, DISCONNECTED, p.child, 0);
	/* Slot 1 has not answered. */
	ucma_fake_restart(&fake, &cm_config_fast);
	ucma_fake_adopt_all(&fake);
	event(2, DISCONNECTED, p.client, -ETIMEDOUT);
	no_event(1);
	assert_int_equal(disconnect(1, p.child), 0);
	no_event(1);
	assert_int_equal(connect_to(2, p.client, 0), EINVAL);
}

static void test_damaged_kept_bytes(void **state)
{
	static struct ucma_fake_kept kept[UCMA_FAKE_KEPT];

	connected(7000);
	server(RDMA_PS_UDP, 7100, 5);
	memcpy(kept, fake.kept, sizeof(kept));
	ucma_fake_restart(&fake, &cm_config_fast);
	for (unsigned k = 0; k < UCMA_FAKE_KEPT; k++) {
		struct ucma_fake_kept *one = &kept[k];

		for (unsigned at = 0; at < one->len; at++) {
			for (unsigned flip = 1; flip < 256; flip *= 4) {
				one->bytes[at] ^= (uint8_t)flip;
				ucma_fake_adopt(&fake, one->slot, one->id, one->bytes, one->len);
				broker_ucma_gone(fake.u, one->slot);
				one->bytes[at] ^= (uint8_t)flip;
			}
		}
		if (one->len == 0)
			continue;
		pass();
		ucma_fake_adopt(&fake, one->slot, one->id, one->bytes, one->len - 1);
		ucma_fake_adopt(&fake, one->slot, 0, one->bytes, one->len);
		assert_int_equal(fake.u->count, 0);
		/* Twice the same is once. */
		ucma_fake_adopt(&fake, one->slot, one->id, one->bytes, one->len);
		ucma_fake_adopt(&fake, one->slot, one->id, one->bytes, one->len);
		assert_int_equal(fake.u->count, 1);
		broker_ucma_gone(fake.u, one->slot);
		pass();
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(test_restart), TEST(test_restart_while_parting), TEST(test_damaged_kept_bytes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
