/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection management: the CM engine of one host, as step functions. It is what Linux's cm.c and cma.c are to the kernel: ids,
 * bindings, listeners, the active, passive and datagram (SIDR) sides, retransmission, MRA, timewait, stale connections, rejects.
 *
 * The host (the broker; a simulator; a fuzzer) gives in: calls of owners, messages that arrived, the time. It takes out, after
 * each of these, in this order: messages until cm_message_next() has none, events until cm_event_next() has none; then it arms
 * its timer for cm_deadline(). Messages between two ids of the same engine (cm_path.local) never come out: they are delivered
 * inside before the call returns. Receiving never needs room: a message stays owed by its id until it is pulled.
 *
 * No clock, socket, thread, log or malloc: all memory is the one block given to cm_init(). Not thread-safe: one thread, or a
 * lock of the host's. No function calls out, except to cm_ops.
 *
 * Errors: 0 or more is success; else a code of base/err.h:
 *   BASE_ERR_NOENT   the reference is none, or of an id that was destroyed
 *   BASE_ERR_INVAL   an argument is outside of its range, or the call does not fit the state of the id
 *   BASE_ERR_NOMEM   a limit of cm_config is reached
 * and those that a function names. A call that fails has changed nothing.
 *
 * Specification: InfiniBand Architecture vol. 1, chapter 12 and annexes A11 (RDMA IP CM service), A17 (RoCEv2); where it leaves
 * a choice the engine does as Linux 6.1 does.
 */
#ifndef CM_CM_H
#define CM_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm/address.h"
#include "cm/config.h"
#include "cm/message.h"
#include "cm/qp_attr.h"
#include "cm/reason.h"

struct cm; /* lies in the memory given to cm_init() */

/* An id of the engine; 0 is none. It is stale, and refused, from the id's destruction on. */
struct cm_ref {
	uint32_t value;
};

/* The states of an id. The names are the specification's (12.9.7, 12.9.8). */
enum cm_state {
	CM_IDLE,          /* fresh, or all is over: cm_bind, cm_resolve, cm_listen, cm_connect if it was never used; cm_id_destroy */
	CM_LISTEN,        /* -> IDLE only by cm_id_destroy */
	CM_SIDR_REQ_SENT, /* -> IDLE by SIDR_REP or timeout */
	CM_SIDR_REQ_RCVD, /* cm_accept, cm_reject -> IDLE */
	CM_REQ_SENT,      /* REP -> MRA_REP_SENT; MRA -> MRA_REQ_RCVD; REJ, timeout -> IDLE; cm_reject */
	CM_MRA_REQ_RCVD,  /* as REQ_SENT, with a longer timeout */
	CM_MRA_REQ_SENT,  /* a request came: cm_accept -> REP_SENT, cm_reject -> IDLE. A repeated REQ is answered by MRA */
	CM_REP_SENT,      /* RTU, cm_notify -> ESTABLISHED; MRA -> MRA_REP_RCVD; DREQ -> DREQ_RCVD; REJ, timeout -> IDLE */
	CM_MRA_REP_RCVD,  /* as REP_SENT, with a longer timeout */
	CM_MRA_REP_SENT,  /* the reply came: cm_establish -> ESTABLISHED, cm_reject -> IDLE. A repeated REP is answered by MRA */
	CM_ESTABLISHED,   /* cm_disconnect -> DREQ_SENT, DREQ -> DREQ_RCVD, REJ -> TIMEWAIT */
	CM_DREQ_SENT,     /* DREP, timeout -> TIMEWAIT; DREQ -> DREQ_RCVD */
	CM_DREQ_RCVD,     /* cm_disconnect (sends DREP) -> TIMEWAIT */
	CM_TIMEWAIT,      /* -> IDLE when its time is over */
	CM_STATES
};
const char *cm_state_text(enum cm_state state);

/* Port spaces: bits 31:16 of the service id. Values of enum rdma_port_space. */
enum cm_space { CM_PS_IPOIB = 0x0002, CM_PS_TCP = 0x0106, CM_PS_UDP = 0x0111, CM_PS_IB = 0x013f };

/* Values of enum ibv_qp_type, as far as they can be connected. */
enum cm_qp_type { CM_QP_RC = 2, CM_QP_UC = 3, CM_QP_UD = 4, CM_QP_XRC_SEND = 9, CM_QP_XRC_RECV = 10 };

/* ---- the engine ---- */

