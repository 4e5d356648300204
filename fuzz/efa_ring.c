/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The data path under a hostile program: it has its rings, its part of the adapter's memory and its doorbells, and writes whatever it
 * likes there while messages travel between two queue pairs and a third of another domain. The adapter may touch the rings, each in
 * its direction, and what is registered, as long as it is registered, and nothing else (fuzz/efa_host.h).
 */
#include "efa/abi/bytes.h"
#include "efa/abi/command.h"
#include "efa/abi/cqe.h"
#include "efa_host.h"
#include "efa/device/fake_fabric.h"
#include "rc_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	QPS = 3, MRS = 4, DEPTH = 16, PAGE = 4096,
	AQ_AT = 0, ACQ_AT = PAGE, CQ_AT = 2 * PAGE, RQ_AT = 3 * PAGE, MR_AT = 8 * PAGE,
	QKEY = 7,
};

static struct efa_host host;
static struct fabric fabric;
/* Each region has other rights, and lies in its own page; between them is a page that nobody registered. */
static const uint8_t rights[MRS] = {
	EFA_MR_LOCAL_WRITE, 0, EFA_MR_LOCAL_WRITE | EFA_MR_REMOTE_WRITE, EFA_MR_REMOTE_READ,
};

struct state {
	struct rc_input in;
	struct efa_device *device;
	struct efa_bus_device bus;
	uint16_t produced;
	uint8_t answer[EFA_ADMIN_ENTRY_BYTES];
	struct efa_abi_create_qp_result qp[QPS];
	uint16_t posted[QPS], received[QPS], ah;
	struct efa_abi_reg_mr_result mr[MRS];
	bool registered[MRS];
	uint32_t cq_doorbell;
};

/* While a command is under way the admin rings are the adapter's as well. */
static void allow(struct state *s, bool admin)
{
	host.num_ranges = 0;
	host.guarded = true;
	if (admin) {
		efa_host_allow(&host, EFA_HOST_BASE + AQ_AT, PAGE, true, false);
		efa_host_allow(&host, EFA_HOST_BASE + ACQ_AT, PAGE, false, true);
	}
	efa_host_allow(&host, EFA_HOST_BASE + CQ_AT, 64 * EFA_CQE_WIDE_BYTES, false, true);
	for (uint32_t i = 0; i < QPS; i++)
		efa_host_allow(&host, EFA_HOST_BASE + RQ_AT + i * PAGE, DEPTH * EFA_RQD_BYTES, true, false);
	for (uint32_t i = 0; i < MRS; i++) {
		bool writable = (rights[i] & (EFA_MR_LOCAL_WRITE | EFA_MR_REMOTE_WRITE)) != 0;

		if (s->registered[i])
			efa_host_allow(&host, EFA_HOST_BASE + MR_AT + i * 2 * PAGE + 64, 1000, true, writable);
	}
}

static bool command(struct state *s, uint8_t opcode, const void *in, void *out)
{
	struct efa_abi_aq_head head = { .command_id = s->produced & 0xfff, .opcode = opcode, .flags = (s->produced & 32) == 0 };
	uint8_t *entry = host.memory + AQ_AT + (s->produced & 31) * 64;
	const uint8_t *answer = host.memory + ACQ_AT + (s->produced & 31) * 64;

	memset(entry, 0, 64);
	efa_abi_aq_head_store(entry, &head);
	if (in != NULL)
		efa_abi_store(&efa_abi_command_of(opcode)->request, entry, in);
	allow(s, true);
	s->produced++;
	s->bus.ops->store(s->bus.context, EFA_BAR_REGS, EFA_REG_AQ_PROD_DB, s->produced);
	allow(s, false);
	if (efa_abi_acq_head_load(answer).status != 0)
		return false;
	if (out != NULL)
		efa_abi_load(&efa_abi_command_of(opcode)->result, out, answer);
	return true;
}

static void must(bool done)
{
	if (!done)
		abort();
}

static void register_one(struct state *s, uint32_t i)
{
	struct efa_abi_reg_mr in = { .length = 1000, .iova = 0x10000 * (i + 1) + 64, .page_num = 1, .flags = 12, .perms = rights[i] };

	efa_abi_le64_store(in.pages, EFA_HOST_BASE + MR_AT + i * 2 * PAGE);
	must(command(s, EFA_OP_REG_MR, &in, &s->mr[i]));
	s->registered[i] = true;
	allow(s, false);
}

static void modify(struct state *s, uint32_t qp, uint32_t state, uint32_t mask)
{
	struct efa_abi_modify_qp in = { .mask = mask | EFA_MODIFY_STATE, .handle = s->qp[qp].handle, .state = state };

	in.qkey = (mask & EFA_MODIFY_QKEY) != 0 ? QKEY : 0;
	if (state == EFA_QPS_RESET)
		s->posted[qp] = s->received[qp] = 0;
	command(s, EFA_OP_MODIFY_QP, &in, NULL);
}

