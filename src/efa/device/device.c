/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/device/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "efa/device/device_internal.h"

static int make_tables(struct efa_device *device)
{
	const struct efa_device_profile *p = &device->profile;
	bool has_eq = (p->device.supported_features & 1ull << EFA_FEATURE_EVENT_QUEUE_ATTR) != 0;
	int err = efa_eq_table_init(&device->eqs, has_eq ? p->events.max_eq : 0);

	if (err == 0)
		err = efa_uar_table_init(&device->uars, p->max_uar);
	if (err == 0)
		err = efa_pd_table_init(&device->pds, p->queue.max_pd);
	if (err == 0)
		err = efa_mr_table_init(&device->mrs, p->queue.max_mr);
	if (err == 0)
		err = efa_cq_table_init(&device->cqs, p->queue.max_cq, p->max_uar);
	if (err == 0)
		err = efa_qp_table_init(&device->qps, p->queue.max_qp, p->max_uar, p->queue.max_llq_size);
	if (err == 0)
		err = efa_ah_table_init(&device->ahs, p->queue.max_ah);
	return err;
}

int efa_device_create(const struct efa_device_config *config, struct efa_device **out)
{
	struct efa_device *device;
	int err = efa_device_profile_check(config->profile);

	if (err != 0)
		return err;
	device = calloc(1, sizeof(*device));
	if (device == NULL)
		return BASE_ERR_NOMEM;
	device->profile = *config->profile;
	device->host = config->host;
	device->engine = config->engine;
	device->random.state = config->seed;
	memcpy(device->gid, config->gid, sizeof(device->gid));
	err = make_tables(device);
	if (err != 0) {
		efa_device_destroy(device);
		return err;
	}
	device->registers.status = EFA_DEV_STS_READY;
	device->keep_alive_due = device->profile.keep_alive;
	*out = device;
	return 0;
}

void efa_device_destroy(struct efa_device *device)
{
	if (device == NULL)
		return;
	if (device->qps.entries != NULL)
		efa_qp_table_reset(device);
	efa_qp_table_fini(&device->qps);
	efa_cq_table_fini(&device->cqs);
	efa_mr_table_fini(&device->mrs);
	efa_ah_table_fini(&device->ahs);
	efa_pd_table_fini(&device->pds);
	efa_uar_table_fini(&device->uars);
	efa_eq_table_fini(&device->eqs);
	free(device);
}

void efa_device_reset(struct efa_device *device)
{
	/* First of all, nothing touches the host any more: its driver frees the memory soon. */
	efa_qp_table_reset(device);
	efa_cq_table_reset(&device->cqs);
	efa_mr_table_reset(&device->mrs);
	efa_ah_table_reset(&device->ahs);
	efa_pd_table_reset(&device->pds);
	efa_uar_table_reset(&device->uars);
	efa_eq_table_reset(&device->eqs);
	efa_aq_reset(&device->aq);
	efa_aenq_reset(&device->aenq);
	device->registers = (struct efa_registers){ .status = 0 };
	if (device->engine.ops != NULL && device->engine.ops->reset != NULL)
		device->engine.ops->reset(device->engine.context);
}

void efa_device_fatal(struct efa_device *device)
{
	device->stats.fatal_errors++;
	device->registers.status |= EFA_DEV_STS_FATAL;
	device->aq.sq_ready = device->aq.cq_ready = false;
}

int efa_device_read(struct efa_device *device, uint64_t addr, void *dst, uint32_t len)
{
	int err = device->host.ops->read(device->host.context, addr, dst, len);

	device->stats.dma_errors += err != 0;
	return err;
}

int efa_device_write(struct efa_device *device, uint64_t addr, const void *src, uint32_t len)
{
	int err = device->host.ops->write(device->host.context, addr, src, len);

	device->stats.dma_errors += err != 0;
	return err;
}

int efa_device_publish(struct efa_device *device, uint64_t addr, const void *entry, uint32_t len, uint32_t flag_at)
{
	int err = device->host.ops->publish(device->host.context, addr, entry, len, flag_at);

	device->stats.dma_errors += err != 0;
	return err;
}