/* What the engine asks its host; answered at once, without calling the engine. A NULL member stands for "yes". */
struct cm_ops {
	/* Does a request for this address, arrived at this port, concern us? Linux: the address is one of the port's interface. */
	bool (*owns)(void *host, const struct cm_port *port, const struct cm_ip *address);
	/* Can a QP use this path? When not, the REQ gets REJ 12, and *acceptable, if set, goes into it. */
	bool (*usable)(void *host, const struct cm_path *path, struct wire_gid *acceptable);
};

/* Bytes of memory for an engine with this config. Most of them stay untouched until there are as many ids. */
size_t cm_bytes(const struct cm_config *config);
/*
 * `memory`: cm_bytes() zero bytes, aligned as malloc does; the engine's until the host gives them up (there is no fini). `seed`:
 * not to be guessed; communication ids and PSNs follow from it. NULL if the config is outside of its ranges (config.h).
 */
struct cm *cm_init(void *memory, const struct cm_config *config, const struct cm_ops *ops, void *host, uint64_t seed);

/* ---- ids ---- */

/* `owner`: any number but 0 that stands for a process; `user` is given back in events. NOMEM: limits. */
int cm_id_create(struct cm *cm, uint32_t owner, uint64_t user, enum cm_space space, enum cm_qp_type qp_type, struct cm_ref *out);
/* For a child: until then its `user` is 0. */
int cm_id_user_set(struct cm *cm, struct cm_ref id, uint64_t user);
/*
 * The owner gives the id up; no event of it follows. What the peer is owed is sent: REJ 4 to a REQ that waits, REJ 28 in other
 * handshakes, DREQ (repeated until answered), DREP, SIDR_REP with status 2. Children of a listener that nobody took go with it.
 */
int cm_id_destroy(struct cm *cm, uint64_t now, struct cm_ref id);
/* Destroys every id of this owner, as a kernel does when a process dies. Returns how many. */
uint32_t cm_owner_gone(struct cm *cm, uint64_t now, uint32_t owner);

struct cm_info {
	uint32_t owner;
	uint64_t user;
	enum cm_state state;
	enum cm_space space;
	enum cm_qp_type qp_type;
	bool bound, passive;
	struct cm_ref listener;        /* of a child */
	struct cm_address local, remote;
	uint64_t service_id;           /* of a listener, or of the connection */
	uint32_t local_id, remote_id;  /* communication ids; 0 when there is none yet */
	uint64_t remote_guid;
	uint32_t local_qpn, remote_qpn;
	struct cm_path path;           /* valid from cm_connect(), or for a child */
	struct cm_ece remote_ece;      /* {0, 0}: the peer has none, or has not spoken yet */
};
int cm_id_info(const struct cm *cm, struct cm_ref id, struct cm_info *out);

/* ---- addresses ---- */

enum cm_bind_flag {
	CM_BIND_REUSE = 1 << 0,    /* RDMA_OPTION_ID_REUSEADDR */
	CM_BIND_ONLY = 1 << 1,     /* RDMA_OPTION_ID_AFONLY: "::" does not take IPv4. Implied by an IPv4 address */
};
/*
 * Takes the address, and its port (0: a free one of the config's range; cm_id_info() tells it) in the port space of the id. An
 * address of all zeros is every address. Whether the address is ours, and the port permitted, is the host's to check before.
 * BASE_ERR_EXISTS: the same address and port is bound (EADDRINUSE); BASE_ERR_NOADDR: the port is bound, and one of the two
 * addresses is the wildcard, or no free port is left (EADDRNOTAVAIL). INVAL if bound already.
 */
int cm_bind(struct cm *cm, struct cm_ref id, const struct cm_address *address, uint32_t flags);
/*
 * Sets source address and destination, as rdma_resolve_addr does. An id that is not bound gets a free port, which may be shared
 * with ids of other destinations; a bound one keeps its port. Errors as cm_bind().
 */
int cm_resolve(struct cm *cm, struct cm_ref id, const struct cm_ip *source, const struct cm_address *destination);
/*
 * backlog: requests that wait to be taken, at most; 0 and what is beyond the config's limit mean that limit. A request beyond
 * it is dropped without an answer, so that the peer repeats it. Only for bound ids; errors as cm_bind(), because a port that is
 * shared by CM_BIND_REUSE cannot be listened on.
 */
int cm_listen(struct cm *cm, struct cm_ref id, uint32_t backlog);
/* The owner has been told of this child: it counts no longer against the backlog. Any other call for the child means it, too. */
int cm_request_taken(struct cm *cm, struct cm_ref child);

