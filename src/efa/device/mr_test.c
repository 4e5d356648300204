/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Page lists: inline, direct, by chunks; scattered and contiguous; hostile ones. What is registered is what is reached. */
#include <sys/mman.h>

#include "efa/abi/bytes.h"
#include "efa/device/test_host.h"

enum { PAGE = 4096, CHUNKS = 8, ENTRIES = EFA_LIST_PAGE_ENTRIES };

struct fixture {
	struct fabric fabric;
	struct host *h;
	uint16_t pd;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fabric_init(&f->fabric);
	f->h = host_create(&f->fabric, efa_device_profile_find("full"), 1);
	f->pd = host_pd(f->h);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	host_destroy(f->h);
	free(f);
	return 0;
}

/* A list in memory of its own: pages of addresses, and the chain of chunks that point to them. */
struct list {
	uint8_t *bytes;
	uint64_t bus;
	uint32_t size, list_pages;
	uint8_t *chunks;      /* after the list pages */
	uint32_t num_chunks;
};

static struct list make_list(struct host *h, uint32_t pages, uint64_t (*page_of)(uint32_t i))
{
	struct list l = { .list_pages = (pages + ENTRIES - 1) / ENTRIES };

	l.num_chunks = (l.list_pages + EFA_CHUNK_POINTERS - 1) / EFA_CHUNK_POINTERS;
	l.size = (l.list_pages + l.num_chunks) * PAGE;
	l.bytes = mmap(NULL, l.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(l.bytes != MAP_FAILED);
	assert_int_equal(h->function.ops->map(h->function.context, l.bytes, l.size, EFA_BUS_TO_DEVICE, &l.bus), 0);
	l.chunks = l.bytes + (size_t)l.list_pages * PAGE;
	for (uint32_t i = 0; i < pages; i++)
		efa_abi_le64_store(l.bytes + (size_t)i * 8, page_of(i));
	for (uint32_t i = 0; i < l.list_pages; i++)
		efa_abi_le64_store(l.chunks + i / EFA_CHUNK_POINTERS * PAGE + i % EFA_CHUNK_POINTERS * 8, l.bus + (uint64_t)i * PAGE);
	for (uint32_t i = 0; i + 1 < l.num_chunks; i++) {
		uint32_t left = l.list_pages - (i + 1) * EFA_CHUNK_POINTERS;
		struct efa_abi_buffer next = { .length = (left < EFA_CHUNK_POINTERS ? left : EFA_CHUNK_POINTERS) * 8 + 12,
					       .addr = l.bus + (uint64_t)(l.list_pages + i + 1) * PAGE };

		efa_abi_buffer_store(l.chunks + i * PAGE + EFA_CHUNK_NEXT_AT, &next);
	}
	return l;
}

static void free_list(struct host *h, struct list *l)
{
	h->function.ops->unmap(h->function.context, l->bus, l->size, EFA_BUS_TO_DEVICE);
	munmap(l->bytes, l->size);
}

static uint8_t reg(struct fixture *f, struct efa_abi_reg_mr *in, uint8_t flags, struct efa_abi_buffer *buffer, uint32_t *lkey)
{
	struct efa_abi_reg_mr_result out = { .lkey = 0 };
	const uint8_t *entry;
	uint8_t *command;

	in->pd = f->pd;
	in->flags |= 12;
	if (buffer != NULL)
		efa_abi_buffer_store(in->pages, buffer);
	command = host_fill(f->h, EFA_OP_REG_MR, in);
	command[3] |= flags;
	entry = host_ring(f->h);
	efa_abi_load(&efa_abi_command_of(EFA_OP_REG_MR)->result, &out, entry);
	*lkey = out.lkey;
	return efa_abi_acq_head_load(entry).status;
}

static void dereg(struct fixture *f, uint32_t lkey)
{
	assert_int_equal(host_command(f->h, EFA_OP_DEREG_MR, &(struct efa_abi_lkey){ lkey }, NULL), 0);
}

static uint64_t scattered(uint32_t i)
{
	return 0x100000000000ull + (uint64_t)i * 2 * PAGE;
}

static uint64_t contiguous(uint32_t i)
{
	return 0x100000000000ull + (uint64_t)i * PAGE;
}

/* Goal: every form at the borders of its sizes; contiguous pages cost one extent, scattered ones one each. */
static void sizes(void **state)
{
	static const uint32_t sizes[] = { 1, 4, 5, 512, 513, 510 * 512 - 1, 510 * 512, 510 * 512 + 1, 3 * 510 * 512 };
	struct fixture *f = *state;

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (uint32_t form = sizes[i] > 513 ? 2 : 0; form < (sizes[i] > 510 * 512 + 1 ? 3 : 4); form++) {
			uint32_t pages = sizes[i], lkey;
			struct list l = make_list(f->h, pages, form & 1 ? contiguous : scattered);
			struct efa_abi_reg_mr in = { .length = (uint64_t)pages * PAGE - 100, .iova = 0x7f0000000064, .page_num = pages };
			struct efa_abi_buffer direct = { .length = pages * 8, .addr = l.bus };
			struct efa_abi_buffer indirect = { .addr = l.bus + (uint64_t)l.list_pages * PAGE,
							   .length = (l.list_pages < 510 ? l.list_pages : 510) * 8 + 12 };

			if (form >= 2)
				assert_int_equal(reg(f, &in, EFA_AQ_FLAG_CTRL_DATA | EFA_AQ_FLAG_CTRL_INDIRECT, &indirect, &lkey), 0);
			else
				assert_int_equal(reg(f, &in, EFA_AQ_FLAG_CTRL_DATA, &direct, &lkey), 0);
			assert_int_equal(efa_device_usage(f->h->device).extents, form & 1 ? 1 : pages);
			free_list(f->h, &l); /* the driver frees it as soon as the command is done */
			dereg(f, lkey);
			assert_int_equal(efa_device_usage(f->h->device).extents, 0);
		}
	}
}