static void to_rts(struct state *s, uint32_t qp)
{
	modify(s, qp, EFA_QPS_RESET, 0);
	modify(s, qp, EFA_QPS_INIT, EFA_MODIFY_QKEY);
	modify(s, qp, EFA_QPS_RTR, 0);
	modify(s, qp, EFA_QPS_RTS, EFA_MODIFY_SQ_PSN);
}

static void create_qp(struct state *s, uint32_t i, uint16_t cq, uint8_t how)
{
	struct efa_abi_create_qp in = { .pd = i == 2, .uar = 0, .type = (how & 1) ? EFA_QP_UD : EFA_QP_SRD, .send_cq = cq, .recv_cq = cq,
					.flags = how == 2 ? EFA_QP_FLAG_UNSOLICITED : 0, .sq_depth = DEPTH,
					.sq_ring_bytes = DEPTH * EFA_WQE_BYTES, .rq_depth = DEPTH,
					.rq_ring_bytes = DEPTH * EFA_RQD_BYTES, .rq_base = EFA_HOST_BASE + RQ_AT + i * PAGE };

	must(command(s, EFA_OP_CREATE_QP, &in, &s->qp[i]));
	to_rts(s, i);
}

static void set_up(struct state *s)
{
	struct efa_abi_create_cq cq_in = { .base = EFA_HOST_BASE + CQ_AT, .sub_cq_depth = 64, .num_sub_cqs = 1,
					   .caps2 = EFA_CQ_CAPS_SRC_ADDR | 8 };
	struct efa_abi_create_ah ah_in = { .gid = { 0xfe, 0x80, [15] = 1 } };
	struct efa_abi_create_cq_result cq;
	struct efa_abi_ah ah;

	must(command(s, EFA_OP_ALLOC_PD, NULL, NULL));
	must(command(s, EFA_OP_ALLOC_PD, NULL, NULL));
	must(command(s, EFA_OP_ALLOC_UAR, NULL, NULL));
	must(command(s, EFA_OP_CREATE_CQ, &cq_in, &cq));
	s->cq_doorbell = cq.db_offset;
	must(command(s, EFA_OP_CREATE_AH, &ah_in, &ah));
	s->ah = ah.ah;
	for (uint32_t i = 0; i < MRS; i++)
		register_one(s, i);
	for (uint32_t i = 0; i < QPS; i++)
		create_qp(s, i, cq.cq_idx, in_u8(&s->in) % 4);
}

static void doorbell(struct state *s, uint32_t offset, uint32_t value)
{
	s->bus.ops->store(s->bus.context, EFA_BAR_DOORBELL, offset, value);
}

/* An address near a region's borders, a key that may be right. */
static struct efa_abi_sge some_sge(struct state *s)
{
	uint32_t i = in_u8(&s->in) % MRS;
	uint8_t how = in_u8(&s->in);

	return (struct efa_abi_sge){ .length = how & 1 ? in_u16(&s->in) : how & 0x3f,
				     .lkey = how >= 250 ? in_u32(&s->in) : s->mr[i].lkey,
				     .addr = 0x10000ull * (i + 1) + 64 + (how & 2 ? in_u16(&s->in) % 1100 : 0) - (how == 4) };
}

static void post_send(struct state *s)
{
	uint32_t from = in_u8(&s->in) % QPS, to = in_u8(&s->in) % QPS, region = in_u8(&s->in) % MRS;
	uint8_t how = in_u8(&s->in);
	struct efa_abi_wqe w = { .req_id = in_u8(&s->in), .dest_qpn = s->qp[to].qp_num, .ah = s->ah, .length = in_u8(&s->in) % 3,
				 .qkey = QKEY, .ctrl1 = (uint8_t)(EFA_WQE_META_DESC | (how & 0x30) | how % 3),
				 .ctrl2 = EFA_WQE_FIRST | EFA_WQE_LAST };
	uint8_t entry[EFA_WQE_BYTES], *llq;

	w.sge[0] = some_sge(s);
	w.sge[1] = some_sge(s);
	w.remote = (struct efa_abi_remote){ .length = w.sge[0].length, .rkey = s->mr[region].rkey,
					    .addr = 0x10000ull * (region + 1) + 64 + in_u8(&s->in) * 4u };
	if ((s->posted[from] / DEPTH & 1) != 0)
		w.ctrl2 |= EFA_WQE_PHASE;
	efa_abi_wqe_store(entry, &w);
	for (uint8_t flips = how >= 0xf0 ? how & 15 : 0; flips > 0; flips--)
		entry[in_u8(&s->in) % EFA_WQE_BYTES] ^= in_u8(&s->in);
	llq = s->bus.ops->memory(s->bus.context, EFA_BAR_LLQ, s->qp[from].llq_offset, DEPTH * EFA_WQE_BYTES);
	memcpy(llq + s->posted[from] % DEPTH * EFA_WQE_BYTES, entry, sizeof(entry));
	s->posted[from]++;
	doorbell(s, s->qp[from].sq_db_offset, s->posted[from]);
}

