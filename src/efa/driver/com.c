/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/driver/com.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "efa/abi/command.h"
#include "efa/abi/event.h"
#include "efa/driver/ring.h"

#define POLL_INTERVAL (100 * BASE_MSEC)
/* What "no timeout given" means. */
#define ADMIN_TIMEOUT_DEFAULT (30 * BASE_SEC)
#define ADMIN_TIMEOUT_UNIT (100 * BASE_MSEC)

static void write64(struct efa_com *com, uint16_t low, uint16_t high, uint64_t value)
{
	efa_com_write(com, low, (uint32_t)value);
	efa_com_write(com, high, (uint32_t)(value >> 32));
}

static void write_caps(struct efa_com *com, uint16_t reg, uint16_t depth)
{
	struct efa_abi_ring_caps caps = { .depth = depth, .entry_bytes = EFA_ADMIN_ENTRY_BYTES, .vector = 0 };

	efa_com_write(com, reg, efa_abi_ring_caps_pack(&caps));
}

static void free_rings(struct efa_com *com)
{
	efa_driver_memory_fini(&com->sq, &com->function);
	efa_driver_memory_fini(&com->cq, &com->function);
	efa_driver_memory_fini(&com->aenq, &com->function);
}

static int make_rings(struct efa_com *com)
{
	int err = efa_driver_memory_init(&com->sq, &com->function, EFA_AQ_DEPTH * EFA_ADMIN_ENTRY_BYTES, EFA_BUS_TO_DEVICE);

	if (err == 0)
		err = efa_driver_memory_init(&com->cq, &com->function, EFA_AQ_DEPTH * EFA_ADMIN_ENTRY_BYTES, EFA_BUS_FROM_DEVICE);
	if (err == 0)
		err = efa_driver_memory_init(&com->aenq, &com->function, EFA_AENQ_DEPTH * EFA_AENQ_ENTRY_BYTES, EFA_BUS_FROM_DEVICE);
	if (err != 0)
		free_rings(com);
	return err;
}

int efa_com_start(struct efa_com *com)
{
	uint32_t status = efa_com_read(com, EFA_REG_DEV_STS), caps;
	int err;

	if (status == EFA_MMIO_BAD || (status & EFA_DEV_STS_READY) == 0)
		return BASE_ERR_NODEV;
	free_rings(com);
	err = make_rings(com);
	if (err != 0)
		return err;
	com->sq_producer = com->cq_consumer = com->aenq_consumer = 0;
	memset(com->contexts, 0, sizeof(com->contexts));
	efa_com_set_polling(com, true);
	write64(com, EFA_REG_AQ_BASE_LO, EFA_REG_AQ_BASE_HI, com->sq.bus);
	write_caps(com, EFA_REG_AQ_CAPS, EFA_AQ_DEPTH);
	write64(com, EFA_REG_ACQ_BASE_LO, EFA_REG_ACQ_BASE_HI, com->cq.bus);
	write_caps(com, EFA_REG_ACQ_CAPS, EFA_AQ_DEPTH);
	write64(com, EFA_REG_AENQ_BASE_LO, EFA_REG_AENQ_BASE_HI, com->aenq.bus);
	write_caps(com, EFA_REG_AENQ_CAPS, EFA_AENQ_DEPTH);
	efa_com_write(com, EFA_REG_AENQ_CONS_DB, 0);
	caps = efa_com_read(com, EFA_REG_CAPS);
	if (caps == EFA_MMIO_BAD) {
		free_rings(com);
		return BASE_ERR_NODEV;
	}
	com->admin_timeout = efa_abi_caps_unpack(caps).admin_timeout * ADMIN_TIMEOUT_UNIT;
	if (com->admin_timeout == 0)
		com->admin_timeout = ADMIN_TIMEOUT_DEFAULT;
	com->running = true;
	return 0;
}

void efa_com_stop(struct efa_com *com)
{
	com->running = false;
	free_rings(com);
}

void efa_com_set_polling(struct efa_com *com, bool polling)
{
	com->polling = polling;
	efa_com_write(com, EFA_REG_INTR_MASK, polling ? EFA_INTR_MASK_MANAGEMENT : 0);
}

static struct efa_com_context *context_take(struct efa_com *com)
{
	for (uint32_t i = 0; i < EFA_AQ_DEPTH; i++) {
		if (com->contexts[i].state == EFA_COM_FREE)
			return &com->contexts[i];
	}
	return NULL;
}

/* All contexts are taken when as many commands as the ring is deep are under way: the first that ends makes room. */
static struct efa_com_context *context_wait(struct efa_com *com)
{
	uint64_t until = efa_driver_now(&com->host) + com->admin_timeout;
	struct efa_com_context *context;

	while ((context = context_take(com)) == NULL && com->running && efa_driver_now(&com->host) < until)
		efa_driver_wait(&com->host, until);
	return context;
}