/* Goal: lists that lie about themselves are refused, and never lead anywhere. */
static void hostile_lists(void **state)
{
	struct fixture *f = *state;
	uint32_t pages = 510 * 512 + 5, lkey;
	struct list l = make_list(f->h, pages, scattered);
	uint64_t first = l.bus + (uint64_t)l.list_pages * PAGE;
	struct efa_abi_reg_mr good = { .length = (uint64_t)pages * PAGE, .iova = 0x7f0000000000, .page_num = pages };
	static const uint32_t lengths[] = { 0, 8, 12, 20, 4091, 4093, 4095, 4096, 1u << 31, UINT32_MAX };
	const uint8_t flags = EFA_AQ_FLAG_CTRL_DATA | EFA_AQ_FLAG_CTRL_INDIRECT;
	struct efa_abi_buffer buffer, next = efa_abi_buffer_load(l.chunks + EFA_CHUNK_NEXT_AT);

#define TRY(status, set_flags, ...) do { struct efa_abi_reg_mr in = good; buffer = (struct efa_abi_buffer){ 4092, first }; \
		__VA_ARGS__; assert_int_equal(reg(f, &in, set_flags, &buffer, &lkey), status); } while (0)
	TRY(EFA_ADMIN_OK, flags, (void)0);
	dereg(f, lkey);
	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		TRY(EFA_ADMIN_MALFORMED, flags, buffer.length = lengths[i]);
		TRY(EFA_ADMIN_MALFORMED, EFA_AQ_FLAG_CTRL_DATA, buffer.length = lengths[i]);
		if (lengths[i] != 20) {
			struct efa_abi_buffer bad = { lengths[i], next.addr };

			efa_abi_buffer_store(l.chunks + EFA_CHUNK_NEXT_AT, &bad);
			TRY(EFA_ADMIN_MALFORMED, flags, (void)0);
		}
	}
	next.addr = first; /* a chain that bites its tail: its length gives it away */
	efa_abi_buffer_store(l.chunks + EFA_CHUNK_NEXT_AT, &next);
	TRY(EFA_ADMIN_OK, flags, (void)0); /* 20 bytes of the first chunk are one pointer: a list like any other */
	dereg(f, lkey);
	next.addr = 0x5000; /* nowhere */
	efa_abi_buffer_store(l.chunks + EFA_CHUNK_NEXT_AT, &next);
	TRY(EFA_ADMIN_ILLEGAL, flags, (void)0);
	TRY(EFA_ADMIN_ILLEGAL, flags, buffer.addr = 0x5000);
	TRY(EFA_ADMIN_ILLEGAL, EFA_AQ_FLAG_CTRL_DATA, buffer = ((struct efa_abi_buffer){ pages * 8, 0x5000 }));
	TRY(EFA_ADMIN_ILLEGAL, EFA_AQ_FLAG_CTRL_DATA, buffer = ((struct efa_abi_buffer){ pages * 8, l.bus + 8 * PAGE + 4096 * 506 }));
	efa_abi_le64_store(l.chunks + 8 * 77, 0x5000);
	TRY(EFA_ADMIN_ILLEGAL, flags, (void)0);
	TRY(EFA_ADMIN_MALFORMED, 0, (void)0);                        /* too many to be inline */
	TRY(EFA_ADMIN_MALFORMED, EFA_AQ_FLAG_CTRL_INDIRECT, (void)0);
	/* A page address with low bits. */
	efa_abi_le64_store(l.bytes, 0x1001);
	TRY(EFA_ADMIN_ILLEGAL, EFA_AQ_FLAG_CTRL_DATA, in.page_num = 1; in.length = PAGE; buffer = ((struct efa_abi_buffer){ 8, l.bus }));
	assert_int_equal(efa_device_usage(f->h->device).extents, 0);
	assert_int_equal(efa_device_usage(f->h->device).mrs, 0);
	free_list(f->h, &l);
}

