/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The messages between the broker and its clients: one per datagram of a SOCK_SEQPACKET connection, little-endian, never longer
 * than IPC_MESSAGE_MAX, some with descriptors.
 *
 *   u16 type   u16 reserved, 0   u32 bytes that follow   then the fields of the type in the order of its struct
 *
 * A text is a length byte and that many bytes without NUL. Bytes left over, reserved bits, numbers outside of their range, a type
 * that does not go in this direction and a wrong number of descriptors are BASE_ERR_MALFORMED; an end before the format's is
 * BASE_ERR_TRUNCATED. The layout of HELLO's first two fields and of REFUSED never changes: they are how versions tell each other.
 *
 * Pure functions.
 */
#ifndef IPC_MESSAGE_H
#define IPC_MESSAGE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IPC_PROTOCOL 3u
#define IPC_HELLO_MAGIC 0x48765373u /* "sSvH" */
#define IPC_MESSAGE_MAX 8192u
#define IPC_HEADER_BYTES 8u
#define IPC_FDS_MAX 8
#define IPC_REASON_MAX 200   /* texts with their NUL */
#define IPC_COMMAND_MAX 16
#define IPC_VERSION_MAX 32
#define IPC_STRAY_MAX 4608u
#define IPC_CM_MAX 1024u      /* bytes of a command, an answer, an event or what is kept of an id */
#define IPC_STAT_CLIENTS 64
#define IPC_STAT_PAIRS 128

enum ipc_type {
	/*                       from      descriptors, in this order */
	IPC_HELLO = 1,        /* client    process: pidfd, wake page, wake eventfd [resuming: vault 0, vault 1]; observer: none */
	IPC_WELCOME,          /* broker    netdev table; process: vault 0, vault 1 [with a wire: UDP socket] */
	IPC_REFUSED,          /* broker    none; the connection ends */
	IPC_PAIR_REQUEST,     /* client    none */
	IPC_PAIR,             /* broker    pair, peer's wake page, peer's wake eventfd, peer's pidfd */
	IPC_PAIR_REFUSED,     /* broker    none */
	IPC_PAIR_REPORT,      /* client    pair: after a resuming HELLO, one for each it has */
	IPC_RESUME_DONE,      /* client    none: all pairs are reported */
	IPC_PEER_GONE,        /* broker    none */
	IPC_NETDEV_CHANGED,   /* broker    none */
	IPC_STRAY,            /* both      none */
	IPC_EXPORT_SET,       /* client    memfd */
	IPC_EXPORT_REQUEST,   /* client    none */
	IPC_EXPORT,           /* broker    memfd, or none when there is none */
	IPC_STAT_REQUEST,     /* client    none */
	IPC_STAT_SUMMARY,     /* broker    none */
	IPC_STAT_CLIENT_LIST, /* broker    none */
	IPC_STAT_PAIR_LIST,   /* broker    none */
	IPC_CM_CALL,          /* client    none; a command in the layout of <rdma/rdma_user_cm.h> */
	IPC_CM_ANSWER,        /* broker    none */
	IPC_CM_EVENT,         /* broker    none; a struct rdma_ucm_event_resp */
	IPC_CM_KEEP,          /* broker    none: keep these bytes for the next broker; no bytes: forget the id */
	IPC_CM_ADOPT,         /* client    none: what was kept, after a resuming HELLO, one for each id */
	IPC_TYPES
};

enum ipc_role { IPC_ROLE_PROCESS, IPC_ROLE_OBSERVER, IPC_ROLES };
enum ipc_stat { IPC_STAT_OF_BROKER, IPC_STAT_OF_CLIENTS, IPC_STAT_OF_PAIRS, IPC_STATS };

struct ipc_hello {
	uint32_t magic, protocol;
	enum ipc_role role;
	bool resume;          /* had this slot at an earlier broker */
	uint8_t slot;         /* resuming: 1..254, else 0 */
	uint64_t incarnation; /* resuming: of that slot, else 0 */
	uint32_t pid;         /* for people; 0 unknown */
	char command[IPC_COMMAND_MAX];
};

struct ipc_welcome {
	uint32_t protocol;
	uint8_t slot;         /* 0 for an observer */
	bool wire;            /* 4791 is ours */
	uint64_t incarnation; /* of the slot: never given out twice */
	uint32_t pid;         /* the broker's */
	char version[IPC_VERSION_MAX];
	char reason[IPC_REASON_MAX]; /* no wire: why */
};

