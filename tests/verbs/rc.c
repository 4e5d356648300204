/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RC connections for the cases. */
#include "harness.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { ALL_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		WAIT_MS = 10000 };

struct ibv_context *rc_device_open(void)
{
	return rc_device_open_named("sv_lo");
}

struct ibv_context *rc_device_open_named(const char *name)
{
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_context *context = NULL;

	need(list != NULL);
	for (int i = 0; i < count; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0) {
			context = ibv_open_device(list[i]);
			break;
		}
	need(context != NULL);
	ibv_free_device_list(list);
	return context;
}

int rc_gid_find(struct ibv_context *context, union ibv_gid *gid)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entries[64];
	ssize_t count = ibv_query_gid_table(context, entries, 64, 0);

	need(count > 0);
	for (ssize_t i = 0; i < count; i++)
		if (entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 && memcmp(entries[i].gid.raw, mapped, 12) == 0) {
			*gid = entries[i].gid;
			return (int)entries[i].gid_index;
		}
	harness_fail(__FILE__, __LINE__, "no RoCE v2 GID is an IPv4 address");
}

static uint8_t or_default(uint8_t value, uint8_t standard)
{
	return value == 0 ? standard : value == 255 ? 0 : value;
}

static unsigned access_of(int value)
{
	return value == 0 ? ALL_ACCESS : value < 0 ? 0 : (unsigned)value;
}

void rc_open(struct rc *rc, const struct rc_options *options)
{
	memset(rc, 0, sizeof(*rc));
	if (options != NULL)
		rc->o = *options;
	struct rc_options *o = &rc->o;
	o->send_wr = o->send_wr == 0 ? 64 : o->send_wr;
	o->recv_wr = o->recv_wr == 0 ? 64 : o->recv_wr;
	o->sge = o->sge == 0 ? 4 : o->sge;
	o->cqe = o->cqe == 0 ? 256 : o->cqe;
	o->size = o->size == 0 ? 65536 : o->size;
	o->mtu = o->mtu == 0 ? IBV_MTU_1024 : o->mtu;
	o->type = o->type == 0 ? IBV_QPT_RC : o->type;
	rc->own_context = o->context == NULL;
	rc->context = rc->own_context ? rc_device_open() : o->context;
	rc->own_pd = o->pd == NULL;
	rc->pd = rc->own_pd ? ibv_alloc_pd(rc->context) : o->pd;
	need(rc->pd != NULL);
	if (o->channel) {
		rc->channel = ibv_create_comp_channel(rc->context);
		need(rc->channel != NULL);
	}
	rc->send_cq = o->cq != NULL ? o->cq : ibv_create_cq(rc->context, (int)o->cqe, rc, rc->channel, 0);
	rc->recv_cq = o->cq != NULL ? o->cq : ibv_create_cq(rc->context, (int)o->cqe, rc, rc->channel, 0);
	need(rc->send_cq != NULL && rc->recv_cq != NULL);
	rc->buf = aligned_alloc(4096, o->size);
	need(rc->buf != NULL);
	memset(rc->buf, 0, o->size);
	rc->mr = ibv_reg_mr(rc->pd, rc->buf, o->size, (int)access_of(o->mr_access));
	need(rc->mr != NULL);
	rc->gid_index = rc_gid_find(rc->context, &rc->gid);
	if (o->send_ops != 0) {
		struct ibv_qp_init_attr_ex attr = {
			.send_cq = rc->send_cq, .recv_cq = rc->recv_cq, .srq = o->srq, .qp_type = o->type, .sq_sig_all =
					o->sig_all,
			.cap = { o->send_wr, o->recv_wr, o->sge, o->sge, o->inline_max },
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .pd = rc->pd, .send_ops_flags =
					o->send_ops,
		};

		rc->qp = ibv_create_qp_ex(rc->context, &attr);
	} else {
		struct ibv_qp_init_attr attr = {
			.send_cq = rc->send_cq, .recv_cq = rc->recv_cq, .srq = o->srq, .qp_type = o->type, .sq_sig_all =
					o->sig_all,
			.cap = { o->send_wr, o->recv_wr, o->sge, o->sge, o->inline_max },
		};

		rc->qp = ibv_create_qp(rc->pd, &attr);
	}
	need(rc->qp != NULL);
}

void rc_close(struct rc *rc)
{
	if (rc->ah != NULL)
		need_equal(ibv_destroy_ah(rc->ah), 0);
	need_equal(ibv_destroy_qp(rc->qp), 0);
	need_equal(ibv_dereg_mr(rc->mr), 0);
	if (rc->o.cq == NULL) {
		need_equal(ibv_destroy_cq(rc->send_cq), 0);
		need_equal(ibv_destroy_cq(rc->recv_cq), 0);
	}
	if (rc->channel != NULL)
		need_equal(ibv_destroy_comp_channel(rc->channel), 0);
	if (rc->own_pd)
		need_equal(ibv_dealloc_pd(rc->pd), 0);
	if (rc->own_context)
		need_equal(ibv_close_device(rc->context), 0);
	free(rc->buf);
}

struct rc_address rc_address_of(const struct rc *rc)
{
	return (struct rc_address){ rc->gid, rc->qp->qp_num, (rc->qp->qp_num * 7919) & 0xffffff, rc->mr->rkey,
			(uintptr_t)rc->buf };
}

