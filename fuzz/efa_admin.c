/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The adapter under a hostile driver: stores to any register, doorbells, admin commands of every opcode, true ones and garbage, page
 * lists and buffers in memory that the driver changes, memory that goes away, time. The input is a program of such steps; after
 * each one the adapter's tables agree with each other, and after a reset nothing is left.
 */
#include "efa/abi/bytes.h"
#include "efa/abi/command.h"
#include "efa_host.h"
#include "efa/device/fake_fabric.h"
#include "rc_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { AQ_AT = 0, ACQ_AT = 4096, AENQ_AT = 8192, LISTS_AT = 12288 };

static struct efa_host host;
static struct fabric fabric;

struct state {
	struct rc_input in;
	struct efa_device *device;
	struct efa_bus_device bus;
	uint16_t produced;
	uint64_t now;
};

static void store(struct state *s, uint32_t bar, uint64_t offset, uint32_t value)
{
	s->bus.ops->store(s->bus.context, bar, offset, value);
}

static void rings(struct state *s)
{
	store(s, EFA_BAR_REGS, EFA_REG_AQ_BASE_HI, EFA_HOST_BASE >> 32);
	store(s, EFA_BAR_REGS, EFA_REG_AQ_BASE_LO, AQ_AT);
	store(s, EFA_BAR_REGS, EFA_REG_AQ_CAPS, 0x00400020);
	store(s, EFA_BAR_REGS, EFA_REG_ACQ_BASE_HI, EFA_HOST_BASE >> 32);
	store(s, EFA_BAR_REGS, EFA_REG_ACQ_BASE_LO, ACQ_AT);
	store(s, EFA_BAR_REGS, EFA_REG_ACQ_CAPS, 0x00400020);
	store(s, EFA_BAR_REGS, EFA_REG_AENQ_BASE_HI, EFA_HOST_BASE >> 32);
	store(s, EFA_BAR_REGS, EFA_REG_AENQ_BASE_LO, AENQ_AT);
	store(s, EFA_BAR_REGS, EFA_REG_AENQ_CAPS, 0x00400010);
	s->produced = 0;
}

static void reset(struct state *s)
{
	struct efa_device_usage usage;

	store(s, EFA_BAR_REGS, EFA_REG_DEV_CTL, 0);
	store(s, EFA_BAR_REGS, EFA_REG_DEV_CTL, EFA_DEV_CTL_RESET);
	usage = efa_device_usage(s->device);
	if (usage.pds | usage.mrs | usage.cqs | usage.qps | usage.ahs | usage.uars | usage.eqs | usage.extents | fabric.num_pending)
		abort();
	store(s, EFA_BAR_REGS, EFA_REG_DEV_CTL, 0);
	rings(s);
}

/* Small numbers, addresses within the block, sizes that are powers: what gets further than noise would. */
static uint64_t value(struct state *s, uint32_t bytes)
{
	uint8_t kind = in_u8(&s->in);

	switch (kind % 8) {
	case 0:
		return in_u8(&s->in) & 7;
	case 1:
		return 1ull << (in_u8(&s->in) % (bytes * 8));
	case 2:
		return EFA_HOST_BASE + LISTS_AT + (uint64_t)(in_u8(&s->in) & 15) * (bytes == 8 ? 4096 : 8);
	case 3:
		return (uint64_t)in_u32(&s->in) << 32 | in_u32(&s->in);
	case 4:
		return in_u16(&s->in);
	default:
		return kind / 8;
	}
}

/* The fields of a command that exists, each with a value that may be right. */
static void command(struct state *s, uint8_t opcode)
{
	const struct efa_abi_command *row = efa_abi_command_of(opcode);
	uint8_t *entry = host.memory + AQ_AT + (s->produced & 31) * 64, flags = in_u8(&s->in);
	struct efa_abi_aq_head head = { .command_id = s->produced & 0xfff, .opcode = opcode,
					.flags = (uint8_t)((flags & 6) | ((s->produced & 32) == 0)) };

	memset(entry, 0, 64);
	if ((flags & 0xc0) == 0xc0)
		head.flags ^= 1;
	efa_abi_aq_head_store(entry, &head);
	if (row == NULL) {
		for (uint32_t i = 4; i < 64; i++)
			entry[i] = in_u8(&s->in);
	}
	for (uint32_t i = 0; row != NULL && i < row->request.count; i++) {
		const struct efa_abi_field *f = &row->request.fields[i];

		for (uint32_t k = 0; k < f->count; k++) {
			uint64_t v = f->count > 1 ? in_u8(&s->in) : value(s, f->unit);

			for (uint32_t b = 0; b < f->unit; b++)
				entry[f->at + k * f->unit + b] = (uint8_t)(v >> 8 * b);
		}
	}
	if (opcode == EFA_OP_SET_FEATURE)
		efa_abi_le32_store(entry + EFA_SET_FEATURE_DATA_AT + 4, in_u8(&s->in));
	s->produced++;
	store(s, EFA_BAR_REGS, EFA_REG_AQ_PROD_DB, s->produced);
}

