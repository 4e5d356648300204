/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of this edge, behind the public structs: ids, channels, events. For src/rdmacm.
 *
 * One lock, rdmacm_lock, guards the table of ids, the queues of channels and the counts of events; nothing is called under it
 * that waits. What an id holds besides belongs to its owner's calls, as with the reference library: two threads do not call for
 * one id at the same time.
 */
#ifndef RDMACM_ID_H
#define RDMACM_ID_H

#include "rdmacm/ucma_abi.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

extern pthread_mutex_t rdmacm_lock;

/* A device that ids were bound to; opened once, for the life of the process. */
struct rdmacm_device {
	struct rdmacm_device *next;
	char name[64];
	struct ibv_context *verbs;
	struct ibv_pd *pd; /* what ids use that are given none */
	struct ibv_xrcd *xrcd; /* the same, made when one needs it */
	uint8_t max_initiator_depth, max_responder_resources;
};

/* What the broker sent, not looked at yet. */
struct rdmacm_arrival {
	struct rdmacm_arrival *next;
	struct rdmacm_id *id; /* whose event it is; for a request the listener */
	struct rdma_ucm_event_resp event;
};

struct rdmacm_channel {
	struct rdma_event_channel channel; /* first; fd is an eventfd, not 0 while something is queued */
	struct rdmacm_arrival *first, *last;
	struct rdmacm_channel *next; /* of all channels */
};

#define RDMACM_UID_MASK ((1ull << 40) - 1) /* of an id; a group of it has its number above */

/* A group that an id joined. */
struct rdmacm_group {
	struct rdmacm_group *next;
	struct rdmacm_id *id;
	uint64_t uid;
	uint32_t handle;
	void *context;
	struct sockaddr_storage address;
	union ibv_gid mgid;
	uint16_t mlid;
	bool attached, send_only;
	unsigned delivered; /* events that are not acknowledged */
};

struct rdmacm_id {
	struct rdma_cm_id id; /* first */
	struct rdmacm_id *next; /* in the table */
	uint64_t uid;
	uint32_t handle;        /* the broker's name for it */
	bool sync;              /* no channel of the program's: calls wait for their event */
	bool failed;            /* CONNECT_ERROR was told: what follows is swallowed */
	bool passive;
	struct rdmacm_device *device;
	unsigned delivered;     /* events that are not acknowledged; rdmacm_acked says when that changes */
	/* Of a request or a reply, in our point of view; what connect and accept use for limits. */
	uint8_t initiator_depth, responder_resources;
	struct ibv_ece local_ece, remote_ece;
	/* rdma_create_ep(): for the ids of requests. */
	struct ibv_qp_init_attr_ex *qp_attr;
	struct ibv_pd *qp_pd;
	void *connect_data;
	uint8_t connect_len;
	struct rdmacm_group *groups;
};
extern pthread_cond_t rdmacm_acked;

struct rdmacm_event {
	struct rdma_cm_event event; /* first */
	struct rdmacm_id *about;    /* whose count it is in */
	struct rdmacm_group *group;
	uint8_t private_data[RDMA_MAX_PRIVATE_DATA];
};

static inline struct rdmacm_id *rdmacm_id_of(struct rdma_cm_id *id) { return (struct rdmacm_id *)(void *)id; }
static inline struct rdmacm_channel *rdmacm_channel_of(struct rdma_event_channel *c) { return (struct rdmacm_channel *)(void *)c; }

/* -1 and errno. */
int rdmacm_fail(int errno_value);

/* manager.c: the broker. 0, or -1 and errno. */
int rdmacm_start(void);
/*
 * One command: `command` is the struct of <rdma/rdma_user_cm.h>, `response` (may be NULL) gets exactly response_len bytes. -1
 * and errno.
 */
int rdmacm_call(uint32_t cmd, const void *command, size_t len, void *response, size_t response_len);
/* The same with bytes behind the command. */
int rdmacm_call_with(uint32_t cmd, const void *command, size_t len, const void *more, size_t more_len);
/* The table: lock held for find. add gives the id its uid. */
void rdmacm_table_add(struct rdmacm_id *id);
void rdmacm_table_remove(struct rdmacm_id *id);
struct rdmacm_id *rdmacm_table_find(uint64_t uid);
/* Lock held. The channel goes: ids that are still on it have none. */
void rdmacm_table_leave(const struct rdma_event_channel *channel);
/* Requests that nobody took are given back to the broker; called outside of the lock, where waiting is allowed. */
void rdmacm_orphans_destroy(void);
/* Lock held. */
void rdmacm_orphan_add(uint32_t handle);

/* channel.c */
struct rdma_event_channel *rdmacm_channel_new(void);
/* With what is queued; requests become orphans. No id is on it. */
void rdmacm_channel_free(struct rdmacm_channel *channel);
/* Lock held. Takes the arrival. */
void rdmacm_channel_push(struct rdmacm_channel *channel, struct rdmacm_arrival *arrival);
/* Lock held. Arrivals of this id leave the channel: to `to`, or for good. */
void rdmacm_channel_move(struct rdmacm_channel *from, struct rdmacm_id *id, struct rdmacm_channel *to);

/* device.c: by the index that the broker names. -1 and errno ENODEV. */
int rdmacm_device_get(uint32_t index, struct rdmacm_device **out);
/* NULL and errno. */
struct ibv_xrcd *rdmacm_device_xrcd(struct rdmacm_device *device);

/* id.c */
int rdmacm_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps, enum ibv_qp_type qp_type,
		  struct rdmacm_id **out);
void rdmacm_id_free(struct rdmacm_id *id);
/* Addresses, path and device as the broker has them. */
int rdmacm_route_read(struct rdmacm_id *id);
/* Bytes of an IPv4 or IPv6 socket address, 0 for another family. */
size_t rdmacm_address_len(const struct sockaddr *address);
/* A synchronous id: waits for the event of what was begun, and ends with its status. Else 0. */
int rdmacm_complete(struct rdmacm_id *id);

/* qp.c */
/* QP states on the way of a connection. -1 and errno. */
int rdmacm_qp_rtr(struct rdmacm_id *id, uint8_t responder_resources);
int rdmacm_qp_rts(struct rdmacm_id *id, uint8_t initiator_depth);
int rdmacm_qp_error(struct rdmacm_id *id);

/* ece.c */
int rdmacm_ece_of_new_qp(struct rdmacm_id *id);
/* Passive, once the QP has been modified: what the provider granted. */
int rdmacm_ece_granted(struct rdmacm_id *id);
/* Active, with the reply's options in remote_ece: sets them. */
int rdmacm_ece_of_reply(struct rdmacm_id *id);

/* group.c */
/* Lock held: the group that a MULTICAST event is about, NULL none. */
struct rdmacm_group *rdmacm_group_find(struct rdmacm_id *id, uint64_t uid);
int rdmacm_group_joined(struct rdmacm_group *group, const struct rdma_cm_event *event);
void rdmacm_groups_free(struct rdmacm_id *id);

#endif
