/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bytes that were worked out by hand from the tables of the interface: registers, admin entries, events, doorbells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "efa/abi/command.h"
#include "efa/abi/cqe.h"
#include "efa/abi/event.h"
#include "efa/abi/feature.h"
#include "efa/abi/regs.h"
#include "efa/abi/wqe.h"

static void command(uint8_t *entry, uint8_t opcode, uint8_t flags, const void *plain)
{
	struct efa_abi_aq_head head = { .command_id = 0x0203, .opcode = opcode, .flags = flags };

	memset(entry, 0, EFA_ADMIN_ENTRY_BYTES);
	efa_abi_aq_head_store(entry, &head);
	efa_abi_store(&efa_abi_command_of(opcode)->request, entry, plain);
}

/* want: the bytes from the start; what follows them is zero up to 64. */
static void expect(const uint8_t *entry, const uint8_t *want, size_t len)
{
	uint8_t zero[EFA_ADMIN_ENTRY_BYTES] = { 0 };

	assert_memory_equal(entry, want, len);
	assert_memory_equal(entry + len, zero, EFA_ADMIN_ENTRY_BYTES - len);
}
#define EXPECT(entry, ...) expect(entry, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Goal: register words are the ones that the kernel's driver writes. */
static void registers(void **state)
{
	struct efa_abi_caps caps = { .reset_timeout = 10, .dma_width = 48, .admin_timeout = 15 }, back;
	struct efa_abi_ring_caps aq = { .depth = EFA_AQ_DEPTH, .entry_bytes = 64 }, aenq = { .depth = 16, .entry_bytes = 64 };

	(void)state;
	assert_int_equal(efa_abi_reg_read_pack(1, EFA_REG_DEV_STS), 0x00580001);
	assert_int_equal(efa_abi_reg_read_pack(2, EFA_REG_CAPS), 0x00080002);
	assert_int_equal(efa_abi_caps_pack(&caps), 0x000f3014);
	back = efa_abi_caps_unpack(0x000f3014);
	assert_int_equal(back.reset_timeout, 10);
	assert_int_equal(back.dma_width, 48);
	assert_int_equal(back.admin_timeout, 15);
	assert_false(back.contiguous_queues);
	assert_int_equal(efa_abi_ring_caps_pack(&aq), 0x00400020);
	assert_int_equal(efa_abi_ring_caps_pack(&aenq), 0x00400010);
	assert_int_equal(efa_abi_ring_caps_unpack(0x02400020).vector, 2);
	assert_int_equal(EFA_DEV_CTL_RESET | (uint32_t)EFA_RESET_INIT_ERROR << EFA_DEV_CTL_REASON_SHIFT, 0x30000001);
	assert_int_equal(EFA_DEV_CTL_RESET | (uint32_t)EFA_RESET_SHUTDOWN << EFA_DEV_CTL_REASON_SHIFT, 0x60000001);
	assert_int_equal((EFA_EQ_DB_ARM | 3u), 0x80000003);
	assert_string_equal(efa_abi_reg_text(0x5c), "MMIO_REG_READ");
	assert_null(efa_abi_reg_text(0x30));
	assert_null(efa_abi_reg_text(0x59));
	assert_null(efa_abi_reg_text(EFA_REG_END));
}