struct ipc_refused {
	int32_t error; /* enum base_err, negative */
	char reason[IPC_REASON_MAX];
};

struct ipc_pair {
	uint32_t id;          /* of the request; 0: the peer asked */
	uint8_t slot;         /* the peer's */
	uint64_t generation;
};

struct ipc_pair_request {
	uint32_t id; /* not 0 */
	uint8_t slot;
};

struct ipc_pair_refused {
	uint32_t id;
	uint8_t slot;
	int32_t error;
};

/* PAIR_REPORT, PEER_GONE. */
struct ipc_peer {
	uint8_t slot;
	uint64_t generation;
};

struct ipc_netdev_changed {
	uint64_t generation, devices;
};

/* A datagram that reached the wrong process. Client to broker: slot is the owner's. */
struct ipc_stray {
	uint8_t slot;
	struct sockaddr_in6 from; /* address, port, scope; IPv4 mapped */
	uint32_t len;
	const uint8_t *datagram;  /* decoded: points into the message */
};

/* EXPORT_REQUEST, EXPORT. */
struct ipc_export {
	uint32_t id;
	uint8_t slot;
};

struct ipc_stat_request {
	uint32_t id;
	enum ipc_stat of;
	uint32_t from; /* clients: first slot; pairs: how many to skip */
};

/* Connection management: what there is of all processes. */
struct ipc_stat_cm {
	uint32_t ids, connections, listeners, timewait; /* ids: the others, and what peers are still owed, included */
};

/* QP 1 of the host: datagrams and frames, and why they were dropped. */
struct ipc_stat_gsi {
	uint64_t sent, received, send_errors, drop_malformed, drop_icrc, drop_address;
};

struct ipc_stat_summary {
	uint32_t id, protocol, pid, uid;
	bool wire;
	uint32_t clients, observers, pairs, free_slots;
	uint64_t refused_messages, strays, uptime_ns, netdev_generation;
	struct ipc_stat_cm cm;
	struct ipc_stat_gsi gsi;
	char version[IPC_VERSION_MAX];
	char reason[IPC_REASON_MAX];
};

struct ipc_stat_client {
	uint8_t slot;
	bool connected; /* false: a survivor that has not come back yet */
	bool has_export;
	uint32_t pid, pairs;
	char command[IPC_COMMAND_MAX];
};

struct ipc_stat_client_list {
	uint32_t id, next; /* next: what to ask from, 0 at the end */
	uint32_t count;
	struct ipc_stat_client clients[IPC_STAT_CLIENTS];
};

struct ipc_stat_pair {
	uint8_t low, high;
	uint64_t generation;
};

struct ipc_stat_pair_list {
	uint32_t id, next;
	uint32_t count;
	struct ipc_stat_pair pairs[IPC_STAT_PAIRS];
};

/* CM_CALL, CM_ANSWER: id of the call. CM_KEEP, CM_ADOPT: the rdma_cm id. CM_EVENT: 0. */
struct ipc_cm {
	uint32_t id;
	uint32_t status;      /* CM_ANSWER: 0 or the errno value that the command ends with; else 0 */
	uint32_t len;
	const uint8_t *bytes; /* decoded: points into the message */
};

struct ipc_message {
	enum ipc_type type;
	union {
		struct ipc_hello hello;
		struct ipc_welcome welcome;
		struct ipc_refused refused;
		struct ipc_pair_request pair_request;
		struct ipc_pair pair;
		struct ipc_pair_refused pair_refused;
		struct ipc_peer peer;
		struct ipc_netdev_changed netdev_changed;
		struct ipc_stray stray;
		struct ipc_export export;
		struct ipc_stat_request stat_request;
		struct ipc_stat_summary stat_summary;
		struct ipc_stat_client_list stat_clients;
		struct ipc_stat_pair_list stat_pairs;
		struct ipc_cm cm;
	};
};

/* The name of a type for logs, never NULL. */
const char *ipc_type_text(enum ipc_type type);

/* Bytes written, or BASE_ERR_RANGE when buf is too small, BASE_ERR_INVAL for a message that the decoder would refuse. */
ssize_t ipc_message_encode(const struct ipc_message *message, uint8_t *buf, size_t len);

/*
 * The whole buffer as one message with `fds` descriptors, `to_broker` or from it. BASE_OK or an error as above; *out is written
 * only on success.
 */
int ipc_message_decode(struct ipc_message *out, const uint8_t *buf, size_t len, unsigned fds, bool to_broker);

#endif
