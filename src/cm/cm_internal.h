/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The inside of the engine; for the files of src/cm alone.
 *
 * Theory of operation. An id is a slot of one array, found by reference (index and generation), by communication id, by its
 * peer's communication id, by its peer's QP number and by its port: tables of chained slots (table.h). It has one state, one
 * timer (timer.h) and at most one message that is repeated until something answers it, kept encoded in `out`. What it still has
 * to send are bits in `owed`; whoever owes stands in one of two queues, for the wire or for inside, and the latter is emptied at
 * the end of each call (cm_output_settle()). What the owner has still to hear stands in `pending`.
 *
 * An id that its owner destroyed lives on as long as the protocol needs it: until a DREQ is answered, a timewait is over, a REJ
 * has been pulled. cm_id_rest() is called after each change and frees it when nothing holds it any more.
 */
#ifndef CM_CM_INTERNAL_H
#define CM_CM_INTERNAL_H

#include <assert.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"
#include "cm/cm.h"
#include "cm/ip_header.h"
#include "cm/table.h"

enum { CM_INDEX_BITS = 20, CM_GENERATION_MAX = (1 << (32 - CM_INDEX_BITS)) - 1 };
enum { CM_PENDING_MAX = 7 };        /* event types; each is told once in the life of an id */
enum { CM_PEER_TIMEOUT_MAX = 24 };  /* code; a peer cannot make us wait longer than 65 s at a time */
#define CM_QKEY_DEFAULT 0x01234567u /* RDMA_UDP_QKEY */
#define CM_24_BITS 0xffffffu
static_assert(CM_IDS_MAX <= 1 << CM_INDEX_BITS, "an index fits into a reference");

/* In the order in which an id that owes several of them sends them. */
enum cm_owed { CM_OWES_RTU = 1 << 0, CM_OWES_MRA = 1 << 1, CM_OWES_DREP = 1 << 2, CM_OWES_OUT = 1 << 3 };

struct cm_pending {
	uint8_t type; /* enum cm_event_type */
	int32_t status;
};

struct cm_id {
	uint16_t generation; /* of the slot; 0: never used */
	bool taken;          /* the slot is an id */
	bool owned;          /* its owner has not destroyed it */
	bool used;           /* left IDLE once: connect and listen are over */
	bool passive, bound, reuse, only_family;
	bool waits;          /* counts against the backlog of `listener` */
	uint8_t state;       /* enum cm_state */
	uint32_t owner;
	uint64_t user;
	enum cm_space space;
	enum cm_qp_type qp_type;
	struct cm_ref listener;
	uint32_t backlog, waiting; /* of a listener */

	struct cm_address local, remote;
	uint64_t service_id;
	struct cm_path path; /* of the QP */
	struct cm_path way;  /* of messages: the path, or where the request came from */

	uint32_t local_id, remote_id, local_qpn, remote_qpn, qkey;
	uint64_t remote_guid;
	uint32_t sq_psn, rq_psn;
	uint64_t tid, dreq_tid;
	struct cm_conn peer;     /* what it said, as events tell it */
	struct cm_ece remote_ece;
	uint8_t responder_resources, initiator_depth, retry_count, rnr_retry_count, ack_timeout, max_retries, retries_left;
	uint64_t timeout_ns;     /* how long the peer may take to answer */
	uint64_t interval_ns;    /* between two transmissions of `out`: the timeout, or what an MRA asked for */

	uint8_t owed;            /* bits of enum cm_owed */
	uint8_t out_kind;        /* enum cm_message_kind of `out` */
	uint8_t pending_count;
	uint16_t told;           /* bit per event type */
	struct cm_pending pending[CM_PENDING_MAX];
	uint8_t out[CM_MAD_BYTES];
	uint8_t peer_data[CM_ROOM_REP]; /* of REQ, REP, SIDR_REQ, SIDR_REP */
	uint8_t rej_data[CM_ROOM_REJ], rej_info[CM_ARI_BYTES], rej_info_len;

