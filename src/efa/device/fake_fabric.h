/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fabric without wires for tests and fuzzing: adapters that reach each other by GID. What is sent waits until fabric_run(), which
 * delivers it all, in order or in an order drawn from a seed. It uses the seam (efa/device/engine.h) as an engine must.
 */
#ifndef EFA_DEVICE_FAKE_FABRIC_H
#define EFA_DEVICE_FAKE_FABRIC_H

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/random.h"
#include "efa/abi/cqe.h"
#include "efa/device/device.h"

enum { FABRIC_DEVICES = 4, FABRIC_PENDING = 1024, FABRIC_PIECE = 1000 };

struct fabric;

struct fabric_port {
	struct fabric *fabric;
	struct efa_device *device;
	uint32_t peers; /* address handles, as the adapter tells of them */
};

struct fabric {
	struct fabric_port ports[FABRIC_DEVICES];
	uint32_t num_ports;
	struct efa_device_send *pending[FABRIC_PENDING];
	uint32_t num_pending, room; /* room: how many may wait */
	struct efa_device_send *delivering; /* NULL also: it was cancelled while it was delivered */
	bool shuffles;
	struct base_random random;
};

static inline int fabric_send(void *context, struct efa_device_send *send)
{
	struct fabric_port *port = context;
	struct fabric *f = port->fabric;

	if (f->num_pending >= f->room)
		return BASE_ERR_AGAIN;
	send->engine.context = port;
	send->engine.words[0] = 0; /* attempts */
	f->pending[f->num_pending++] = send;
	return 0;
}

static inline void fabric_cancel(void *context, struct efa_device_send *send)
{
	struct fabric_port *port = context;
	struct fabric *f = port->fabric;

	if (send == f->delivering) {
		f->delivering = NULL;
		return;
	}
	for (uint32_t i = 0; i < f->num_pending; i++) {
		if (f->pending[i] == send) {
			memmove(&f->pending[i], &f->pending[i + 1], (f->num_pending - i - 1) * sizeof(send));
			f->num_pending--;
			return;
		}
	}
	abort(); /* the adapter cancels only what is under way */
}

static inline void fabric_peer(void *context, const uint8_t gid[16], bool known)
{
	struct fabric_port *port = context;

	(void)gid;
	port->peers += known ? 1 : -1;
}

static inline void fabric_init(struct fabric *f)
{
	memset(f, 0, sizeof(*f));
	f->room = FABRIC_PENDING;
}

/* The engine of the next adapter; then the adapter itself with fabric_attach(). */
static inline struct efa_device_engine fabric_engine(struct fabric *f)
{
	static const struct efa_device_engine_ops ops = { .send = fabric_send, .cancel = fabric_cancel, .peer = fabric_peer };
	struct fabric_port *port = &f->ports[f->num_ports++];

	port->fabric = f;
	return (struct efa_device_engine){ .ops = &ops, .context = port };
}

static inline void fabric_attach(struct efa_device_engine engine, struct efa_device *device)
{
	((struct fabric_port *)engine.context)->device = device;
}

static inline struct efa_device *fabric_find(struct fabric *f, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < f->num_ports; i++) {
		if (f->ports[i].device != NULL && memcmp(efa_device_gid(f->ports[i].device), gid, 16) == 0)
			return f->ports[i].device;
	}
	return NULL;
}

/* A message to the sender's own adapter may make its queue pair fail: after each call the send may be gone, and is then left alone. */
static inline uint8_t fabric_message(struct fabric *f, struct efa_device *from, struct efa_device *to, struct efa_device_send *send,
				     struct efa_device_arrival *arrival, uint8_t *buffer)
{
	struct efa_device_receive receive;
	uint8_t status = efa_device_receive_begin(to, arrival, &receive);

	for (uint32_t at = 0; status == EFA_STATUS_OK && at < arrival->length && !arrival->is_write; at += FABRIC_PIECE) {
		uint32_t some = arrival->length - at < FABRIC_PIECE ? arrival->length - at : FABRIC_PIECE;

		status = f->delivering == NULL ? EFA_STATUS_REMOTE_ABORT : efa_device_send_read(from, send, at, buffer, some);
		if (status == EFA_STATUS_OK)
			status = efa_device_receive_place(to, &receive, at, buffer, some);
		if (status != EFA_STATUS_OK) {
			efa_device_receive_end(to, &receive, EFA_STATUS_REMOTE_ABORT);
			return status;
		}
	}
	return status == EFA_STATUS_OK ? efa_device_receive_end(to, &receive, EFA_STATUS_OK) : status;
}