/* ---- connections ---- */

/* What the two ends tell each other of their QPs, in the words of struct rdma_conn_param. */
struct cm_conn {
	uint32_t qpn;                 /* UD: of the SIDR_REP */
	uint32_t qkey;                /* UD */
	uint8_t responder_resources;  /* READs and atomics at once: the teller answers as many. In events the two are swapped, */
	uint8_t initiator_depth;      /* and so are already the receiver's own */
	uint8_t flow_control;         /* 0 or 1 */
	uint8_t retry_count;          /* REQ only; beyond 7 is 7 */
	uint8_t rnr_retry_count;      /* beyond 7 is 7 */
	bool srq;
};

struct cm_connect {
	struct cm_conn conn;
	struct cm_ece ece;            /* vendor id 0: none */
	struct cm_path path;          /* sgid to dgid */
	const uint8_t *private_data;  /* borrowed until return; NULL if private_len is 0 */
	uint32_t private_len;         /* at most CM_USER_ROOM_REQ, for UD CM_USER_ROOM_SIDR_REQ */
};
/* Only for a resolved id that was never used. Sends REQ, or SIDR_REQ if the QP type is UD. INVAL if private data is too long. */
int cm_connect(struct cm *cm, uint64_t now, struct cm_ref id, const struct cm_connect *param);

struct cm_accept {
	struct cm_conn conn;
	struct cm_ece ece;
	const uint8_t *private_data;  /* as above; at most CM_ROOM_REP, for UD CM_ROOM_SIDR_REP */
	uint32_t private_len;
};
/* Answers a request: REP, or SIDR_REP with status 0. */
int cm_accept(struct cm *cm, uint64_t now, struct cm_ref child, const struct cm_accept *param);
/* After CM_EVENT_CONNECT_RESPONSE, when the QP is in RTS: sends RTU. No event follows. */
int cm_establish(struct cm *cm, uint64_t now, struct cm_ref id);
/*
 * Refuses a request, or the reply to one's own. Reason: of enum cm_reject_reason; a datagram request gets SIDR status 2,
 * whatever it is. At most CM_ROOM_REJ (UD: CM_ROOM_SIDR_REP) bytes. The id is over, and is to be destroyed by its owner.
 */
int cm_reject(struct cm *cm, uint64_t now, struct cm_ref id, uint16_t reason, const uint8_t *private_data, uint32_t private_len);
/*
 * ESTABLISHED: sends DREQ, an event follows when it is answered or nobody answers. DREQ_RCVD: sends DREP. Else INVAL; mind that
 * rdma_disconnect() of Linux succeeds in other states, too, and does nothing.
 */
int cm_disconnect(struct cm *cm, uint64_t now, struct cm_ref id);
/* The QP of a passive id got a packet before the RTU came (IBV_EVENT_COMM_EST): as if the RTU had come. */
int cm_notify(struct cm *cm, uint64_t now, struct cm_ref id);
/*
 * rdma_init_qp_attr: what to modify the QP with to reach `state` (CM_QP_INIT, _RTR, _RTS). INVAL when Linux gives none in
 * this state of the id.
 */
int cm_qp_attr(const struct cm *cm, struct cm_ref id, enum cm_qp_state state, struct cm_qp_attr *out);

/* ---- a life after the engine's ---- */

/* All that another engine must know to take over an established connection: a plain value, for this version of softverbs. */
struct cm_saved {
	enum cm_space space;
	enum cm_qp_type qp_type;
	struct cm_address local, remote;
	uint64_t service_id, remote_guid;
	uint32_t local_id, remote_id, local_qpn, remote_qpn, qkey;
	uint32_t sq_psn, rq_psn;
	uint32_t timeout_ms;      /* between two DREQs */
	uint8_t max_retries, ack_timeout, retry_count, rnr_retry_count, responder_resources, initiator_depth;
	bool passive, bound;
	struct cm_ece remote_ece;
	struct cm_path path;
};
/* Only in state ESTABLISHED. */
int cm_save(const struct cm *cm, struct cm_ref id, struct cm_saved *out);
/*
 * Makes an established id of what another engine of this host saved. BASE_ERR_EXISTS if its communication id or peer's QP is in
 * use here; a port is shared, as by CM_BIND_REUSE. What is saved is judged as hostile: INVAL. Listeners are made anew instead:
 * cm_id_create, cm_bind, cm_listen.
 */