/* Goal: feature commands and their answers, byte for byte. */
static void features(void **state)
{
	struct efa_abi_feature get = { .id = EFA_FEATURE_DEVICE_ATTR }, set = { .id = EFA_FEATURE_AENQ_CONFIG };
	struct efa_abi_aenq_config config = { .enabled = EFA_AENQ_WANTED };
	struct efa_abi_acq_head done = { .flags = EFA_AQ_FLAG_PHASE, .sq_head = 1 };
	struct efa_abi_aq_head head = { .opcode = EFA_OP_GET_FEATURE, .flags = EFA_AQ_FLAG_PHASE };
	uint8_t entry[EFA_ADMIN_ENTRY_BYTES] = { 0 };

	(void)state;
	efa_abi_aq_head_store(entry, &head);
	efa_abi_store(&efa_abi_command_of(EFA_OP_GET_FEATURE)->request, entry, &get);
	EXPECT(entry, 0, 0, 0x0b, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
	memset(entry, 0, sizeof(entry));
	efa_abi_acq_head_store(entry, &done);
	EXPECT(entry, 0, 0, 0, 1, 0, 0, 1);
	command(entry, EFA_OP_SET_FEATURE, EFA_AQ_FLAG_PHASE, &set);
	efa_abi_store(efa_abi_feature_layout(EFA_FEATURE_AENQ_CONFIG), entry + EFA_SET_FEATURE_DATA_AT, &config);
	EXPECT(entry, 3, 2, 0x0c, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x1e);
}

/* Goal: both forms of CREATE_CQ, and REG_MR inline and by chunks. */
static void queues_and_regions(void **state)
{
	struct efa_abi_create_cq polled = { .base = 0x1122334455667788, .sub_cq_depth = 64, .num_sub_cqs = 1, .uar = 3,
					    .caps2 = EFA_CQ_CAPS_SRC_ADDR | 8 };
	struct efa_abi_create_cq armed = { .sub_cq_depth = 64, .num_sub_cqs = 1, .eqn = 2, .caps1 = EFA_CQ_CAPS_INTERRUPT,
					   .caps2 = 4 };
	struct efa_abi_reg_mr mr = { .pd = 5, .length = 0x3000, .iova = 0x7f0000001000, .page_num = 3, .flags = 12,
				     .perms = EFA_MR_LOCAL_WRITE };
	struct efa_abi_buffer chunk = { .length = 1 * 8 + EFA_ABI_BUFFER_BYTES, .addr = 0xabcdef000 };
	uint8_t entry[EFA_ADMIN_ENTRY_BYTES];

	(void)state;
	command(entry, EFA_OP_CREATE_CQ, EFA_AQ_FLAG_PHASE, &polled);
	EXPECT(entry, 3, 2, 9, 1, 0, 0x28, 0x40, 0, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 1, 0, 3);
	command(entry, EFA_OP_CREATE_CQ, EFA_AQ_FLAG_PHASE, &armed);
	EXPECT(entry, 3, 2, 9, 1, 0x20, 4, 0x40, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
	for (uint32_t i = 0; i < 3; i++)
		mr.pages[i * 8 + 1] = (uint8_t)(0x10 * (i + 1)); /* 0x1000, 0x2000, 0x3000 */
	command(entry, EFA_OP_REG_MR, EFA_AQ_FLAG_PHASE, &mr);
	EXPECT(entry, 3, 2, 7, 1, 5, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0,
	       0, 0, 0, 0, 0, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0x0c, 1, 0, 0, 3, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x7f);
	assert_true(efa_abi_mr_page(&mr, 2) == 0x3000);
	memset(mr.pages, 0, sizeof(mr.pages));
	efa_abi_buffer_store(mr.pages, &chunk);
	command(entry, EFA_OP_REG_MR, EFA_AQ_FLAG_PHASE | EFA_AQ_FLAG_CTRL_DATA | EFA_AQ_FLAG_CTRL_INDIRECT, &mr);
	assert_int_equal(entry[3], 7);
	assert_memory_equal(entry + 8, ((const uint8_t[]){ 20, 0, 0, 0, 0, 0xf0, 0xde, 0xbc, 0x0a, 0, 0, 0 }), 12);
	assert_int_equal(EFA_CHUNK_FULL_LENGTH, 4092);
}

/* Goal: events and doorbells. */
static void events(void **state)
{
	struct efa_abi_eqe eqe = { .phase = true, .type = EFA_EQE_COMPLETION, .cqn = 7 };
	struct efa_abi_cq_db db = { .consumer = 5, .sn = 2, .arm = true }, back;
	struct efa_abi_aenq aenq = { .group = EFA_AENQ_KEEP_ALIVE, .phase = true, .time = 0x100000002, .data = { 9 } }, again;
	uint8_t entry[EFA_AENQ_ENTRY_BYTES];

	(void)state;
	efa_abi_eqe_store(entry, &eqe);
	assert_memory_equal(entry, ((const uint8_t[]){ 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0 }), 16);
	assert_int_equal(efa_abi_cq_db_pack(&db), 0xc0000005);
	back = efa_abi_cq_db_unpack(0xc0000005);
	assert_true(back.arm && back.sn == 2 && back.consumer == 5);
	efa_abi_aenq_store(entry, &aenq);
	EXPECT(entry, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 9);
	again = efa_abi_aenq_load(entry);
	assert_true(again.phase && again.group == 4 && again.time == aenq.time && again.data[0] == 9);
}

/* Goal: a send, an RDMA read, a receive and their completions, byte for byte. */
static void descriptors(void **state)
{
	struct efa_abi_wqe send = { .req_id = 0x0102, .dest_qpn = 0x0304, .ah = 0x0506, .length = 1, .qkey = 0x11111111,
				    .imm = 0xddccbbaa,
				    .ctrl1 = EFA_WQE_META_DESC | EFA_WQE_HAS_IMM | EFA_WQE_SEND,
				    .ctrl2 = EFA_WQE_FIRST | EFA_WQE_LAST | EFA_WQE_COMP_REQ,
				    .sge = { { .length = 0x40, .lkey = 0x123456, .addr = 0x7f00aabbccdd } } };
	struct efa_abi_wqe read = { .ctrl1 = EFA_WQE_META_DESC | EFA_WQE_RDMA_READ, .ctrl2 = EFA_WQE_PHASE, .length = 1,
				    .remote = { .length = 8, .rkey = 0xfeedbeef, .addr = 0x1000 },
				    .sge = { { .length = 8, .lkey = 1, .addr = 0x2000 } } };
	struct efa_abi_rqd rqd = { .addr = 0x1000, .req_id = 7, .length = 64, .lkey_ctrl = EFA_RQD_FIRST | EFA_RQD_LAST | 0x22 };
	struct efa_abi_cqe cqe = { .req_id = 7, .qp_num = 0x0102, .queue = EFA_CQE_QUEUE_RECV, .phase = true, .has_imm = true,
				   .length = 0x123, .ah = EFA_AH_UNKNOWN, .src_qpn = 9, .imm = 0x04030201, .has_gid = true,
				   .gid = { 0xfe, 0x80 } };
	uint8_t entry[EFA_WQE_BYTES];

	(void)state;
	efa_abi_wqe_store(entry, &send);
	EXPECT(entry, 2, 1, 0x90, 0x1c, 4, 3, 1, 0, 0xaa, 0xbb, 0xcc, 0xdd, 6, 5, 0, 0, 0x11, 0x11, 0x11, 0x11, 0, 0, 0, 0, 0, 0, 0, 0,
	       0, 0, 0, 0, 0x40, 0, 0, 0, 0x56, 0x34, 0x12, 0, 0xdd, 0xcc, 0xbb, 0xaa, 0, 0x7f);
	efa_abi_wqe_store(entry, &read);
	EXPECT(entry, 0, 0, 0x81, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0,
	       0xef, 0xbe, 0xed, 0xfe, 0, 0x10, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0x20);
	efa_abi_rqd_store(entry, &rqd);
	assert_memory_equal(entry, ((const uint8_t[]){ 0, 0x10, 0, 0, 0, 0, 0, 0, 7, 0, 64, 0, 0x22, 0, 0, 0xc0 }), 16);
	efa_abi_cqe_store(entry, &cqe, EFA_CQE_WIDE_BYTES);
	assert_memory_equal(entry, ((const uint8_t[]){ 7, 0, 0, 0x0d, 2, 1, 0x23, 1, 0xff, 0xff, 9, 0, 1, 2, 3, 4, 0xfe, 0x80, 0, 0 }),
			    20);
	cqe = (struct efa_abi_cqe){ .req_id = 3, .qp_num = 4, .status = EFA_STATUS_REMOTE_RNR, .queue = EFA_CQE_QUEUE_SEND };
	efa_abi_cqe_store(entry, &cqe, EFA_CQE_BYTES);
	assert_memory_equal(entry, ((const uint8_t[]){ 3, 0, 10, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers),
		cmocka_unit_test(features),
		cmocka_unit_test(queues_and_regions),
		cmocka_unit_test(events),
		cmocka_unit_test(descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
