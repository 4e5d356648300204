/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ids of ucma, for ucma.c (ids, commands), ucma_address.c (binding, resolving, routes), ucma_event.c (events, attributes)
 * ucma_query.c and ucma_keep.c.
 */
#ifndef BROKER_UCMA_INTERNAL_H
#define BROKER_UCMA_INTERNAL_H

#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>

#include "broker/ucma.h"
#include "ipc/pair.h"

#define UCMA_BUCKETS (1u << 13) /* a power of two */
#define UCMA_LIFE_TIME 18       /* packet life time code of a path without RDMA_OPTION_ID_ACK_TIMEOUT, as cma.c has it */
#define UCMA_QKEY 0x01234567u   /* RDMA_UDP_QKEY */

/* In the order of cma.c's states; each step needs the one before. */
enum ucma_stage {
	UCMA_IDLE, UCMA_BOUND, UCMA_ADDR_QUERY, UCMA_ADDR_RESOLVED, UCMA_ROUTE_RESOLVED, UCMA_CONNECT, UCMA_LISTEN, UCMA_STAGES
};

struct ucma_id {
	struct ucma_id *next; /* in its bucket */
	uint32_t id;       /* what the client calls it: unique within its slot, so that no client can mean another's */
	uint8_t slot;
	uint32_t listener; /* of a child: the id it came to */
	uint64_t uid;      /* the client's own name for it; 0: a child that nobody took yet */
	struct cm_ref ref;
	enum cm_space space;
	enum cm_qp_type qp_type;
	enum ucma_stage stage, stage_before; /* the one before ADDR_QUERY, while that lasts */
	int device;        /* in the netdev table, -1: none yet */
	struct cm_address source, destination;
	uint32_t bind_flags;
	bool ack_timeout_set;
	uint8_t tos, ack_timeout;
	uint32_t backlog, qkey, events;
	struct cm_path path; /* from stage ROUTE_RESOLVED on */
};

struct broker_ucma {
	const struct broker_ucma_ops *ops;
	void *context;
	const struct netdev_table *table;
	uint16_t first_port;
	enum wire_gid_type begins;
	struct cm *cm;
	void *memory;
	size_t memory_bytes;
	struct ucma_id *ids[UCMA_BUCKETS]; /* by slot and id */
	uint32_t last_id[IPC_SLOTS], count;
	struct ucma_group *groups;
	struct ucma_query *queries;
};

/* From an address of ours to another, as resolving found it. */
struct ucma_way {
	struct cm_ip source;
	struct cm_address destination;
	int device;
};

/* A group that an id joined. In one number space with ids, in a list of its own. */
struct ucma_group {
	struct ucma_group *next;
	uint32_t number, id; /* its own, and the id's that joined */
	uint8_t slot;
	uint64_t uid;
	struct wire_gid mgid;
	uint32_t ifindex, events;
	bool member;         /* false: it only sends */
	bool untold;         /* its event comes after the answer */
};

/* A buffer that an answer is written to. `room`: what the client has for it. */
struct ucma_answer {
	_Alignas(8) uint8_t bytes[IPC_CM_MAX];
	uint32_t len, room;
};

/* ucma.c */
/* What the engine calls it. */
static inline uint64_t ucma_user(const struct ucma_id *id)
{
	return (uint64_t)id->slot << 32 | id->id;
}
struct ucma_id *ucma_find(struct broker_ucma *u, uint8_t slot, uint32_t id);
/* A new entry without a ref; NULL: no memory, or the number is in use. `id` 0: a free number. */
struct ucma_id *ucma_add(struct broker_ucma *u, uint8_t slot, uint64_t uid, uint32_t id);
/* For something that is no id but has a handle: a group. */
uint32_t ucma_number_take(struct broker_ucma *u, uint8_t slot);
void ucma_forget(struct broker_ucma *u, struct ucma_id *id);
/* Calls `visit` for each id of the slot, which it may forget; slot 0: of all. */
void ucma_each(struct broker_ucma *u, uint8_t slot, void (*visit)(struct broker_ucma *u, struct ucma_id *id, const void *argument),
	       const void *argument);