int cm_adopt(struct cm *cm, uint32_t owner, uint64_t user, const struct cm_saved *saved, struct cm_ref *out);

/* ---- messages, time, events ---- */

/*
 * A datagram that came to QP 1, without GRH: `from` is the way back (sgid is the address it came to, dgid the sender's, gsi_qpn
 * the DETH's source QP). Anything may stand in it. 0 if it was a message of the CM; else it was dropped and counted:
 * BASE_ERR_TRUNCATED, BASE_ERR_MALFORMED, BASE_ERR_UNSUPPORTED (another class, version, method, attribute).
 */
int cm_receive(struct cm *cm, uint64_t now, const struct cm_path *from, const uint8_t *mad, size_t len);

struct cm_send {
	struct cm_path path; /* from sgid to dgid, QP gsi_qpn; Q_Key 0x80010000 */
	uint8_t mad[CM_MAD_BYTES];
};
/* The next message for the wire. False: none, *out untouched. */
bool cm_message_next(struct cm *cm, struct cm_send *out);
/* When cm_tick() wants to be called; BASE_NEVER. */
uint64_t cm_deadline(const struct cm *cm);
void cm_tick(struct cm *cm, uint64_t now);

/* Values of enum rdma_cm_event_type. */
enum cm_event_type {
	CM_EVENT_CONNECT_REQUEST = 4,  /* `id` is new, its owner the listener's: accept, reject, or destroy it */
	CM_EVENT_CONNECT_RESPONSE = 5, /* REP came: establish or reject */
	CM_EVENT_UNREACHABLE = 7,      /* status BASE_ERR_TIMEDOUT, or a SIDR status > 0 */
	CM_EVENT_REJECTED = 8,         /* status: the reason */
	CM_EVENT_ESTABLISHED = 9,      /* passive: RTU came, or cm_notify(); UD: SIDR_REP came, conn.qpn and conn.qkey count */
	CM_EVENT_DISCONNECTED = 10,    /* DREQ or DREP came; status BASE_ERR_TIMEDOUT if nobody answered our DREQ */
	CM_EVENT_TIMEWAIT_EXIT = 15
};

struct cm_event {
	enum cm_event_type type;
	struct cm_ref id;
	uint32_t owner;
	uint64_t user;             /* of the id; CONNECT_REQUEST: of the listener */
	struct cm_ref listener;    /* CONNECT_REQUEST */
	int status;
	struct cm_conn conn;       /* CONNECT_REQUEST, CONNECT_RESPONSE, UD's ESTABLISHED */
	struct cm_ece ece;         /* the same */
	uint16_t private_len;      /* the same, and REJECTED: the whole room of the message, padded with zeros; else 0 */
	uint8_t private_data[CM_PRIVATE_MAX];
	uint8_t info_len;          /* REJECTED: additional reject information */
	uint8_t info[CM_ARI_BYTES];
};
/* The next event. False: none, *out untouched. Nothing is lost when nobody asks: an id keeps its events. */
bool cm_event_next(struct cm *cm, struct cm_event *out);

/* ---- counters ---- */

enum cm_drop {
	CM_DROP_FORM,          /* too short or long, or the values contradict the format */
	CM_DROP_FOREIGN,       /* not a message of the CM */
	CM_DROP_NO_ID,         /* for an id that is not, or whose peer is another one */
	CM_DROP_STATE,         /* does not fit the state: mostly duplicates */
	CM_DROP_BACKLOG,       /* the listener has requests enough */
	CM_DROP_LIMIT,         /* no id left for a request, no place for an answer */
	CM_DROP_UNWANTED,      /* LAP and APR: there are no alternate paths on Ethernet */
	CM_DROPS
};

struct cm_stats {
	uint64_t sent[CM_MESSAGE_KINDS], received[CM_MESSAGE_KINDS]; /* by attribute id - CM_REQ, local ones as well */
	uint64_t repeated[CM_MESSAGE_KINDS];                         /* of sent: retransmissions by timeout */
	uint64_t dropped[CM_DROPS];
	uint64_t rejected[CM_REJECT_REASONS];                        /* sent REJs by reason */
	uint64_t timeouts;                                           /* retries exhausted */
	uint32_t ids, connections, timewait, listeners;              /* now; ids count all, destroyed ones that still owe included */
};
const struct cm_stats *cm_stats_get(const struct cm *cm);

/* For tests and fuzzers: everything holds together. Walks all of the engine. */
bool cm_is_sound(const struct cm *cm);

#endif
