/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "broker/core_fake.h"
#include "broker/core_internal.h"

static struct fake fake;

static int settled(void **state)
{
	fake_start(&fake, true);
	return 0;
}

static int unsettled(void **state)
{
	fake_start(&fake, false);
	return 0;
}

static int stop(void **state)
{
	fake_stop(&fake);
	return 0;
}

static struct ipc_fds fds_of(unsigned count)
{
	struct ipc_fds fds = { .count = count };

	for (unsigned i = 0; i < count; i++)
		fds.fd[i] = fake_fd(&fake);
	if (count >= 3)
		fake.is_pidfd[fds.fd[0]] = true;
	return fds;
}

static int step(int client, struct ipc_message message, unsigned fds)
{
	struct ipc_fds handed = fds_of(fds);

	return broker_step(fake.core, (unsigned)client, &message, &handed);
}

static struct ipc_message hello_of(uint8_t slot, uint64_t incarnation)
{
	return (struct ipc_message){ .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_PROCESS, slot != 0, slot,
		incarnation, 5, "test" } };
}

/* The last message to this client, of this type; NULL: none since the log was cleared. */
static const struct ipc_message *last(int client, enum ipc_type type)
{
	for (unsigned i = fake.logged; i-- > 0;)
		if (fake.log[i].client == (unsigned)client && fake.log[i].message.type == type)
			return &fake.log[i].message;
	return NULL;
}

static int join(uint8_t *slot)
{
	int client = fake_connect(&fake, 100);

	assert_true(client >= 0);
	assert_int_equal(step(client, hello_of(0, 0), 3), BASE_OK);
	const struct ipc_message *welcome = last(client, IPC_WELCOME);
	assert_non_null(welcome);
	*slot = welcome->welcome.slot;
	return client;
}

static uint64_t pair(int client, uint8_t slot)
{
	fake.logged = 0;
	assert_int_equal(step(client, (struct ipc_message){ .type = IPC_PAIR_REQUEST, .pair_request = { 4, slot } }, 0), BASE_OK);
	const struct ipc_message *m = last(client, IPC_PAIR);
	assert_non_null(m);
	assert_int_equal(m->pair.id, 4);
	assert_int_equal(m->pair.slot, slot);
	return m->pair.generation;
}

static void test_slots(void **state)
{
	int clients[254];
	bool seen[IPC_SLOTS] = { false };
	uint8_t slot, first = 0, again;

	for (unsigned i = 0; i < 254; i++) {
		fake.logged = 0;
		clients[i] = join(&slot);
		assert_false(seen[slot]);
		seen[slot] = true;
		assert_int_equal(fake.prepared[slot], 1);
		if (i == 100)
			first = slot;
	}
	assert_false(seen[0] || seen[255]);
	/* The 255th: ENOMEM, and the limit is named. */
	int client = fake_connect(&fake, 1);
	assert_int_equal(step(client, hello_of(0, 0), 3), BASE_ERR_NOMEM);
	assert_non_null(strstr(last(client, IPC_REFUSED)->refused.reason, "254"));
	assert_int_equal(last(client, IPC_REFUSED)->refused.error, BASE_ERR_NOMEM);
	assert_false(fake.connected[client]);
	/* Oldest-freed-first. */
	fake_hang_up(&fake, (unsigned)clients[100]);
	fake_hang_up(&fake, (unsigned)clients[3]);
	fake_hang_up(&fake, (unsigned)clients[200]);
	join(&again);
	assert_int_equal(again, first);
	assert_int_equal(fake.prepared[first], 2);
	assert_true(fake.core->registry->slots[first].incarnation > 254);
}