static inline uint8_t fabric_rdma(struct efa_device *from, struct efa_device *to, struct efa_device_send *send, uint8_t *buffer)
{
	struct efa_device_access access = { .dest_qpn = send->dest_qpn, .write = send->op == EFA_WQE_RDMA_WRITE, .qkey = send->qkey,
					    .rkey = send->remote.rkey, .addr = send->remote.addr, .length = send->length };
	uint8_t status;

	memcpy(access.src_gid, efa_device_gid(from), 16);
	status = efa_device_access_check(to, &access);
	for (uint32_t at = 0; status == EFA_STATUS_OK && at < send->length; at += FABRIC_PIECE) {
		uint32_t some = send->length - at < FABRIC_PIECE ? send->length - at : FABRIC_PIECE;

		status = access.write ? efa_device_send_read(from, send, at, buffer, some)
				      : efa_device_access_read(to, &access, at, buffer, some);
		if (status == EFA_STATUS_OK)
			status = access.write ? efa_device_access_write(to, &access, at, buffer, some)
					      : efa_device_send_place(from, send, at, buffer, some);
	}
	return status;
}

/* One message. False: it waits for a receive and stays. */
static inline bool fabric_deliver(struct fabric *f, struct efa_device_send *send)
{
	struct fabric_port *port = send->engine.context;
	struct efa_device *from = port->device, *to = fabric_find(f, send->dest_gid);
	struct efa_device_arrival arrival = { .is_srd = send->is_srd, .has_imm = send->has_imm, .src_qpn = send->src_qpn,
					      .dest_qpn = send->dest_qpn, .qkey = send->qkey, .imm = send->imm,
					      .length = send->length };
	uint8_t buffer[16384], status = EFA_STATUS_OK;

	memcpy(arrival.src_gid, efa_device_gid(from), 16);
	if (!send->is_srd) {
		status = efa_device_send_read(from, send, 0, buffer, send->length);
		efa_device_send_done(from, send, status); /* it has left, before anybody gets it */
		if (status == EFA_STATUS_OK && to != NULL)
			efa_device_datagram(to, &arrival, buffer);
		return true;
	}
	if (to == NULL) {
		efa_device_send_done(from, send, EFA_STATUS_UNREACHABLE);
		return true;
	}
	f->delivering = send;
	if (send->op != EFA_WQE_SEND)
		status = fabric_rdma(from, to, send, buffer);
	arrival.is_write = send->op == EFA_WQE_RDMA_WRITE;
	if (status == EFA_STATUS_OK && (send->op == EFA_WQE_SEND || (arrival.is_write && send->has_imm)))
		status = fabric_message(f, from, to, send, &arrival, buffer);
	if (f->delivering == NULL)
		return true;
	f->delivering = NULL;
	if (status == EFA_STATUS_REMOTE_RNR && (send->rnr_retry == 7 || send->engine.words[0]++ < send->rnr_retry))
		return false;
	efa_device_send_done(from, send, status);
	return true;
}

/* Delivers what waits, each once. How many are still there. */
static inline uint32_t fabric_run(struct fabric *f)
{
	uint32_t turns = f->num_pending;

	while (turns-- > 0 && f->num_pending > 0) {
		uint32_t i = f->shuffles ? (uint32_t)base_random_below(&f->random, f->num_pending) : 0;
		struct efa_device_send *send = f->pending[i];

		/* Off the list first: completing it may bring more. */
		memmove(&f->pending[i], &f->pending[i + 1], (f->num_pending - i - 1) * sizeof(send));
		f->num_pending--;
		if (!fabric_deliver(f, send))
			f->pending[f->num_pending++] = send;
	}
	for (uint32_t i = 0; i < f->num_ports; i++) {
		if (f->ports[i].device != NULL)
			efa_device_resume(f->ports[i].device);
	}
	return f->num_pending;
}

#endif
