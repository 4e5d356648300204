/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A send work request as packets: how many, with which opcodes, and their bytes. SEND and WRITE of RC, UC, UD and XRC, and
 * ATOMIC WRITE. Read by
 * transport alone; nothing is kept.
 */
#ifndef TRANSPORT_MESSAGE_H
#define TRANSPORT_MESSAGE_H

#include "transport/memory.h"
#include "transport/queue.h"
#include "transport/run.h"

/* Whose message, and to whom. */
struct message_path {
	const struct transport_memory *memory;
	uint32_t mtu, dest_qpn;
	uint16_t pkey;
	uint8_t transport;      /* enum wire_transport */
	struct wire_deth deth;  /* UD */
	uint32_t xrc_srqn;      /* XRC requests */
};

/* PSNs that a message of this length takes: its packets or, for a READ, those of the answer. */
static inline uint32_t message_packets(uint64_t length, uint32_t mtu)
{
	return length == 0 ? 1 : (uint32_t)((length + mtu - 1) / mtu);
}

static inline bool message_has_imm(const struct transport_wqe *wqe)
{
	return wqe->op == TRANSPORT_OP_SEND_WITH_IMM || wqe->op == TRANSPORT_OP_RDMA_WRITE_WITH_IMM;
}

/* Does its first packet carry a RETH? */
static inline bool message_is_write(const struct transport_wqe *wqe)
{
	return wqe->op == TRANSPORT_OP_RDMA_WRITE || wqe->op == TRANSPORT_OP_RDMA_WRITE_WITH_IMM ||
	       wqe->op == TRANSPORT_OP_ATOMIC_WRITE;
}

/* What every packet of the path carries beyond the BTH. */
static inline size_t message_each_header(const struct message_path *path)
{
	return path->transport == WIRE_TRANSPORT_XRC ? WIRE_XRCETH_BYTES : 0;
}

/*
 * What keeps a SEND or WRITE from being started: TRANSPORT_SUCCESS when nothing does, else the status that it ends with, and
 * *err the code of memory.h if there is one.
 */
uint32_t message_obstacle(const struct message_path *path, const struct transport_wqe *wqe, int *err);
/* How many packets from `index` of `total` on, at most `limit`, form one run that fits the room. 0: not even one. */
uint32_t message_fit(const struct message_path *path, const struct transport_wqe *wqe, uint32_t index, uint32_t total,
		     uint32_t limit, const struct transport_room *room);
/* Is it executed here, without a packet? */
static inline bool message_is_local(const struct transport_wqe *wqe)
{
	return wqe->op == TRANSPORT_OP_LOCAL_INV || wqe->op == TRANSPORT_OP_BIND_MW;
}
/*
 * Executes a LOCAL_INV or BIND_MW. The status that it ends with, and with any but TRANSPORT_SUCCESS *err: why.
 * BASE_ERR_UNSUPPORTED when the host has no such operation.
 */
uint32_t message_execute(const struct transport_memory *memory, const struct transport_wqe *wqe, int *err);
/* The headers that all packets of a path have in common; the others keep what they held. */
void message_head(const struct message_path *path, uint32_t psn, struct transport_run *out);
/* Packets [index, index + n) into the room, which message_fit() found large enough. 0 or the error of the gather. */
int message_write(const struct message_path *path, struct transport_wqe *wqe, uint32_t index, uint32_t total, uint32_t n,
		  uint32_t psn, bool ack_req, const struct transport_room *room, struct transport_run *out, size_t *used);

#endif