static void submit(struct efa_com *com, struct efa_com_context *context, const uint8_t *entry)
{
	uint8_t *slot = com->sq.bytes + (com->sq_producer & (EFA_AQ_DEPTH - 1)) * EFA_ADMIN_ENTRY_BYTES;
	uint32_t index = (uint32_t)(context - com->contexts);
	struct efa_abi_aq_head head = efa_abi_aq_head_load(entry);

	/* The upper bits make an answer to an earlier user of the context recognizable. */
	head.command_id = (uint16_t)((com->sq_producer / EFA_AQ_DEPTH * EFA_AQ_DEPTH | index) & EFA_AQ_ID_MASK);
	head.flags = (uint8_t)((head.flags & ~EFA_AQ_FLAG_PHASE) |
			       ((com->sq_producer / EFA_AQ_DEPTH & 1) == 0 ? EFA_AQ_FLAG_PHASE : 0));
	*context = (struct efa_com_context){ .state = EFA_COM_SUBMITTED, .id = head.command_id };
	memcpy(slot, entry, EFA_ADMIN_ENTRY_BYTES);
	efa_abi_aq_head_store(slot, &head);
	com->sq_producer++;
	com->stats.submitted++;
	efa_com_write(com, EFA_REG_AQ_PROD_DB, com->sq_producer);
}

void efa_com_take_answers(struct efa_com *com)
{
	while (com->cq.bytes != NULL) {
		uint8_t entry[EFA_ADMIN_ENTRY_BYTES];
		struct efa_abi_acq_head head;
		struct efa_com_context *context;

		if (!efa_ring_take(com->cq.bytes, EFA_AQ_DEPTH, EFA_ADMIN_ENTRY_BYTES, EFA_AQ_FLAGS_AT, com->cq_consumer, entry))
			return;
		com->cq_consumer++;
		head = efa_abi_acq_head_load(entry);
		context = &com->contexts[head.command_id & (EFA_AQ_DEPTH - 1)];
		if (context->state != EFA_COM_SUBMITTED || context->id != head.command_id) {
			com->stats.strays++;
			base_warn("efa: an admin completion answers no command (id %u)", head.command_id);
			continue;
		}
		com->stats.completed++;
		context->status = head.status;
		context->extended = head.extended_status;
		memcpy(context->entry, entry, sizeof(context->entry));
		context->state = EFA_COM_DONE;
	}
}

/* No answer, or one that nobody was told of: the adapter is not to be trusted any more. */
static int give_up(struct efa_com *com, struct efa_com_context *context, uint8_t opcode)
{
	efa_com_take_answers(com);
	com->stats.no_completion++;
	com->running = false;
	base_warn("efa: %s %s; the admin queue is stopped", efa_abi_opcode_text(opcode),
		  context->state == EFA_COM_DONE ? "was answered without an interrupt" : "was not answered");
	context->state = EFA_COM_FREE;
	return BASE_ERR_TIMEDOUT;
}

/* The interrupt is taken by whoever owns all of them, within the wait. */
static int await(struct efa_com *com, struct efa_com_context *context, uint8_t opcode)
{
	uint64_t until = efa_driver_now(&com->host) + com->admin_timeout;

	for (;;) {
		uint64_t now = efa_driver_now(&com->host);

		if (com->polling)
			efa_com_take_answers(com);
		if (context->state == EFA_COM_DONE)
			return 0;
		if (now >= until)
			return give_up(com, context, opcode);
		efa_driver_wait(&com->host, com->polling && now + POLL_INTERVAL < until ? now + POLL_INTERVAL : until);
	}
}

static int error_of(uint8_t status)
{
	switch (status) {
	case EFA_ADMIN_OK:
		return 0;
	case EFA_ADMIN_NO_RESOURCE:
		return BASE_ERR_NOMEM;
	case EFA_ADMIN_UNSUPPORTED:
		return BASE_ERR_UNSUPPORTED;
	default:
		return BASE_ERR_INVAL;
	}
}

int efa_com_execute(struct efa_com *com, const uint8_t *entry, uint8_t *answer)
{
	uint8_t opcode = efa_abi_aq_head_load(entry).opcode;
	struct efa_com_context *context = com->running ? context_wait(com) : NULL;
	int err;

	if (!com->running)
		return BASE_ERR_NODEV;
	if (context == NULL)
		return BASE_ERR_TIMEDOUT;
	submit(com, context, entry);
	err = await(com, context, opcode);
	if (err != 0)
		return err;
	err = error_of(context->status);
	if (err != 0) {
		com->stats.failed++;
		com->last_extended = context->extended;
		base_explain("efa: %s: %s (byte %u)", efa_abi_opcode_text(opcode), efa_abi_admin_status_text(context->status),
			     context->extended);
	} else if (answer != NULL) {
		memcpy(answer, context->entry, EFA_ADMIN_ENTRY_BYTES);
	}
	context->state = EFA_COM_FREE;
	return err;
}
