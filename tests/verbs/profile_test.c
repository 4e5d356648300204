/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two profiles, hardware and spec, wherever they differ (softverbs(7) has the list), and who the devices say they are. Each
 * case is a process of its own and sets its environment before the first use of verbs.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of <infiniband/driver.h>, which Debian does not ship. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

static void profile(const char *name)
{
	need_equal(setenv("SOFTVERBS_PROFILE", name, 1), 0);
}

/* A is connected to B, but has been left in this state. */
static struct rc_address half_open(struct rc *a, struct rc *b, enum ibv_qp_state state)
{
	rc_open(a, NULL);
	rc_open(b, &(struct rc_options){ .context = a->context });
	struct rc_address to = rc_address_of(b), from = rc_address_of(a);

	rc_connect(b, &from);
	if (state >= IBV_QPS_INIT)
		need_equal(rc_to_init(a), 0);
	if (state >= IBV_QPS_RTR)
		need_equal(rc_to_rtr(a, &to), 0);
	return to;
}

static void early_kept(enum ibv_qp_state state)
{
	struct rc a, b;
	struct rc_address to = half_open(&a, &b, state);

	memset(a.buf, 'e', 100);
	need_equal(rc_post(&a, 1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 100, &to, 500), 0);
	need_equal(rc_post(&a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
	need_equal(rc_receive(&b, 3, 1000, 100), 0);
	cq_expect_none(a.send_cq, 20);
	if (state == IBV_QPS_INIT)
		need_equal(rc_to_rtr(&a, &to), 0);
	cq_expect_none(a.send_cq, 20);
	need_equal(b.buf[500], 0);
	need_equal(rc_to_rts(&a), 0);
	cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	cq_expect(a.send_cq, 2, IBV_WC_SUCCESS, IBV_WC_SEND);
	cq_expect(b.recv_cq, 3, IBV_WC_SUCCESS, IBV_WC_RECV);
	need(memcmp(b.buf + 500, a.buf, 100) == 0 && memcmp(b.buf + 1000, a.buf, 100) == 0);
	rc_close(&b);
	rc_close(&a);
}

static void hardware_keeps_early_posts(void)
{
	profile("hardware");
	early_kept(IBV_QPS_INIT);
	early_kept(IBV_QPS_RTR);
}

static void hardware_flushes_early_posts(void)
{
	struct rc a, b;

	profile("hardware");
	half_open(&a, &b, IBV_QPS_RTR);
	need_equal(rc_post(&a, 7, IBV_WR_SEND, 0, 0, 8, NULL, 0), 0);
	need_equal(rc_to_error(&a), 0);
	need_equal(cq_wait(a.send_cq).status, IBV_WC_WR_FLUSH_ERR);
	/* And RESET forgets them. */
	need_equal(rc_to_reset(&a), 0);
	need_equal(rc_to_init(&a), 0);
	need_equal(rc_post(&a, 8, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 8, NULL, 0), 0);
	need_equal(rc_to_reset(&a), 0);
	cq_expect_none(a.send_cq, 20);
	rc_close(&b);
	rc_close(&a);
}

static void reset_refuses(const char *name)
{
	struct rc rc;

	profile(name);
	rc_open(&rc, NULL);
	need_equal(rc_post(&rc, 1, IBV_WR_SEND, 0, 0, 8, NULL, 0), EINVAL);
	rc_close(&rc);
}

static void hardware_refuses_in_reset(void)
{
	reset_refuses("hardware");
}

static void spec_refuses_early_posts(void)
{
	reset_refuses("spec");
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTR; state++) {
		struct rc a, b;

		half_open(&a, &b, state);
		need_equal(rc_post(&a, 1, IBV_WR_SEND, 0, 0, 8, NULL, 0), EINVAL);
		rc_close(&b);
		rc_close(&a);
	}
}

/* Posts a datagram of one byte more than the port's MTU; gives its completion. */
static struct ibv_wc long_datagram(const char *name, enum ibv_qp_state *after)
{
	const struct rc_options options = { .type = IBV_QPT_UD };
	struct ibv_qp_init_attr init;
	struct ibv_port_attr port;
	struct ibv_qp_attr attr;
	struct rc a, b;

	profile(name);
	rc_pair(&a, &b, &options, &options);
	need_equal(ibv_query_port(a.context, 1, &port), 0);
	need_equal(rc_receive(&b, 5, 0, 60000), 0);
	need_equal(rc_post(&a, 1, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, (128u << port.active_mtu) + 1, NULL, 0), 0);
	struct ibv_wc wc = cq_wait(a.send_cq);
	cq_expect_none(b.recv_cq, 30);
	need_equal(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	*after = attr.qp_state;
	/* What fits goes on as the state says. */
	need_equal(rc_post(&a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 64, NULL, 0), 0);
	need_equal(cq_wait(a.send_cq).status, *after == IBV_QPS_RTS ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
	rc_pair_close(&a, &b);
	return wc;
}

static void hardware_fails_long_datagrams(void)
{
	enum ibv_qp_state after;

	need_equal(long_datagram("hardware", &after).status, IBV_WC_LOC_LEN_ERR);
	need_equal(after, IBV_QPS_SQE);
}

static void spec_drops_long_datagrams(void)
{
	enum ibv_qp_state after;

	need_equal(long_datagram("spec", &after).status, IBV_WC_SUCCESS);
	need_equal(after, IBV_QPS_RTS);
}

static int atomic_post(struct rc *rc, uint64_t id, enum ibv_wr_opcode opcode, uint32_t len, const struct rc_address *remote,
		       uint64_t remote_at)
{
	struct ibv_sge sge = { (uintptr_t)rc->buf + 64, len, rc->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = remote->addr + remote_at, .compare_add = 1, .rkey = remote->rkey } };

	return ibv_post_send(rc->qp, &wr, &bad);
}

static void odd_atomic(uint32_t len, uint64_t at, enum ibv_wc_status status)
{
	struct rc a, b;

	rc_pair(&a, &b, NULL, NULL);
	struct rc_address to = rc_address_of(&b);

	need_equal(atomic_post(&a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, len, &to, at), 0);
	need_equal(cq_wait(a.send_cq).status, status);
	rc_pair_close(&a, &b);
}

static void hardware_takes_odd_atomics(void)
{
	profile("hardware");
	odd_atomic(16, 8, IBV_WC_LOC_LEN_ERR);
	odd_atomic(8, 4, IBV_WC_REM_INV_REQ_ERR);
}

static void spec_refuses_odd_atomics(void)
{
	struct rc a, b;

	profile("spec");
	rc_pair(&a, &b, NULL, NULL);
	struct rc_address to = rc_address_of(&b);

	need_equal(atomic_post(&a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 16, &to, 8), EINVAL);
	need_equal(atomic_post(&a, 2, IBV_WR_ATOMIC_CMP_AND_SWP, 8, &to, 4), EINVAL);
	need_equal(atomic_post(&a, 3, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, &to, 8), 0);
	cq_expect(a.send_cq, 3, IBV_WC_SUCCESS, IBV_WC_FETCH_ADD);
	rc_pair_close(&a, &b);
}

static void bound_region(const char *name, int error)
{
	struct rc a, b;

	profile(name);
	rc_pair(&a, &b, &(struct rc_options){ .mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND }, NULL);
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
	if (mw == NULL)
		harness_skip("no memory windows");
	struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { a.mr, (uintptr_t)a.buf, 100, IBV_ACCESS_REMOTE_READ } };

	need_equal(ibv_bind_mw(a.qp, mw, &bind), 0);
	cq_expect(a.send_cq, 1, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
	need_equal(ibv_dereg_mr(a.mr), error);
	need_equal(ibv_dealloc_mw(mw), 0);
	rc_pair_close(&a, &b);
}

static void hardware_bound_region_is_busy(void)
{
	bound_region("hardware", EBUSY);
}

static void spec_bound_region_is_invalid(void)
{
	bound_region("spec", EINVAL);
}

static void expect_identity(uint32_t vendor, uint32_t part, const char *firmware, const char *description)
{
	struct ibv_context *context = rc_device_open();
	struct ibv_device_attr attr;
	char text[64], guid[32];

	need_equal(ibv_query_device(context, &attr), 0);
	need_equal(attr.vendor_id, vendor);
	need_equal(attr.vendor_part_id, part);
	need(strcmp(attr.fw_ver, firmware) == 0);
	const char *path = context->device->ibdev_path;
	need_equal(ibv_read_sysfs_file(path, "node_desc", text, sizeof(text)), (int)strlen(description));
	need(strcmp(text, description) == 0);
	need_equal(ibv_read_sysfs_file(path, "fw_ver", text, sizeof(text)), (int)strlen(firmware));
	need(strcmp(text, firmware) == 0);
	need_equal(ibv_read_sysfs_file(path, "node_guid", guid, sizeof(guid)), 19);
	need(ibv_read_sysfs_file(path, "board_id", text, sizeof(text)) > 0);
	/* Room, names and devices that are not there. */
	need_equal(ibv_read_sysfs_file(path, "node_desc", text, 4), -1);
	need_equal(errno, EMSGSIZE);
	need_equal(ibv_read_sysfs_file(path, "no_such_file", text, sizeof(text)), -1);
	need_equal(errno, ENOENT);
	need_equal(ibv_read_sysfs_file("/sys/class/infiniband/mlx5_0", "node_desc", text, sizeof(text)), -1);
	need_equal(errno, ENOENT);
	need_equal(ibv_close_device(context), 0);
}

static void default_identity(void)
{
	expect_identity(0xffffff, 4119, "0.1.0", "softverbs");
}

static void chosen_identity(void)
{
	setenv("SOFTVERBS_VENDOR_ID", "0x2c9", 1);
	setenv("SOFTVERBS_PART_ID", "4123", 1);
	setenv("SOFTVERBS_FIRMWARE", "20.32.1010", 1);
	setenv("SOFTVERBS_NODE_DESC", "port of many colours", 1);
	expect_identity(0x2c9, 4123, "20.32.1010", "port of many colours");
}

int main(int argc, char **argv)
{
	static const struct harness_case cases[] = {
		{ "early_kept", "hardware: what is posted in INIT and RTR is sent at RTS", hardware_keeps_early_posts },
		{ "early_flushed", "hardware: ERR flushes it, RESET forgets it", hardware_flushes_early_posts },
		{ "reset_refuses", "hardware: not in RESET", hardware_refuses_in_reset },
		{ "early_refused", "spec: EINVAL before RTS", spec_refuses_early_posts },
		{ "long_fails", "hardware: a UD send longer than the MTU is LOC_LEN_ERR", hardware_fails_long_datagrams },
		{ "long_dropped", "spec: it succeeds and nothing is sent", spec_drops_long_datagrams },
		{ "odd_taken", "hardware: an odd atomic ends in an error of its completion", hardware_takes_odd_atomics },
		{ "odd_refused", "spec: posting does", spec_refuses_odd_atomics },
		{ "bound_busy", "hardware: a region with a window bound is busy", hardware_bound_region_is_busy },
		{ "bound_invalid", "spec: deregistering it is invalid", spec_bound_region_is_invalid },
		{ "default_identity", "nobody's vendor, a part that perftest knows", default_identity },
		{ "chosen_identity", "identity as it was set", chosen_identity },
	};

	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
