/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * READ, atomics, FLUSH and ATOMIC WRITE at the responder: what they leave to be answered, and to be answered again.
 *
 * Each request that was taken becomes a resource; the last max_dest_rd_atomic of them are remembered, in PSN order. A
 * resource is pending while responses [next, end) of it wait for the link. Responses are made when they are pulled, oldest
 * resource first, and go before the owed ACK or NAK, whose PSN is behind theirs.
 *
 * A duplicate READ that asks for a tail of a remembered one is played again from there; memory is read again, which a READ
 * permits. A duplicate atomic gets its stored result, and a FLUSH or ATOMIC WRITE, whose answer is that of a READ without data,
 * once more this; none is executed again. What is not remembered is dropped in silence.
 *
 * Memory that went away since the request was checked ends the QP with NAK 0x62 in place of the response.
 */
#include "transport/rc_read.h"

#include <string.h>

#include "base/err.h"
#include "transport/message.h"
#include "transport/run.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

static uint32_t place(const struct rc_responder *r, uint32_t index)
{
	return (r->resource_first + index) % RC_RD_ATOMIC_MAX;
}

static struct rc_resource *resource(struct rc_responder *r, uint32_t index)
{
	return &r->resources[place(r, index)];
}

bool rc_read_is_full(const struct transport_qp *qp)
{
	const struct rc_responder *r = &qp->resp;
	const struct rc_resource *oldest = &r->resources[r->resource_first];

	/* What is pending once more was answered before: a requester that keeps its limit no longer waits for the oldest. */
	if (r->resource_count < qp->config.max_dest_rd_atomic)
		return false;
	return qp->config.max_dest_rd_atomic == 0 || (oldest->pending && !oldest->repeated);
}

void rc_read_add(struct transport_qp *qp, const struct wire_packet *head, uint64_t result)
{
	struct rc_responder *r = &qp->resp;
	struct rc_resource *e;

	/* The one that is forgotten was answered at least once: rc_read_is_full(). */
	while (r->resource_count >= qp->config.max_dest_rd_atomic) {
		if (resource(r, 0)->pending)
			r->pending--;
		r->resource_first = (uint8_t)((r->resource_first + 1) % RC_RD_ATOMIC_MAX);
		r->resource_count--;
	}
	e = resource(r, r->resource_count++);
	memset(e, 0, sizeof(*e));
	e->first_psn = r->expected;
	e->psns = 1;
	e->kind = head->op->role & RC_ANSWERED;
	e->srqn = head->xrc_srqn;
	if (head->op->role & WIRE_ROLE_READ) {
		e->psns = message_packets(head->reth.length, qp->config.mtu);
		e->rkey = head->reth.rkey;
		e->va = head->reth.va;
		e->length = head->reth.length;
	}
	e->msn = wire_psn_add(r->msn, 1);
	e->result = result;
	e->end = e->psns;
	e->pending = true;
	r->pending++;
}

void rc_read_repeat(struct transport_qp *qp, const struct wire_packet *head)
{
	struct rc_responder *r = &qp->resp;
	bool is_read = head->op->role & WIRE_ROLE_READ;
	uint32_t mtu = qp->config.mtu;

	for (uint32_t i = 0; i < r->resource_count; i++) {
		struct rc_resource *e = resource(r, i);
		uint32_t at = rc_psn_distance(e->first_psn, head->bth.psn);
		uint32_t psns = is_read ? message_packets(head->reth.length, mtu) : 1;

		if (at >= e->psns)
			continue;
		if (e->kind != (head->op->role & RC_ANSWERED))
			return;
		if (is_read && (head->reth.rkey != e->rkey || head->reth.va != e->va + (uint64_t)at * mtu ||
				head->reth.length > e->length - (uint64_t)at * mtu))
			return;
		if (e->pending && e->next <= at)
			return; /* its turn comes anyway */
		if (!e->pending) {
			r->pending++;
			e->repeated = true;
		}
		e->pending = true;
		e->start = e->next = at;
		e->end = at + psns;
		/* A shorter tail ends where it says, unless it is that of the message. */
		e->stop = is_read ? (uint64_t)at * mtu + head->reth.length : 0;
		return;
	}
}