static void post_receive(struct state *s)
{
	uint32_t to = in_u8(&s->in) % QPS;
	uint8_t how = in_u8(&s->in);
	uint32_t parts = how % 4 + 1;

	for (uint32_t i = 0; i < parts; i++) {
		struct efa_abi_sge sge = some_sge(s);
		struct efa_abi_rqd d = { .addr = sge.addr, .length = (uint16_t)sge.length, .req_id = how,
					 .lkey_ctrl = sge.lkey & EFA_LKEY_MASK };

		d.lkey_ctrl |= (i == 0 ? EFA_RQD_FIRST : 0) | (i == parts - 1 ? EFA_RQD_LAST : 0);
		if (how >= 0xf0)
			d.lkey_ctrl ^= (uint32_t)in_u8(&s->in) << 24;
		efa_abi_rqd_store(host.memory + RQ_AT + to * PAGE + s->received[to] % DEPTH * EFA_RQD_BYTES, &d);
		s->received[to]++;
	}
	doorbell(s, s->qp[to].rq_db_offset, s->received[to]);
}

static void step(struct state *s)
{
	uint8_t kind = in_u8(&s->in);
	uint32_t i;

	switch (kind % 12) {
	case 0: case 1: case 2:
		post_send(s);
		return;
	case 3: case 4:
		post_receive(s);
		return;
	case 5: case 6:
		fabric_run(&fabric);
		return;
	case 7: /* any doorbell of the page */
		doorbell(s, (uint32_t)(in_u8(&s->in) & 15) * 8, in_u32(&s->in));
		return;
	case 8:
		doorbell(s, s->cq_doorbell, in_u32(&s->in));
		return;
	case 9:
		i = in_u8(&s->in) % MRS;
		if (s->registered[i]) {
			s->registered[i] = false; /* from now on it is not to be touched, done or not */
			must(command(s, EFA_OP_DEREG_MR, &(struct efa_abi_lkey){ s->mr[i].lkey }, NULL));
		} else {
			register_one(s, i);
		}
		return;
	case 10:
		i = in_u8(&s->in) % QPS;
		if (kind & 0x80)
			modify(s, i, in_u8(&s->in) % EFA_QPS_COUNT, in_u8(&s->in) & EFA_MODIFY_ALL);
		else
			to_rts(s, i);
		return;
	case 11:
		if (kind & 0x80) {
			host.fails = in_u8(&s->in) & 7;
			fabric_run(&fabric);
			host.fails = 0;
		} else {
			fabric.room = in_u8(&s->in) & 31;
		}
		return;
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
	fabric.shuffles = size & 1;
	config.engine = fabric_engine(&fabric);
	must(efa_device_create(&config, &s.device) == 0);
	fabric_attach(config.engine, s.device);
	s.bus = efa_device_bus(s.device);
	s.bus.ops->store(s.bus.context, EFA_BAR_REGS, EFA_REG_AQ_BASE_HI, EFA_HOST_BASE >> 32);
	s.bus.ops->store(s.bus.context, EFA_BAR_REGS, EFA_REG_AQ_BASE_LO, AQ_AT);
	s.bus.ops->store(s.bus.context, EFA_BAR_REGS, EFA_REG_AQ_CAPS, 0x00400020);
	s.bus.ops->store(s.bus.context, EFA_BAR_REGS, EFA_REG_ACQ_BASE_HI, EFA_HOST_BASE >> 32);
	s.bus.ops->store(s.bus.context, EFA_BAR_REGS, EFA_REG_ACQ_BASE_LO, ACQ_AT);
	s.bus.ops->store(s.bus.context, EFA_BAR_REGS, EFA_REG_ACQ_CAPS, 0x00400020);
	set_up(&s);
	while (s.in.left > 0) {
		step(&s);
		efa_host_check(s.device);
	}
	/* Nothing is under way for ever. */
	fabric.room = FABRIC_PENDING;
	for (uint32_t i = 0; i < 64; i++)
		fabric_run(&fabric);
	efa_host_check(s.device);
	efa_device_destroy(s.device);
	return 0;
}