/* Goal: the fields of REG_MR that are wrong alone. */
static void wrong_fields(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_reg_mr good = { .length = 100, .iova = 0xfff, .page_num = 2 };
	uint32_t lkey;

#define WRONG(at, ...) do { struct efa_abi_reg_mr in = good; __VA_ARGS__; \
		assert_int_equal(reg(f, &in, 0, NULL, &lkey), EFA_ADMIN_ILLEGAL); \
		assert_int_equal(efa_abi_acq_head_load(f->h->acq + ((f->h->acq_count - 1) & 31) * 64).extended_status, at); } while (0)
	WRONG(48, in.flags = EFA_MR_PHYSICAL);
	WRONG(48, in.flags = 0x20);
	WRONG(49, in.perms = 8);
	WRONG(40, in.length = 0);
	WRONG(40, in.length = UINT64_MAX);
	WRONG(40, in.iova = UINT64_MAX - 50);
	WRONG(52, in.page_num = 1);
	WRONG(52, in.page_num = 3);
	WRONG(52, in.page_num = 0);
	good.flags = 0; /* pages of 2^12 come from reg(); 2^13 - 1 has no bit of its own, 2^8 is too small */
	{
		struct efa_abi_reg_mr in = { .pd = f->pd, .length = 10, .page_num = 1, .flags = 8 };

		assert_int_equal(host_command(f->h, EFA_OP_REG_MR, &in, NULL), EFA_ADMIN_ILLEGAL);
		in.flags = 31; /* 2 GiB pages are fine */
		assert_int_equal(host_command(f->h, EFA_OP_REG_MR, &in, NULL), 0);
		in.pd = 200;
		assert_int_equal(host_command(f->h, EFA_OP_REG_MR, &in, NULL), EFA_ADMIN_ILLEGAL);
	}
}

/* Goal: the same place never has the same lkey twice in fifteen lives; rkeys differ. */
static void keys(void **state)
{
	struct fixture *f = *state;
	struct efa_abi_reg_mr in = { .pd = f->pd, .length = 10, .page_num = 1, .flags = 12 };
	struct efa_device_profile p = *efa_device_profile_find("full");
	struct efa_abi_reg_mr_result out;
	uint32_t lkeys[15], rkeys[15], same = 0;
	struct fabric fabric;
	struct host *h;

	p.queue.max_mr = 1;
	fabric_init(&fabric);
	h = host_create(&fabric, &p, 9);
	in.pd = host_pd(h);
	for (uint32_t i = 0; i < 15; i++) {
		assert_int_equal(host_command(h, EFA_OP_REG_MR, &in, &out), 0);
		lkeys[i] = out.lkey;
		rkeys[i] = out.rkey;
		assert_in_range(out.lkey, 1, 0xffffff);
		for (uint32_t k = 0; k < i; k++) {
			assert_true(lkeys[k] != out.lkey);
			same += rkeys[k] == out.rkey;
		}
		assert_int_equal(host_command(h, EFA_OP_DEREG_MR, &(struct efa_abi_lkey){ out.lkey }, NULL), 0);
	}
	assert_in_range(same, 0, 1);
	host_destroy(h);
}