uint32_t rc_read_ack(const struct transport_qp *qp, uint32_t *msn)
{
	const struct rc_responder *r = &qp->resp;
	uint32_t psn = r->expected;

	*msn = r->msn;
	for (uint32_t i = r->resource_count; i > 0; i--) {
		const struct rc_resource *e = &r->resources[place(r, i - 1)];

		if (wire_psn_add(e->first_psn, e->psns) != psn)
			break;
		psn = e->first_psn;
		*msn = wire_psn_add(e->msn, RC_PSN_MASK);
	}
	return wire_psn_add(psn, RC_PSN_MASK);
}

static uint8_t response_operation(const struct rc_resource *e, uint32_t index)
{
	if (e->kind == WIRE_ROLE_ATOMIC)
		return WIRE_ATOMIC_ACKNOWLEDGE;
	if (e->end - e->start == 1)
		return WIRE_RDMA_READ_RESPONSE_ONLY;
	if (index == e->start)
		return WIRE_RDMA_READ_RESPONSE_FIRST;
	return index == e->end - 1 ? WIRE_RDMA_READ_RESPONSE_LAST : WIRE_RDMA_READ_RESPONSE_MIDDLE;
}

struct reading {
	struct transport_qp *qp;
	const struct rc_resource *of;
};

static int fetch(void *of, uint64_t offset, uint8_t *dst, uint32_t len)
{
	const struct reading *r = of;
	struct transport_qp *qp = r->qp;

	/* Its SRQ's protection domain, which may have gone since. */
	if (rc_is_xrc(qp) && qp->intake.ops->select(qp->intake.host, r->of->srqn) != BASE_OK)
		return BASE_ERR_KEY;
	return qp->memory.ops->remote_read(qp->memory.host, qp->config.qpn, r->of->rkey, r->of->va + offset, dst, len);
}

static void answered(struct rc_responder *r, struct rc_resource *e, uint32_t packets)
{
	e->next += packets;
	if (e->next == e->end) {
		e->pending = false;
		r->pending--;
	}
}

int rc_read_next(struct transport_qp *qp, const struct transport_room *room, struct transport_run *out, size_t *used)
{
	struct rc_responder *r = &qp->resp;
	struct wire_packet *head = &out->head;
	uint32_t mtu = qp->config.mtu, n, bytes, i = 0;
	uint64_t offset, left, stop;
	struct rc_resource *e;
	struct reading from;

	while (i < r->resource_count && !resource(r, i)->pending)
		i++;
	if (i == r->resource_count)
		return 0;
	e = resource(r, i);
	stop = e->stop ? e->stop : e->length;
	offset = (uint64_t)e->next * mtu;
	left = stop > offset ? stop - offset : 0;
	n = transport_run_fit(e->next - e->start, e->end - e->start, left, mtu, UINT16_MAX, 0,
			      WIRE_AETH_BYTES + (e->kind == WIRE_ROLE_ATOMIC ? WIRE_ATOMICACKETH_BYTES : 0), WIRE_AETH_BYTES, room);
	if (n == 0)
		return 0;
	bytes = left < (uint64_t)n * mtu ? (uint32_t)left : n * mtu;

	memset(head, 0, sizeof(*head));
	rc_head(qp, wire_psn_add(e->first_psn, e->next), out);
	head->bth.opcode = rc_opcode(qp, response_operation(e, e->next));
	head->aeth.syndrome = WIRE_ACK_UNLIMITED;
	head->aeth.msn = e->msn;
	head->atomic_ack = e->result;
	head->payload_len = bytes;
	out->packets = (uint16_t)n;
	out->last_opcode = rc_opcode(qp, response_operation(e, e->next + n - 1));
	from = (struct reading){ qp, e };
	if (transport_run_write(out, &(struct transport_source){ fetch, &from }, offset, room, used) != BASE_OK) {
		rc_read_forget(qp);
		rc_responder_refuse_read(qp, head->bth.psn);
		return 0;
	}
	answered(r, e, n);
	qp->stats.sent_packets += n;
	qp->stats.sent_bytes += bytes;
	return 1;
}

void rc_read_forget(struct transport_qp *qp)
{
	qp->resp.resource_count = 0;
	qp->resp.pending = 0;
}