/* Commands that are right, so that later ones find objects; numbers begin at 0 and are given in order. */
static void furnish(struct state *s)
{
	static const uint8_t simple[] = { EFA_OP_ALLOC_PD, EFA_OP_ALLOC_UAR };
	struct efa_abi_create_cq cq = { .base = EFA_HOST_BASE + LISTS_AT, .sub_cq_depth = 16, .num_sub_cqs = 1, .caps2 = 4 };
	struct efa_abi_create_qp qp = { .type = EFA_QP_SRD, .sq_depth = 16, .sq_ring_bytes = 1024, .rq_depth = 16,
					.rq_ring_bytes = 256, .rq_base = EFA_HOST_BASE + LISTS_AT };
	uint8_t *entry;

	for (uint32_t i = 0; i < 4; i++) {
		uint8_t opcode = i < 2 ? simple[i] : i == 2 ? EFA_OP_CREATE_CQ : EFA_OP_CREATE_QP;
		struct efa_abi_aq_head head = { .command_id = s->produced & 0xfff, .opcode = opcode, .flags = (s->produced & 32) == 0 };

		entry = host.memory + AQ_AT + (s->produced & 31) * 64;
		memset(entry, 0, 64);
		efa_abi_aq_head_store(entry, &head);
		if (i >= 2)
			efa_abi_store(&efa_abi_command_of(opcode)->request, entry, i == 2 ? (void *)&cq : (void *)&qp);
		s->produced++;
		store(s, EFA_BAR_REGS, EFA_REG_AQ_PROD_DB, s->produced);
	}
}

static void step(struct state *s)
{
	uint8_t kind = in_u8(&s->in);
	uint32_t at;

	switch (kind % 10) {
	case 0:
		store(s, EFA_BAR_REGS, in_u8(&s->in), in_u32(&s->in));
		return;
	case 1:
		store(s, EFA_BAR_REGS, in_u8(&s->in) & ~3u, (uint32_t)value(s, 4));
		return;
	case 2:
		store(s, EFA_BAR_DOORBELL, (in_u8(&s->in) & 3) * 4096ull + (in_u8(&s->in) & 31) * 8, in_u8(&s->in));
		return;
	case 3:
		at = LISTS_AT + (in_u16(&s->in) % (EFA_HOST_BYTES - LISTS_AT - 8));
		efa_abi_le64_store(host.memory + at, value(s, 8));
		return;
	case 4:
		host.fails = in_u8(&s->in) & 15;
		return;
	case 5:
		s->now += (uint64_t)in_u16(&s->in) << 20;
		efa_device_advance(s->device, s->now);
		fabric_run(&fabric);
		return;
	case 6:
		if (kind < 32)
			reset(s);
		else
			furnish(s);
		return;
	default:
		command(s, kind >= 250 ? kind : (uint8_t)(kind % EFA_OP_COUNT));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct efa_device_profile profile = efa_host_profile();
	struct efa_device_config config = { .profile = &profile, .host = { &efa_host_ops, &host }, .gid = { 0xfe, 0x80, [15] = 1 },
					    .seed = 1 };
	struct state s = { .in = { data, size } };

	memset(&host, 0, sizeof(host));
	fabric_init(&fabric);
	config.engine = fabric_engine(&fabric);
	if (efa_device_create(&config, &s.device) != 0)
		abort();
	fabric_attach(config.engine, s.device);
	s.bus = efa_device_bus(s.device);
	rings(&s);
	furnish(&s);
	while (s.in.left > 0) {
		step(&s);
		efa_host_check(s.device);
	}
	host.fails = 0;
	reset(&s);
	efa_host_check(s.device);
	efa_device_destroy(s.device);
	return 0;
}
