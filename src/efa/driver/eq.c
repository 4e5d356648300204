/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/driver/eq.h"

#include "base/err.h"
#include "base/log.h"
#include "efa/abi/event.h"
#include "efa/driver/command.h"
#include "efa/driver/driver.h"
#include "efa/driver/ring.h"

static void arm(struct efa_driver *driver, const struct efa_driver_eq *eq)
{
	efa_com_write(&driver->com, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | eq->eqn);
}

static int create_one(struct efa_driver *driver, struct efa_driver_eq *eq, uint8_t vector)
{
	struct efa_abi_create_eq in = { .vector = vector, .caps = EFA_EQ_ENTRY_WORDS, .event_mask = EFA_EQ_EVENT_COMPLETION };
	int err;

	*eq = (struct efa_driver_eq){ .depth = driver->event_queue.max_eq_depth, .vector = vector };
	err = efa_driver_memory_init(&eq->ring, &driver->com.function, (uint64_t)eq->depth * EFA_EQE_BYTES, EFA_BUS_FROM_DEVICE);
	if (err != 0)
		return err;
	in.depth = (uint16_t)eq->depth;
	in.base = eq->ring.bus;
	err = efa_com_create_eq(&driver->com, &in, &eq->eqn);
	if (err != 0)
		return err;
	eq->live = true;
	arm(driver, eq);
	return 0;
}

int efa_driver_eqs_create(struct efa_driver *driver)
{
	uint32_t wanted = driver->wanted_eqs < driver->event_queue.max_eq ? driver->wanted_eqs : driver->event_queue.max_eq;

	if (wanted > EFA_DRIVER_EQS)
		wanted = EFA_DRIVER_EQS;
	for (uint32_t i = 0; i < wanted; i++) {
		int err = create_one(driver, &driver->eqs[i], (uint8_t)(i + 1));

		driver->num_eqs = i + 1; /* the failed one has memory to free */
		if (err != 0)
			return err;
	}
	return 0;
}

void efa_driver_eqs_destroy(struct efa_driver *driver)
{
	for (uint32_t i = 0; i < driver->num_eqs; i++) {
		if (driver->eqs[i].live)
			(void)efa_com_destroy_eq(&driver->com, driver->eqs[i].eqn);
		driver->eqs[i].live = false;
	}
}

void efa_driver_eqs_free(struct efa_driver *driver)
{
	for (uint32_t i = 0; i < driver->num_eqs; i++) {
		driver->eqs[i].live = false;
		efa_driver_memory_fini(&driver->eqs[i].ring, &driver->com.function);
	}
	driver->num_eqs = 0;
}

static void handle_eq(struct efa_driver *driver, struct efa_driver_eq *eq)
{
	uint8_t entry[EFA_EQE_BYTES];

	while (efa_ring_take(eq->ring.bytes, eq->depth, EFA_EQE_BYTES, 0, eq->consumer, entry)) {
		struct efa_abi_eqe event = efa_abi_eqe_load(entry);

		eq->consumer++;
		if (event.type != EFA_EQE_COMPLETION)
			driver->stats.strange_events++;
		else if (driver->events.completion != NULL)
			driver->events.completion(driver->events.context, event.cqn);
	}
	arm(driver, eq); /* whether or not there was anything */
}

static void handle_aenq(struct efa_driver *driver)
{
	struct efa_com *com = &driver->com;
	uint8_t entry[EFA_AENQ_ENTRY_BYTES];
	bool any = false;

	while (com->aenq.bytes != NULL &&
	       efa_ring_take(com->aenq.bytes, EFA_AENQ_DEPTH, EFA_AENQ_ENTRY_BYTES, EFA_AENQ_FLAGS_AT, com->aenq_consumer, entry)) {
		struct efa_abi_aenq event = efa_abi_aenq_load(entry);

		com->aenq_consumer++;
		any = true;
		if (event.group == EFA_AENQ_KEEP_ALIVE) {
			driver->stats.keep_alives++;
			driver->last_keep_alive = efa_driver_now(&com->host);
		} else {
			driver->stats.unhandled++;
			base_explain("efa: event of group %u, syndrome %u", event.group, event.syndrome);
		}
	}
	if (any)
		efa_com_write(com, EFA_REG_AENQ_CONS_DB, com->aenq_consumer);
}

void efa_driver_interrupts(struct efa_driver *driver)
{
	uint32_t fired = driver->com.function.ops->interrupts(driver->com.function.context);

	if ((fired & 1) != 0) {
		efa_com_take_answers(&driver->com);
		handle_aenq(driver);
	}
	for (uint32_t i = 0; i < driver->num_eqs; i++) {
		if (driver->eqs[i].live && (fired & 1u << driver->eqs[i].vector) != 0)
			handle_eq(driver, &driver->eqs[i]);
	}
}

int efa_driver_pick_eq(struct efa_driver *driver, uint32_t vector, uint16_t *eqn)
{
	if (driver->num_eqs == 0)
		return BASE_ERR_UNSUPPORTED;
	*eqn = driver->eqs[vector % driver->num_eqs].eqn;
	return 0;
}