/* Everything that the engine has to say: messages, then events. */
void ucma_pump(struct broker_ucma *u);

/* ucma_address.c: 0 or a positive errno value. */
int ucma_address_load(struct cm_address *out, const void *sockaddr, size_t len);
/* For IPv6 room of sockaddr_in6 is written, the rest is the caller's. */
void ucma_address_store(void *sockaddr, const struct cm_address *address);
int ucma_bind(struct broker_ucma *u, struct ucma_id *id, const struct cm_address *address);
/* Finds the way, and binds an id that is not bound to the source's port; then the id has it. ucma_resolve() does both. */
int ucma_resolve_find(struct broker_ucma *u, struct ucma_id *id, const struct cm_address *source, const struct cm_address *destination,
		      struct ucma_way *out);
int ucma_resolve_take(struct broker_ucma *u, struct ucma_id *id, const struct ucma_way *way);
int ucma_resolve(struct broker_ucma *u, struct ucma_id *id, const struct cm_address *source, const struct cm_address *destination);
int ucma_route(struct broker_ucma *u, struct ucma_id *id);
/* Source, destination, device and path of an id that the engine made or knows better. */
void ucma_refresh(struct broker_ucma *u, struct ucma_id *id);
struct wire_gid ucma_gid_of(const struct cm_ip *ip);
/* The index that QPs of this path use; 0 if there is none. */
uint8_t ucma_sgid_index(const struct broker_ucma *u, const struct cm_path *path);
int ucma_errno(int err); /* of a base_err, as cma.c names it; BASE_OK: 0 */

/* ucma_event.c */
void ucma_event_plain(struct broker_ucma *u, struct ucma_id *id, uint32_t type, int status);
void ucma_event_engine(struct broker_ucma *u, const struct cm_event *event);
void ucma_qp_attr_store(const struct broker_ucma *u, struct ib_uverbs_qp_attr *out, const struct cm_qp_attr *attr);
void ucma_ah_attr_store(const struct broker_ucma *u, struct ib_uverbs_ah_attr *out, const struct cm_path *path);
void ucma_path_rec_store(struct ib_user_path_rec *out, const struct cm_path *path);

/* ucma_group.c: 0 or a positive errno value. */
int ucma_join_ip(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out);
int ucma_join(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out);
int ucma_leave(struct broker_ucma *u, uint8_t slot, const void *in, struct ucma_answer *out);
/* Does a group have this number? */
bool ucma_group_is(const struct broker_ucma *u, uint8_t slot, uint32_t number);
/* The events of joins whose answer is under way. */
void ucma_groups_tell(struct broker_ucma *u);
/* The id goes, and leaves what it joined. */
void ucma_groups_leave(struct broker_ucma *u, const struct ucma_id *id);
/* The process goes: also what it kept of ids that nobody knows. */
void ucma_groups_gone(struct broker_ucma *u, uint8_t slot);
/* False: not what a group keeps. */
bool ucma_group_adopt(struct broker_ucma *u, uint8_t slot, const struct ipc_cm *kept);
void ucma_groups_free(struct broker_ucma *u);

/* ucma_query.c */
/* Takes the way and sends the event, now or when the next hop is known; ADDR_ERROR after the time. 0 or a positive errno value. */
int ucma_query(struct broker_ucma *u, struct ucma_id *id, const struct ucma_way *way, uint32_t timeout_ms);
void ucma_query_forget(struct broker_ucma *u, const struct ucma_id *id);
uint64_t ucma_query_deadline(const struct broker_ucma *u);
void ucma_query_tick(struct broker_ucma *u, uint64_t now);

/* ucma_keep.c */
void ucma_keep(struct broker_ucma *u, const struct ucma_id *id);
void ucma_keep_nothing(struct broker_ucma *u, const struct ucma_id *id);

#endif