	uint64_t deadline;
	uint32_t timer_at;       /* place in the heap; CM_NIL: no timer */
	struct cm_link links[CM_TABLES];
	uint32_t owner_next, owner_prev, owner_count; /* ring of the owner's ids; the count is the first one's */
	uint32_t free_next, output_next, event_next;
	bool in_output, in_events;
};

struct cm_queue { /* of slots, linked through one of their *_next */
	uint32_t head, tail;
};

struct cm {
	struct cm_config config;
	struct cm_ops ops;
	void *host;
	struct base_random random;
	uint64_t now; /* of the last call that told it */
	struct cm_stats stats;
	uint32_t touched; /* slots that were used at all */
	uint32_t free_count;
	uint16_t last_port;
	struct cm_queue free, wire, inside, events;
	struct cm_id *ids;
	uint32_t *heap, heap_count;
	struct cm_table tables[CM_TABLES];
	struct cm_send *answers;
	uint32_t answers_head, answers_count;
};

static inline uint32_t cm_index(const struct cm *cm, const struct cm_id *id)
{
	return (uint32_t)(id - cm->ids);
}

static inline struct cm_ref cm_ref_of(const struct cm *cm, const struct cm_id *id)
{
	return (struct cm_ref){ (uint32_t)id->generation << CM_INDEX_BITS | cm_index(cm, id) };
}

static inline bool cm_id_is_datagram(const struct cm_id *id)
{
	return id->qp_type == CM_QP_UD;
}

static inline void cm_drop(struct cm *cm, enum cm_drop why)
{
	cm->stats.dropped[why]++;
}

/* A time code of the peer's, in nanoseconds, within reason. */
uint64_t cm_peer_time_ns(uint8_t code);
/* The local ACK timeout code that follows from an adapter's delay and a packet life time, both codes (12.7.34). */
uint8_t cm_ack_timeout(uint8_t ack_delay, uint8_t life_time);

/* ---- pool.c ---- */

/* NULL for a reference that is none, and for an id that was destroyed. */
struct cm_id *cm_id_find(const struct cm *cm, struct cm_ref ref);
/* A fresh id of this owner, owned and IDLE; NULL when a limit is reached. */
struct cm_id *cm_id_take(struct cm *cm, uint32_t owner);
/* Frees the slot if nothing holds it: not owned, IDLE, nothing owed. The id is not to be used after that. */
void cm_id_rest(struct cm *cm, struct cm_id *id);

/* ---- id.c ---- */

void cm_id_state_set(struct cm *cm, struct cm_id *id, enum cm_state state);
/* Gives the id its communication id, random and unique. */
void cm_id_name(struct cm *cm, struct cm_id *id);
/* The same with a number that is given: local_id, not in use. */
void cm_id_name_enter(struct cm *cm, struct cm_id *id);
bool cm_id_name_is_taken(const struct cm *cm, uint32_t local_id);
/* By our communication id, and the peer's; remote 0: an id that does not know its peer yet. */
struct cm_id *cm_id_by_local(const struct cm *cm, uint32_t local_id, uint32_t remote_id);
struct cm_id *cm_id_by_remote(const struct cm *cm, uint32_t remote_id, uint64_t guid);
struct cm_id *cm_id_by_qpn(const struct cm *cm, uint32_t qpn, uint64_t guid);
/* Enters the peer's names, set before, into the tables. */
void cm_id_meet(struct cm *cm, struct cm_id *id);
/* Nothing is under way any more: out of the tables, no timer, IDLE. */
void cm_id_reset(struct cm *cm, struct cm_id *id);
void cm_id_timewait(struct cm *cm, struct cm_id *id);
/* cm_id_destroy() without what is at the end of a call. Frees no other id than this one, and the children of a listener. */
void cm_id_end(struct cm *cm, struct cm_id *id);
/* The owner knows the child: off the backlog. */
void cm_id_taken(struct cm *cm, struct cm_id *id);

/* ---- output.c ---- */