void efa_device_interrupt(struct efa_device *device, uint32_t vector)
{
	if (!device->registers.management_masked)
		device->host.ops->interrupt(device->host.context, vector);
}

static void store(void *context, uint32_t bar, uint64_t offset, uint32_t value)
{
	struct efa_device *device = context;
	bool shared = device->profile.device.db_bar == EFA_BAR_REGS;

	if (bar == device->profile.device.db_bar && (!shared || offset >= EFA_UAR_BASE_IN_REGS))
		efa_uar_store(device, offset, value);
	else if (bar == EFA_BAR_REGS)
		efa_register_store(device, offset, value);
	else
		device->stats.bad_stores++;
}

static uint8_t *memory(void *context, uint32_t bar, uint64_t offset, uint64_t len)
{
	struct efa_device *device = context;
	uint64_t bytes = (uint64_t)device->qps.count * device->qps.llq_bytes;

	return bar == EFA_BAR_LLQ && offset <= bytes && len <= bytes - offset ? device->qps.llq + offset : NULL;
}

struct efa_bus_device efa_device_bus(struct efa_device *device)
{
	static const struct efa_bus_device_ops ops = { .store = store, .memory = memory };

	return (struct efa_bus_device){ .ops = &ops, .context = device };
}

void efa_device_advance(struct efa_device *device, uint64_t now)
{
	device->now = now;
	efa_aq_advance(device);
	if (now < device->keep_alive_due)
		return;
	/* After a long sleep one keep-alive says as much as many. */
	device->keep_alive_due = device->profile.keep_alive == BASE_NEVER ? BASE_NEVER : now + device->profile.keep_alive;
	efa_aenq_raise(device, EFA_AENQ_KEEP_ALIVE, 0);
}

uint64_t efa_device_deadline(const struct efa_device *device)
{
	uint64_t held = efa_aq_deadline(&device->aq);

	return held < device->keep_alive_due ? held : device->keep_alive_due;
}

void efa_device_set_fault(struct efa_device *device, const struct efa_device_fault *fault)
{
	device->fault = *fault;
	device->fault_seen = 0;
}

/* One more case that the rule is about: is it one of those that it takes? */
static bool fault_counts(struct efa_device *device)
{
	uint32_t seen = device->fault_seen++;

	return seen >= device->fault.skip && (device->fault.count == 0 || seen - device->fault.skip < device->fault.count);
}

enum efa_device_fault_kind efa_device_fault_of(struct efa_device *device, uint8_t opcode)
{
	const struct efa_device_fault *fault = &device->fault;

	if (fault->kind < EFA_FAULT_LOST || fault->kind > EFA_FAULT_STATUS || (fault->opcode != 0 && fault->opcode != opcode))
		return EFA_FAULT_NONE;
	return fault_counts(device) ? fault->kind : EFA_FAULT_NONE;
}

bool efa_device_fault_hits(struct efa_device *device, enum efa_device_fault_kind kind)
{
	return device->fault.kind == kind && fault_counts(device);
}

struct efa_device_stats *efa_device_stats(struct efa_device *device)
{
	return &device->stats;
}

const struct efa_device_profile *efa_device_profile(const struct efa_device *device)
{
	return &device->profile;
}

const uint8_t *efa_device_gid(const struct efa_device *device)
{
	return device->gid;
}

void efa_device_announce(struct efa_device *device, uint16_t group, uint16_t syndrome)
{
	efa_aenq_raise(device, group, syndrome);
}

struct efa_device_usage efa_device_usage(const struct efa_device *device)
{
	return (struct efa_device_usage){ .pds = device->pds.live, .mrs = device->mrs.live, .cqs = device->cqs.live,
					  .qps = device->qps.live, .ahs = device->ahs.live, .uars = device->uars.live,
					  .eqs = device->eqs.live, .extents = device->mrs.extents };
}
