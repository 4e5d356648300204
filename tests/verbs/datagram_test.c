/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * UD between two processes: who receives a datagram knows from its first 40 bytes whom to answer, for every GID type; messages
 * up to the MTU of the port; Q_Key violations are counted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

enum { QKEY = 0x11111111, GRH = 40, SLOT_BYTES = 8192, RECEIVES = 4 };

struct ud {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint32_t mtu; /* bytes */
	unsigned char *buf; /* slot 0 is sent from, the others receive */
};

struct ud_address {
	union ibv_gid gid;
	uint32_t qpn, gid_index;
};

static void ud_receive(struct ud *ud, uint64_t slot, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)ud->buf + slot * SLOT_BYTES, len, ud->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	need_equal(ibv_post_recv(ud->qp, &wr, &bad), 0);
}

static void ud_open(struct ud *ud)
{
	struct ibv_port_attr port;

	memset(ud, 0, sizeof(*ud));
	ud->context = rc_device_open();
	need_equal(ibv_query_port(ud->context, 1, &port), 0);
	ud->mtu = 128u << port.active_mtu;
	need((ud->pd = ibv_alloc_pd(ud->context)) != NULL);
	need((ud->cq = ibv_create_cq(ud->context, 16, NULL, NULL, 0)) != NULL);
	struct ibv_qp_init_attr init = {
		.send_cq = ud->cq, .recv_cq = ud->cq, .qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	need((ud->qp = ibv_create_qp(ud->pd, &init)) != NULL);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	need_equal(ibv_modify_qp(ud->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
	need((ud->buf = calloc(RECEIVES + 1, SLOT_BYTES)) != NULL);
	need((ud->mr = ibv_reg_mr(ud->pd, ud->buf, (RECEIVES + 1) * SLOT_BYTES, IBV_ACCESS_LOCAL_WRITE)) != NULL);
	for (uint64_t slot = 1; slot <= RECEIVES; slot++)
		ud_receive(ud, slot, ud->mtu + GRH);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR };
	need_equal(ibv_modify_qp(ud->qp, &attr, IBV_QP_STATE), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	need_equal(ibv_modify_qp(ud->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	for (uint32_t i = 0; i < ud->mtu; i++)
		ud->buf[i] = (unsigned char)(i * 7 + 3);
}

static void ud_close(struct ud *ud)
{
	need_equal(ibv_destroy_qp(ud->qp), 0);
	need_equal(ibv_destroy_cq(ud->cq), 0);
	need_equal(ibv_dereg_mr(ud->mr), 0);
	need_equal(ibv_dealloc_pd(ud->pd), 0);
	need_equal(ibv_close_device(ud->context), 0);
	free(ud->buf);
}

static int ud_send(struct ud *ud, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey, uint32_t len, uint32_t imm)
{
	struct ibv_sge sge = { (uintptr_t)ud->buf, len, ud->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl(imm),
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = qkey },
	}, *bad;

	return ibv_post_send(ud->qp, &wr, &bad);
}

static struct ibv_ah *ah_to(struct ud *ud, const struct ud_address *to, uint32_t sgid_index)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = to->gid, .sgid_index = (uint8_t)sgid_index, .hop_limit = 33, .traffic_class = 0x20 },
	};

	return ibv_create_ah(ud->pd, &attr);
}

/* Of the GIDs of loopback those that this link can carry. */
static bool is_usable(const struct ibv_gid_entry *entry)
{
	if (!harness_is_wire())
		return true;
	return entry->gid_type == IBV_GID_TYPE_ROCE_V2 && entry->gid.raw[0] != 0xfe;
}

static void is_received(struct ud *ud, const struct ibv_wc *wc, uint32_t len)
{
	need_equal(wc->status, IBV_WC_SUCCESS);
	need_equal(wc->opcode, IBV_WC_RECV);
	need_equal(wc->byte_len, len + GRH);
	need((wc->wc_flags & IBV_WC_GRH) != 0 && (wc->wc_flags & IBV_WC_WITH_IMM) != 0);
	need_equal(memcmp(ud->buf + wc->wr_id * SLOT_BYTES + GRH, ud->buf, len), 0);
}

/* What a completion says the datagram came under: 0 a GRH, 9 IPv6, 10 IPv4. */
static int network_of(struct ibv_context *context, uint32_t gid_index)
{
	struct ibv_gid_entry entry;

	need_equal(ibv_query_gid_ex(context, 1, gid_index, &entry, 0), 0);
	if (entry.gid_type != IBV_GID_TYPE_ROCE_V2)
		return 0;
	return memcmp(entry.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0 ? 10 : 9;
}

/* Answers what it gets, until a datagram without payload. */
static void answerer(struct peer *peer)
{
	struct ud ud;
	struct ibv_wc wc;

	ud_open(&ud);
	struct ud_address mine = { .qpn = ud.qp->qp_num };
	peer_send(peer, &mine, sizeof(mine));
	for (;;) {
		wc = cq_wait(ud.cq);
		if (wc.byte_len == GRH)
			break;
		is_received(&ud, &wc, wc.byte_len - GRH);
		struct ibv_grh *grh = (struct ibv_grh *)(void *)(ud.buf + wc.wr_id * SLOT_BYTES);
		struct ibv_ah_attr attr;
		need_equal(ibv_init_ah_from_wc(ud.context, 1, &wc, grh, &attr), 0);
		need_equal(attr.grh.sgid_index, ntohl(wc.imm_data));
		need_equal(attr.grh.traffic_class, 0x20);
		need_equal(wc.sl, network_of(ud.context, attr.grh.sgid_index));
		need_equal(attr.sl, 0);
		/* The kernel of a receiver tells the hop limit as it arrived. */
		need_equal(attr.grh.hop_limit, 33);
		struct ibv_ah *ah = ibv_create_ah_from_wc(ud.pd, &wc, grh, 1);
		need(ah != NULL);
		need_equal(ud_send(&ud, ah, wc.src_qp, QKEY, wc.byte_len - GRH, 77), 0);
		/* The work request has its own copy. */
		need_equal(ibv_destroy_ah(ah), 0);
		uint64_t slot = wc.wr_id;
		wc = cq_wait(ud.cq);
		need_equal(wc.status, IBV_WC_SUCCESS);
		need_equal(wc.opcode, IBV_WC_SEND);
		ud_receive(&ud, slot, ud.mtu + GRH);
	}
	peer_await(peer);
	ud_close(&ud);
}

static void answers(void)
{
	struct peer peer = peer_start(answerer);
	struct ud_address theirs;
	struct ibv_gid_entry entry;
	struct ud ud;
	unsigned types = 0;

	ud_open(&ud);
	peer_receive(&peer, &theirs, sizeof(theirs));
	for (uint32_t index = 0; index < 16; index++) {
		if (ibv_query_gid_ex(ud.context, 1, index, &entry, 0) != 0 || !is_usable(&entry))
			continue;
		/* The other process has the same device: its GID of this index is ours. */
		theirs.gid = entry.gid;
		struct ibv_ah *ah = ah_to(&ud, &theirs, index);
		need(ah != NULL);
		for (uint32_t len = 1; len <= ud.mtu; len = len == 1 ? ud.mtu : len + 1) {
			need_equal(ud_send(&ud, ah, theirs.qpn, QKEY, len, index), 0);
			struct ibv_wc wc[2] = { cq_wait(ud.cq), cq_wait(ud.cq) };
			struct ibv_wc *sent = wc[0].opcode == IBV_WC_SEND ? &wc[0] : &wc[1], *got = sent == wc ? &wc[1] : &wc[0];
			need_equal(sent->status, IBV_WC_SUCCESS);
			is_received(&ud, got, len);
			need_equal(got->src_qp, theirs.qpn);
			need_equal(ntohl(got->imm_data), 77);
			ud_receive(&ud, got->wr_id, ud.mtu + GRH);
		}
		types |= 1u << entry.gid_type;
		need_equal(ibv_destroy_ah(ah), 0);
	}
	need_equal(types, 1u << IBV_GID_TYPE_ROCE_V2 | (harness_is_wire() ? 0 : 1u << IBV_GID_TYPE_ROCE_V1));
	union ibv_gid gid;
	int index = rc_gid_find(ud.context, &gid);
	theirs.gid = gid;
	struct ibv_ah *ah = ah_to(&ud, &theirs, (uint32_t)index);
	need_equal(ud_send(&ud, ah, theirs.qpn, QKEY, 0, 0), 0);
	need_equal(cq_wait(ud.cq).status, IBV_WC_SUCCESS);
	need_equal(ibv_destroy_ah(ah), 0);
	peer_tell(&peer);
	peer_join(&peer);
	ud_close(&ud);
}

/* Nobody is at the other end: no QP, no process, no slot. The sender is not told, and not held up. */
static void nobody_there(void)
{
	struct ud ud;
	union ibv_gid gid;

	ud_open(&ud);
	int index = rc_gid_find(ud.context, &gid);
	struct ud_address to = { .gid = gid };
	struct ibv_ah *ah = ah_to(&ud, &to, (uint32_t)index);
	need(ah != NULL);
	const uint32_t own = ud.qp->qp_num;
	const uint32_t nobodies[] = { own ^ 1, (own ^ 0x30000) & 0xffffff, 0, 1, 0xfeffff };
	for (size_t i = 0; i < sizeof(nobodies) / sizeof(nobodies[0]); i++) {
		need_equal(ud_send(&ud, ah, nobodies[i], QKEY, 100, 0), 0);
		need_equal(cq_wait(ud.cq).status, IBV_WC_SUCCESS);
	}
	/* And to itself it still talks. */
	need_equal(ud_send(&ud, ah, own, QKEY, 100, 5), 0);
	struct ibv_wc wc[2] = { cq_wait(ud.cq), cq_wait(ud.cq) };
	need_equal(wc[0].status, IBV_WC_SUCCESS);
	need_equal(wc[1].status, IBV_WC_SUCCESS);
	need_equal(ibv_destroy_ah(ah), 0);
	ud_close(&ud);
}

static void violations(void)
{
	struct ibv_port_attr before, after;
	struct ud ud;
	union ibv_gid gid;

	ud_open(&ud);
	int index = rc_gid_find(ud.context, &gid);
	struct ud_address to = { .gid = gid };
	struct ibv_ah *ah = ah_to(&ud, &to, (uint32_t)index);
	need(ah != NULL);
	need_equal(ibv_query_port(ud.context, 1, &before), 0);
	need_equal(ud_send(&ud, ah, ud.qp->qp_num, QKEY + 1, 100, 0), 0);
	need_equal(cq_wait(ud.cq).status, IBV_WC_SUCCESS);
	cq_expect_none(ud.cq, 50);
	need_equal(ibv_query_port(ud.context, 1, &after), 0);
	need_equal(after.qkey_viol_cntr, before.qkey_viol_cntr + 1);
	/* An ordinary user cannot set a privileged Q_Key. */
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .qkey = 0x80010000 };
	if (geteuid() != 0)
		need_equal(ibv_modify_qp(ud.qp, &attr, IBV_QP_STATE | IBV_QP_QKEY), EPERM);
	need_equal(ibv_destroy_ah(ah), 0);
	ud_close(&ud);
}

/* Without GRH, port or GID there is no address on Ethernet. */
static void bad_addresses(void)
{
	struct ud ud;
	union ibv_gid gid;

	ud_open(&ud);
	int index = rc_gid_find(ud.context, &gid);
	const struct ibv_ah_attr good = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .sgid_index = (uint8_t)index } };
	struct ibv_ah_attr bad = good;
	bad.is_global = 0;
	need_errno(ibv_create_ah(ud.pd, &bad), EINVAL);
	bad = good, bad.port_num = 2;
	need_errno(ibv_create_ah(ud.pd, &bad), EINVAL);
	bad = good, bad.grh.sgid_index = 200;
	need_errno(ibv_create_ah(ud.pd, &bad), EINVAL);
	need_equal(ud_send(&ud, NULL, 1, QKEY, 100, 0), EINVAL);
	ud_close(&ud);
}

static const struct harness_case cases[] = {
	{ "answers", "ibv_create_ah_from_wc answers datagrams of each GID type, up to the MTU", answers },
	{ "nobody_there", "datagrams to nobody complete and hold nothing up", nobody_there },
	{ "violations", "a wrong Q_Key is dropped and counted; a privileged one cannot be set", violations },
	{ "bad_addresses", "what is no address on Ethernet is EINVAL", bad_addresses },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