static void test_pair_life(void **state)
{
	uint8_t a, b, c;
	int ca = join(&a), cb = join(&b), cc = join(&c);
	uint64_t g = pair(ca, b);

	assert_true(last(cb, IPC_PAIR)->pair.generation == g && last(cb, IPC_PAIR)->pair.id == 0 && last(cb,
		IPC_PAIR)->pair.slot == a);
	/* Asked for again by either side: the same one, and the other side does not hear of it again. */
	assert_true(pair(cb, a) == g);
	assert_null(last(ca, IPC_PAIR));
	uint64_t h = pair(ca, c);
	assert_true(h > g);
	fake.logged = 0;
	broker_process_gone(fake.core, a);
	assert_false(fake.connected[ca]);
	assert_true(last(cb, IPC_PEER_GONE)->peer.slot == a && last(cb, IPC_PEER_GONE)->peer.generation == g);
	assert_true(last(cc, IPC_PEER_GONE)->peer.generation == h);
	assert_int_equal(fake.core->pair_count, 0);
	assert_int_equal(fake.mapped, 0);
	/* Nobody, ourselves, no memory. */
	assert_int_equal(step(cb, (struct ipc_message){ .type = IPC_PAIR_REQUEST, .pair_request = { 5, a } }, 0), BASE_OK);
	assert_int_equal(last(cb, IPC_PAIR_REFUSED)->pair_refused.error, BASE_ERR_NOENT);
	assert_int_equal(step(cb, (struct ipc_message){ .type = IPC_PAIR_REQUEST, .pair_request = { 6, b } }, 0), BASE_OK);
	assert_int_equal(last(cb, IPC_PAIR_REFUSED)->pair_refused.error, BASE_ERR_INVAL);
	fake.pair_fails = true;
	assert_int_equal(step(cb, (struct ipc_message){ .type = IPC_PAIR_REQUEST, .pair_request = { 7, c } }, 0), BASE_OK);
	assert_int_equal(last(cb, IPC_PAIR_REFUSED)->pair_refused.error, BASE_ERR_NOMEM);
}

static void test_rules_of_stages(void **state)
{
	uint8_t slot;
	const struct ipc_message request = { .type = IPC_PAIR_REQUEST, .pair_request = { 1, 1 } };
	const struct ipc_message observer = { .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_OBSERVER } };

	/* Nothing before HELLO, no second HELLO, no reports without resuming; an observer only asks. */
	int client = fake_connect(&fake, 1);
	assert_int_equal(step(client, request, 0), BASE_ERR_MALFORMED);
	assert_false(fake.connected[client]);
	client = join(&slot);
	assert_int_equal(step(client, hello_of(0, 0), 3), BASE_ERR_MALFORMED);
	assert_int_equal(fake.core->slots[slot].state, BROKER_SLOT_FREE);
	client = join(&slot);
	assert_int_equal(step(client, (struct ipc_message){ .type = IPC_PAIR_REPORT, .peer = { 9, 9 } }, 1), BASE_ERR_MALFORMED);
	client = fake_connect(&fake, 1);
	assert_int_equal(step(client, observer, 0), BASE_OK);
	assert_int_equal(last(client, IPC_WELCOME)->welcome.slot, 0);
	assert_int_equal(step(client, (struct ipc_message){ .type = IPC_STAT_REQUEST, .stat_request = { 3, IPC_STAT_OF_BROKER,
		0 } }, 0),
		BASE_OK);
	assert_int_equal(last(client, IPC_STAT_SUMMARY)->stat_summary.observers, 1);
	assert_int_equal(last(client, IPC_STAT_SUMMARY)->stat_summary.cm.connections, 3);
	assert_int_equal(last(client, IPC_STAT_SUMMARY)->stat_summary.gsi.drop_address, 7);
	assert_int_equal(last(client, IPC_STAT_SUMMARY)->stat_summary.refused_messages, 3);
	assert_int_equal(step(client, request, 0), BASE_ERR_MALFORMED);
	/* Another version; a HELLO without a pidfd. */
	client = fake_connect(&fake, 1);
	assert_int_equal(step(client, (struct ipc_message){ .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL + 1 } }, 3),
		BASE_ERR_UNSUPPORTED);
	assert_int_equal(last(client, IPC_REFUSED)->refused.error, BASE_ERR_UNSUPPORTED);
	client = fake_connect(&fake, 1);
	struct ipc_fds fds = fds_of(3);
	struct ipc_message hello = hello_of(0, 0);
	fake.is_pidfd[fds.fd[0]] = false;
	assert_int_equal(broker_step(fake.core, (unsigned)client, &hello, &fds), BASE_ERR_MALFORMED);
	for (unsigned s = 0; s < IPC_SLOTS; s++)
		assert_int_equal(fake.core->slots[s].state, BROKER_SLOT_FREE);
	/* Too many observers. */
	for (unsigned i = 0; i <= BROKER_OBSERVERS_MAX; i++)
		assert_int_equal(step(fake_connect(&fake, 1), observer, 0), i < BROKER_OBSERVERS_MAX ? BASE_OK : BASE_ERR_NOMEM);
}