int rc_to_init(struct rc *rc)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access_of(rc->o.qp_access), .qkey = RC_QKEY,
	};

	return ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     (rc->o.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

int rc_to_rtr(struct rc *rc, const struct rc_address *remote)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = rc->o.mtu, .dest_qp_num = remote->qpn, .rq_psn = remote->psn,
		.max_dest_rd_atomic = 4, .min_rnr_timer = or_default(rc->o.min_rnr, 1),
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = remote->gid, .sgid_index = (uint8_t)rc->gid_index, .hop_limit = 64 } },
	};
	int mask = IBV_QP_STATE;

	rc->remote_qpn = remote->qpn;
	if (rc->o.type == IBV_QPT_UD && rc->ah == NULL)
		need((rc->ah = ibv_create_ah(rc->pd, &attr.ah_attr)) != NULL);
	if (rc->o.type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (rc->o.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(rc->qp, &attr, mask);
}

int rc_to_rts(struct rc *rc)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = or_default(rc->o.timeout, 14), .retry_cnt = or_default(rc->o.retry, 7),
		.rnr_retry = or_default(rc->o.rnr_retry, 7), .sq_psn = rc_address_of(rc).psn, .max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (rc->o.type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(rc->qp, &attr, mask);
}

static int to_state(struct rc *rc, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE);
}

int rc_to_reset(struct rc *rc)
{
	return to_state(rc, IBV_QPS_RESET);
}

int rc_to_error(struct rc *rc)
{
	return to_state(rc, IBV_QPS_ERR);
}

void rc_connect(struct rc *rc, const struct rc_address *remote)
{
	need_equal(rc_to_init(rc), 0);
	need_equal(rc_to_rtr(rc, remote), 0);
	need_equal(rc_to_rts(rc), 0);
}

void rc_pair(struct rc *a, struct rc *b, const struct rc_options *oa, const struct rc_options *ob)
{
	struct rc_options second = ob == NULL ? (struct rc_options){ 0 } : *ob;

	rc_open(a, oa);
	if (second.context == NULL)
		second.context = a->context;
	rc_open(b, &second);
	const struct rc_address to_a = rc_address_of(a), to_b = rc_address_of(b);
	rc_connect(a, &to_b);
	rc_connect(b, &to_a);
}

void rc_pair_close(struct rc *a, struct rc *b)
{
	rc_close(b);
	rc_close(a);
}

struct rc_address rc_meet(struct rc *rc, const struct peer *peer)
{
	struct rc_address mine = rc_address_of(rc), theirs;

	peer_send(peer, &mine, sizeof(mine));
	peer_receive(peer, &theirs, sizeof(theirs));
	rc_connect(rc, &theirs);
	peer_tell(peer);
	peer_await(peer);
	return theirs;
}

int rc_post(struct rc *rc, uint64_t id, enum ibv_wr_opcode opcode, unsigned flags, size_t at, uint32_t len, const struct
		rc_address *remote,
	    uint64_t remote_at)
{
	struct ibv_sge sge = { (uintptr_t)rc->buf + at, len, rc->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = flags }, *bad;

	if (rc->o.type == IBV_QPT_UD) {
		wr.wr.ud.ah = rc->ah;
		wr.wr.ud.remote_qpn = rc->remote_qpn;
		wr.wr.ud.remote_qkey = RC_QKEY;
	} else if (remote != NULL) {
		wr.wr.rdma.rkey = remote->rkey;
		wr.wr.rdma.remote_addr = remote->addr + remote_at;
	}
	if (opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = htonl((uint32_t)id);
	return ibv_post_send(rc->qp, &wr, &bad);
}

int rc_receive(struct rc *rc, uint64_t id, size_t at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)rc->buf + at, len, rc->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(rc->qp, &wr, &bad);
}

struct ibv_wc cq_wait(struct ibv_cq *cq)
{
	uint64_t end = harness_now_ms() + WAIT_MS;
	struct ibv_wc wc;

	for (;;) {
		int n = ibv_poll_cq(cq, 1, &wc);

		need(n >= 0);
		if (n == 1)
			return wc;
		if (harness_now_ms() > end)
			harness_fail(__FILE__, __LINE__, "no completion for %d ms", WAIT_MS);
	}
}

void cq_expect(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = cq_wait(cq);

	if (wc.wr_id != id || wc.status != status || wc.opcode != opcode)
		harness_fail(__FILE__, __LINE__, "completion of %llu, %s, opcode %d; expected %llu, %s, opcode %d",
			     (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status), wc.opcode, (unsigned long long)id,
			     ibv_wc_status_str(status), opcode);
}

void cq_expect_none(struct ibv_cq *cq, unsigned ms)
{
	uint64_t end = harness_now_ms() + ms;
	struct ibv_wc wc;

	do {
		int n = ibv_poll_cq(cq, 1, &wc);

		if (n != 0)
			harness_fail(__FILE__, __LINE__, "a completion too many: %d, of %llu, %s", n, (unsigned long
					long)wc.wr_id,
				     ibv_wc_status_str(wc.status));
	} while (harness_now_ms() < end);
}