/* Goal: a region of scattered pages is read and written as its pages lie, across their borders; nothing beside it is touched. */
static void scattered_access(void **state)
{
	struct fixture *f = *state;
	struct host *h = f->h;
	uint8_t *pages = host_alloc(h, 8 * PAGE), *list = host_alloc(h, PAGE), *target = host_alloc(h, 4 * PAGE);
	uint16_t uar = host_uar(h), ah = host_ah(h, f->pd, h);
	struct host_cq cq = host_cq_on(h, uar, 64, 4, -1);
	struct host_qp qp = host_qp_create(h, uar, f->pd, EFA_QP_SRD, &cq, 64, 64, 0);
	static const uint8_t order[] = { 6, 1, 3, 2, 0 };
	struct efa_abi_reg_mr in = { .iova = 0x1234567000 + 100, .length = 5 * PAGE - 200, .page_num = 5, .perms = EFA_MR_LOCAL_WRITE };
	struct efa_abi_buffer direct = { .length = 5 * 8, .addr = host_bus(h, list) };
	struct efa_abi_reg_mr_result mr;
	uint32_t lkey;

	for (uint32_t i = 0; i < 8 * PAGE; i++)
		pages[i] = (uint8_t)(i / PAGE * 16 + i % 7);
	for (uint32_t i = 0; i < 5; i++)
		efa_abi_le64_store(list + 8 * i, host_bus(h, pages + order[i] * PAGE));
	assert_int_equal(reg(f, &in, EFA_AQ_FLAG_CTRL_DATA, &direct, &lkey), 0);
	mr = host_mr(h, f->pd, target, 3 * PAGE, EFA_MR_LOCAL_WRITE);
	host_rts(h, &qp, 0);
	for (uint32_t at = 0; at < 5 * PAGE - 200 - 8000; at += 777) {
		struct efa_abi_wqe w = { .dest_qpn = qp.info.qp_num, .ah = ah, .length = 1, .qkey = HOST_QKEY,
					 .sge = { { .addr = in.iova + at, .length = 8000, .lkey = lkey } } };
		struct efa_abi_cqe cqe;

		host_recv(h, &qp, 5, &(struct efa_abi_sge){ 9000, mr.lkey, (uintptr_t)target }, 1);
		host_send(h, &qp, &w);
		fabric_run(&f->fabric);
		assert_true(host_poll(&cq, &cqe) && cqe.status == 0);
		assert_true(host_poll(&cq, &cqe) && cqe.status == 0);
		for (uint32_t i = 0; i < 8000; i++)
			assert_int_equal(target[i], pages[order[(100 + at + i) / PAGE] * PAGE + (100 + at + i) % PAGE]);
		/* And the other way. */
		memset(target, (int)at, 8000);
		w.sge[0] = (struct efa_abi_sge){ 8000, mr.lkey, (uintptr_t)target };
		host_recv(h, &qp, 6, &(struct efa_abi_sge){ 8000, lkey, in.iova + at }, 1);
		host_send(h, &qp, &w);
		fabric_run(&f->fabric);
		assert_true(host_poll(&cq, &cqe) && cqe.status == 0);
		assert_true(host_poll(&cq, &cqe) && cqe.status == 0);
		for (uint32_t i = 0; i < 8000; i++)
			assert_int_equal(pages[order[(100 + at + i) / PAGE] * PAGE + (100 + at + i) % PAGE], (uint8_t)at);
	}
	for (uint32_t i = 0; i < PAGE; i++) {
		assert_int_equal(pages[4 * PAGE + i], (uint8_t)(4 * 16 + (4 * PAGE + i) % 7));
		assert_int_equal(pages[5 * PAGE + i], (uint8_t)(5 * 16 + (5 * PAGE + i) % 7));
	}
}

/* Goal: what page lists cost is bounded for all regions together. */
static void cost(void **state)
{
	struct fixture *f = *state;
	struct efa_device_profile p = *efa_device_profile_find("full");
	struct fixture small;
	struct efa_abi_reg_mr in = { .length = 6 * PAGE, .page_num = 6 };
	uint32_t first, second;
	struct list l;

	(void)f;
	p.max_extents = 10;
	fabric_init(&small.fabric);
	small.h = host_create(&small.fabric, &p, 3);
	small.pd = host_pd(small.h);
	l = make_list(small.h, 16, scattered);
	assert_int_equal(reg(&small, &in, EFA_AQ_FLAG_CTRL_DATA, &(struct efa_abi_buffer){ 48, l.bus }, &first), 0);
	assert_int_equal(reg(&small, &in, EFA_AQ_FLAG_CTRL_DATA, &(struct efa_abi_buffer){ 48, l.bus }, &second),
			 EFA_ADMIN_NO_RESOURCE);
	dereg(&small, first);
	assert_int_equal(reg(&small, &in, EFA_AQ_FLAG_CTRL_DATA, &(struct efa_abi_buffer){ 48, l.bus }, &second), 0);
	free_list(small.h, &l);
	host_destroy(small.h);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(sizes), CASE(hostile_lists), CASE(wrong_fields), CASE(keys), CASE(scattered_access), CASE(cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