/* The registry says 10 and 20 are alive; both come back, in either order; a new process waits and gets another slot. */
static void test_resuming(void **state)
{
	fake.registry.slots[10].incarnation = fake.registry.next++;
	fake.registry.slots[20].incarnation = fake.registry.next++;
	fake.registry.slots[30].incarnation = fake.registry.next++;
	uint64_t g = fake.registry.next++;
	uint64_t ten = fake.registry.slots[10].incarnation, twenty = fake.registry.slots[20].incarnation;
	fake.settle_on_vault = true;

	int fresh = fake_connect(&fake, 1);
	assert_int_equal(step(fresh, hello_of(0, 0), 3), BASE_OK);
	assert_null(last(fresh, IPC_WELCOME));
	int a = fake_connect(&fake, 1);
	assert_int_equal(step(a, hello_of(10, ten), 5), BASE_OK);
	assert_int_equal(last(a, IPC_WELCOME)->welcome.slot, 10);
	assert_true(last(a, IPC_WELCOME)->welcome.incarnation == ten);
	assert_non_null(last(fresh, IPC_WELCOME));
	uint8_t new_slot = last(fresh, IPC_WELCOME)->welcome.slot;
	assert_true(new_slot != 10 && new_slot != 20 && new_slot != 30);
	/* Its pair with 20, and a stale one with the newcomer's slot. */
	assert_int_equal(step(a, (struct ipc_message){ .type = IPC_PAIR_REPORT, .peer = { 20, g } }, 1), BASE_OK);
	assert_int_equal(step(a, (struct ipc_message){ .type = IPC_PAIR_REPORT, .peer = { new_slot, g } }, 1), BASE_OK);
	assert_int_equal(last(a, IPC_PEER_GONE)->peer.slot, new_slot);
	assert_int_equal(step(a, (struct ipc_message){ .type = IPC_RESUME_DONE }, 0), BASE_OK);
	/* Who asks for one that is not back yet waits. */
	assert_int_equal(step(fresh, (struct ipc_message){ .type = IPC_PAIR_REQUEST, .pair_request = { 1, 20 } }, 0), BASE_OK);
	assert_int_equal(step(fresh, (struct ipc_message){ .type = IPC_PAIR_REQUEST, .pair_request = { 2, 30 } }, 0), BASE_OK);
	assert_null(last(fresh, IPC_PAIR));
	assert_null(last(fresh, IPC_PAIR_REFUSED));
	/* An impostor does not get the slot. */
	int impostor = fake_connect(&fake, 1);
	assert_int_equal(step(impostor, hello_of(20, twenty + 1), 5), BASE_ERR_EXISTS);
	int b = fake_connect(&fake, 1);
	assert_int_equal(step(b, hello_of(20, twenty), 5), BASE_OK);
	assert_null(last(b, IPC_PAIR));
	/* The pair had not reached it before the old broker died: it gets it when all is reported. */
	assert_int_equal(step(b, (struct ipc_message){ .type = IPC_RESUME_DONE }, 0), BASE_OK);
	assert_non_null(last(fresh, IPC_PAIR));
	bool got = false;
	for (unsigned i = 0; i < fake.logged; i++)
		got = got || (fake.log[i].client == (unsigned)b && fake.log[i].message.type == IPC_PAIR &&
			fake.log[i].message.pair.generation == g);
	assert_true(got);
	/* The third one is dead. */
	broker_process_gone(fake.core, 30);
	assert_int_equal(last(fresh, IPC_PAIR_REFUSED)->pair_refused.slot, 30);
	assert_int_equal(fake.core->pair_count, 2);
}

static void test_suspended(void **state)
{
	uint8_t a, b;
	int ca = join(&a), cb = join(&b);
	uint64_t incarnation = last(cb, IPC_WELCOME)->welcome.incarnation, g = pair(ca, b);

	broker_client_suspend(fake.core, (unsigned)cb);
	assert_false(fake.connected[cb]);
	assert_true(fake.watched[b]);
	assert_null(last(ca, IPC_PEER_GONE));
	fake.logged = 0; /* its number may be the old one's */
	int back = fake_connect(&fake, 1);
	assert_int_equal(step(back, hello_of(b, incarnation), 5), BASE_OK);
	assert_int_equal(step(back, (struct ipc_message){ .type = IPC_PAIR_REPORT, .peer = { a, g } }, 1), BASE_OK);
	assert_int_equal(step(back, (struct ipc_message){ .type = IPC_RESUME_DONE }, 0), BASE_OK);
	assert_null(last(back, IPC_PAIR));
	assert_int_equal(fake.core->pair_count, 1);
	broker_client_suspend(fake.core, (unsigned)back);
	broker_process_gone(fake.core, b);
	assert_true(last(ca, IPC_PEER_GONE)->peer.generation == g);
	assert_false(broker_is_idle(fake.core));
	fake_hang_up(&fake, (unsigned)ca);
	assert_true(broker_is_idle(fake.core));
}

