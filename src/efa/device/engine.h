/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The seam between the adapter and what carries its messages (UD datagrams, SRD). The adapter knows rings, keys and completions;
 * the engine knows packets, peers, losses and time. Neither knows how the other works.
 *
 * Sending. The adapter takes a descriptor off a send queue, checks all that can be checked here, and hands it to send(). The engine
 * reads the bytes with efa_device_send_read() when it needs them (each time it needs them: nothing is kept, and a region that went
 * away is an error), places what an RDMA read brings with efa_device_send_place(), and ends with efa_device_send_done() exactly
 * once, unless cancel() took the descriptor back. Both may happen within send() itself.
 *
 * Receiving. For each message the engine calls efa_device_receive_begin(), which says what the sender shall be told: EFA_STATUS_OK
 * and a receive that is taken, or why not. Then it places bytes in any order, any number of times at any offset, and ends with
 * efa_device_receive_end(). A queue pair that goes away meanwhile makes the calls answer EFA_STATUS_REMOTE_QPN.
 *
 * A receive that is not one moves its queue pair to ERR: a call of the receiving half may so cancel sends of the same adapter, that
 * which is just being delivered to it included.
 *
 * Statuses are enum efa_abi_status. Threads: the adapter's lock. No call blocks.
 */
#ifndef EFA_DEVICE_ENGINE_H
#define EFA_DEVICE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/wqe.h"

struct efa_device;
struct efa_qp;

/* One descriptor of a send queue under way. The engine reads the first part, and has `engine` for itself. */
struct efa_device_send {
	bool is_srd, has_imm;
	uint8_t op;             /* EFA_WQE_SEND, EFA_WQE_RDMA_READ, EFA_WQE_RDMA_WRITE */
	uint8_t rnr_retry;      /* of the queue pair: 7 is for ever */
	uint16_t src_qpn, dest_qpn;
	uint32_t qkey, imm, length;
	uint8_t dest_gid[16];
	struct efa_abi_remote remote; /* of RDMA: rkey and address */
	struct {
		struct efa_device_send *next;
		void *context;
		uint64_t words[2];
	} engine;

	/* The adapter's own. */
	struct efa_qp *qp;
	struct efa_device_send *next, *previous;
	struct efa_abi_sge sge[EFA_WQE_SGES];
	uint8_t bytes[EFA_WQE_INLINE_BYTES];
	uint16_t req_id, req_id_ex[3], ah;
	uint8_t num_sge;
	bool is_inline;
};

struct efa_device_engine_ops {
	/* 0: taken over. BASE_ERR_AGAIN: no room; the descriptor is offered again after efa_device_resume(). */
	int (*send)(void *context, struct efa_device_send *send);
	/* Forget it: it is not to be completed, and the memory is not to be touched, from now on. */
	void (*cancel)(void *context, struct efa_device_send *send);
	/* The first address handle to this peer was made, or the last one destroyed. May be NULL. */
	void (*peer)(void *context, const uint8_t gid[16], bool known);
	/* The adapter was reset: everything was cancelled; contexts with peers end. May be NULL. */
	void (*reset)(void *context);
};

struct efa_device_engine {
	const struct efa_device_engine_ops *ops; /* NULL: there is none, and every peer is unreachable */
	void *context;
};

/* Bytes [offset, offset + len) of the message. EFA_STATUS_INVALID_LKEY: the memory is not there any more. */
uint8_t efa_device_send_read(struct efa_device *device, const struct efa_device_send *send, uint32_t offset, void *dst, uint32_t len);
/* What an RDMA read brought. */
uint8_t efa_device_send_place(struct efa_device *device, const struct efa_device_send *send, uint32_t offset, const void *src,
			      uint32_t len);
/* The send is over and is the engine's no more. */
void efa_device_send_done(struct efa_device *device, struct efa_device_send *send, uint8_t status);
/* There is room again after BASE_ERR_AGAIN. */
void efa_device_resume(struct efa_device *device);

/* A message as it arrives: who sent it to whom, and what its first packet says. */
struct efa_device_arrival {
	bool is_srd, has_imm;
	bool is_write;          /* an RDMA write with immediate data: no bytes are placed through the receive */
	uint8_t src_gid[16];
	uint16_t src_qpn, dest_qpn;
	uint32_t qkey, imm, length;
};

/* A receive under way; the engine's storage, the adapter's contents. */
struct efa_device_receive {
	struct efa_device_arrival arrival;
	uint32_t qp;            /* index and generation of the queue pair */
	uint16_t req_id;
	uint8_t num_sge;
	bool unsolicited;
	struct efa_abi_sge sge[16];
};

/*
 * EFA_STATUS_OK: `receive` is filled and must be ended. Else what the sender is told: REMOTE_QPN (no queue pair, its state, its type,
 * its Q_Key), REMOTE_RNR, REMOTE_LENGTH (or the receive's memory is not valid).
 */
uint8_t efa_device_receive_begin(struct efa_device *device, const struct efa_device_arrival *arrival,
				 struct efa_device_receive *receive);
uint8_t efa_device_receive_place(struct efa_device *device, const struct efa_device_receive *receive, uint32_t offset,
				 const void *src, uint32_t len);
/* The completion. status: EFA_STATUS_OK, or why the message will never be whole. */
uint8_t efa_device_receive_end(struct efa_device *device, struct efa_device_receive *receive, uint8_t status);

/* A UD datagram, all at once: placed and completed, or dropped and counted. True: somebody got it. */
bool efa_device_datagram(struct efa_device *device, const struct efa_device_arrival *arrival, const void *payload);

/* A peer's access to memory here. */
struct efa_device_access {
	uint8_t src_gid[16];
	uint16_t dest_qpn;
	bool write;
	uint32_t qkey, rkey, length;
	uint64_t addr;
};

/* OK, REMOTE_QPN, REMOTE_ADDRESS (key, range, right), REMOTE_NO_AH, UNSUPPORTED_OP (this adapter does no such thing). */
uint8_t efa_device_access_check(struct efa_device *device, const struct efa_device_access *access);
/* Part of what was checked; it is checked again. */
uint8_t efa_device_access_write(struct efa_device *device, const struct efa_device_access *access, uint32_t offset, const void *src,
				uint32_t len);
uint8_t efa_device_access_read(struct efa_device *device, const struct efa_device_access *access, uint32_t offset, void *dst,
			       uint32_t len);

#endif