/* Owes these messages. */
void cm_owe(struct cm *cm, struct cm_id *id, uint8_t what);
/* Puts the message into `out`, owes it, and repeats it `retries` times if an interval is given; no timer when it is 0. */
void cm_owe_message(struct cm *cm, struct cm_id *id, const struct cm_message *message, uint64_t interval_ns, uint8_t retries);
/* Nothing more of `out`: answered, or given up. */
void cm_out_cancel(struct cm *cm, struct cm_id *id);
/* An answer of no id, to where a message came from. */
void cm_answer(struct cm *cm, const struct cm_path *to, const struct cm_message *message);
/* Delivers what local ids owe each other, until nobody does. The last act of each public call that may owe. */
void cm_output_settle(struct cm *cm);

/* ---- event.c ---- */

/* The owner will hear of it, if there is one, and if it was not told the same before. */
void cm_tell(struct cm *cm, struct cm_id *id, enum cm_event_type type, int status);
void cm_tell_nothing(struct cm *cm, struct cm_id *id);

/* ---- bind.c ---- */

struct cm_id *cm_listener_find(const struct cm *cm, enum cm_space space, uint16_t port, const struct cm_ip *destination);
void cm_unbind(struct cm *cm, struct cm_id *id);
/* Without a check for conflicts. */
void cm_port_enter(struct cm *cm, struct cm_id *id, uint16_t port);

/* ---- close.c, reject.c ---- */

void cm_dreq_send(struct cm *cm, struct cm_id *id);
void cm_drep_send(struct cm *cm, struct cm_id *id);
/* REJ for an id, in its state; what becomes of the state is the caller's. Info and private data may be NULL. */
void cm_rej_send(struct cm *cm, struct cm_id *id, uint16_t reason, const uint8_t *info, uint8_t info_len,
		 const uint8_t *private_data, uint32_t private_len);
/* REJ without an id, to a REQ or REP that came. */
void cm_rej_answer(struct cm *cm, const struct cm_path *from, const struct cm_message *message, uint16_t reason,
		   const uint8_t *info, uint8_t info_len);

/* ---- sidr.c ---- */

void cm_sidr_rep_send(struct cm *cm, struct cm_id *id, enum cm_sidr_status status, const struct cm_accept *param);
void cm_sidr_connect(struct cm *cm, struct cm_id *id, const struct cm_connect *param);
void cm_sidr_accept(struct cm *cm, struct cm_id *id, const struct cm_accept *param);

/* ---- passive.c ---- */

/* A new id for a request to this listener; NULL, and the request was dropped, when there is no room for it. */
struct cm_id *cm_child_new(struct cm *cm, struct cm_id *listener, const struct cm_path *from, const struct cm_ip_header *header);

/* ---- what the messages do; all of them take what was decoded and where it came from ---- */

void cm_on_req(struct cm *cm, const struct cm_path *from, const struct cm_message *message);
void cm_on_mra(struct cm *cm, const struct cm_path *from, const struct cm_message *message);
void cm_on_rej(struct cm *cm, const struct cm_path *from, const struct cm_message *message);
void cm_on_rep(struct cm *cm, const struct cm_path *from, const struct cm_message *message);
void cm_on_rtu(struct cm *cm, const struct cm_path *from, const struct cm_message *message);
void cm_on_dreq(struct cm *cm, const struct cm_path *from, const struct cm_message *message);
void cm_on_drep(struct cm *cm, const struct cm_path *from, const struct cm_message *message);
void cm_on_sidr_req(struct cm *cm, const struct cm_path *from, const struct cm_message *message);
void cm_on_sidr_rep(struct cm *cm, const struct cm_path *from, const struct cm_message *message);
/* receive.c: decodes and hands on. As cm_receive(), without what is at the end of a call. */
int cm_deliver(struct cm *cm, const struct cm_path *from, const uint8_t *mad, size_t len);
/* What a timer means. */
void cm_on_timer(struct cm *cm, struct cm_id *id);

#endif