static void test_lists(void **state)
{
	uint8_t slots[200];
	int clients[200];

	for (unsigned i = 0; i < 200; i++)
		clients[i] = join(&slots[i]);
	for (unsigned i = 1; i < 200; i++)
		pair(clients[0], slots[i]);
	assert_int_equal(step(clients[5], (struct ipc_message){ .type = IPC_EXPORT_SET }, 1), BASE_OK);
	unsigned listed = 0, exports = 0;
	for (uint32_t from = 0, more = 1; more; more = from != 0) {
		fake.logged = 0;
		step(clients[0], (struct ipc_message){ .type = IPC_STAT_REQUEST, .stat_request = { 1, IPC_STAT_OF_CLIENTS, from } }, 0);
		const struct ipc_stat_client_list *l = &last(clients[0], IPC_STAT_CLIENT_LIST)->stat_clients;
		for (uint32_t i = 0; i < l->count; i++) {
			assert_int_equal(l->clients[i].pairs, l->clients[i].slot == slots[0] ? 199 : 1);
			exports += l->clients[i].has_export;
		}
		listed += l->count;
		from = l->next;
	}
	assert_int_equal(listed, 200);
	assert_int_equal(exports, 1);
	listed = 0;
	for (uint32_t from = 0, more = 1; more; more = from != 0) {
		fake.logged = 0;
		step(clients[0], (struct ipc_message){ .type = IPC_STAT_REQUEST, .stat_request = { 1, IPC_STAT_OF_PAIRS, from } }, 0);
		listed += last(clients[0], IPC_STAT_PAIR_LIST)->stat_pairs.count;
		from = last(clients[0], IPC_STAT_PAIR_LIST)->stat_pairs.next;
	}
	assert_int_equal(listed, 199);
	fake.logged = 0;
	step(clients[1], (struct ipc_message){ .type = IPC_EXPORT_REQUEST, .export = { 1, slots[5] } }, 0);
	assert_int_equal(fake.log[0].fds, 1);
	step(clients[1], (struct ipc_message){ .type = IPC_EXPORT_REQUEST, .export = { 1, slots[6] } }, 0);
	assert_int_equal(fake.log[1].fds, 0);
}

static void test_registry(void **state)
{
	struct broker_registry r;

	broker_registry_init(&r, 1);
	assert_true(broker_registry_is_sound(&r));
	r.slots[0].incarnation = 1;
	assert_false(broker_registry_is_sound(&r));
	broker_registry_init(&r, 1);
	r.slots[9].incarnation = r.next;
	assert_false(broker_registry_is_sound(&r));
	broker_registry_init(&r, 1);
	r.slots[9].freed_at = r.freed + 1;
	assert_false(broker_registry_is_sound(&r));
	broker_registry_init(&r, 1);
	r.next = UINT64_MAX;
	assert_false(broker_registry_is_sound(&r));
	for (uint64_t seed = 0; seed < 1000; seed++) {
		broker_registry_init(&r, seed);
		assert_true(broker_registry_is_sound(&r));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_slots, settled, stop),           /* 254, the 255th, oldest freed first */
		cmocka_unit_test_setup_teardown(test_pair_life, settled, stop),       /* one per two, closed and told at death */
		cmocka_unit_test_setup_teardown(test_rules_of_stages, settled, stop), /* who may say what, when */
		cmocka_unit_test_setup_teardown(test_resuming, unsettled, stop),      /* survivors of a broker's death */
		cmocka_unit_test_setup_teardown(test_suspended, settled, stop),       /* one that did not read */
		cmocka_unit_test_setup_teardown(test_lists, settled, stop),           /* more than one message of them */
		cmocka_unit_test(test_registry),                                      /* what is taken from a survivor */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
