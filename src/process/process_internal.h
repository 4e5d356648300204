/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of struct process, for process.c (life, tables, fork), control.c (messages, events, reconnecting) and pairs.c.
 *
 * One mutex, `lock`, guards everything that is not constant after process_get(). It is a leaf: nothing else is locked and no
 * event is called while it is held, and under it only calls that do not wait are made. Two flags stand for longer work that is
 * done without it: `connecting` (one thread reaches for a broker) and `dispatching` (one thread calls events, in order).
 */
#ifndef PROCESS_PROCESS_INTERNAL_H
#define PROCESS_PROCESS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "ipc/socket.h"
#include "netdev/shared.h"
#include "process/process.h"

enum process_state {
	PROCESS_CONNECTED,
	PROCESS_LOST,     /* no broker: a timer or a starter's end says when to try again */
	PROCESS_RESUMING, /* HELLO is sent, WELCOME not here yet */
	PROCESS_EXPELLED  /* the broker refused to take us back: no more tries */
};

enum process_ask { PROCESS_ASK_NONE, PROCESS_ASK_UNSENT, PROCESS_ASK_SENT };

struct process_peer_entry {
	uint64_t generation; /* 0: no pair */
	bool delivered;      /* pair_arrived() has returned */
	int memfd, pidfd;    /* owned; -1 without pair */
	enum process_ask ask;
	bool by_event;       /* process_pair_ask() wants to hear of a refusal */
	int refused;         /* pair_refused() is due, with this; 0: it is not. No event: what came of want of memory needs none. */
};

struct process_waiter {
	struct process_waiter *next;
	uint8_t slot;
	int result;  /* BASE_ERR_AGAIN: not yet */
	int eventfd; /* written when result is there */
};

enum process_event_type {
	PROCESS_EVENT_PAIR,
	PROCESS_EVENT_GONE,
	PROCESS_EVENT_NETDEV,
	PROCESS_EVENT_STRAY,
	PROCESS_EVENT_LOST,
	PROCESS_EVENT_RESTORED,
	PROCESS_EVENT_CM
};

struct process_event {
	struct process_event *next;
	enum process_event_type type;
	struct process_pair pair; /* PAIR; slot and generation of GONE */
	uint64_t devices;
	struct sockaddr_in6 from;
	size_t len;
	uint8_t datagram[];
};

/* A call to the connection manager that waits on its caller's stack. */
struct process_cm_call {
	struct process_cm_call *next;
	uint32_t id;
	const void *command;
	size_t len;
	void *response;
	size_t size, response_len;
	int status;  /* errno */
	int result;  /* BASE_ERR_AGAIN: not yet */
	int eventfd; /* written when result is there */
	bool sent;
};

/* What the broker asked to be kept of an rdma_cm id, for the next broker. */
struct process_cm_kept {
	struct process_cm_kept *next;
	uint32_t id, len;
	bool reported; /* to this broker */
	uint8_t bytes[];
};

#define PROCESS_CM_BUCKETS 512u

struct process_cm {
	struct process_cm_call *calls; /* in the order they were made */
	uint32_t next_call;
	struct process_cm_kept *kept[PROCESS_CM_BUCKETS];
	unsigned report_bucket;        /* those before it are reported */
	void (*listener)(void *context, const void *bytes, size_t len);
	void *listener_context;
};

#define PROCESS_STRAYS_MAX 64u  /* events of this kind that wait */
#define PROCESS_OLD_TABLES_MAX 16u

struct process {
	/* constant after process_get() */
	unsigned references; /* guarded by the lock of the singleton */
	struct config config;
	_Atomic bool foreign;
	uint8_t slot;
	int wake_memfd, wake_event, pidfd, udp;
	struct ipc_wake *wake;
	int epoll, queue_event, timer;
	bool wire;
	char reason[IPC_REASON_MAX];
	_Atomic(struct netdev_shared *) netdev;

	pthread_mutex_t lock; /* guards the rest */
	enum process_state state;
	bool connecting, dispatching;
	uint64_t incarnation;
	int control, wait_fd; /* -1: none */
	int vault[2];
	int export;           /* -1: none */
	bool export_unsent;
	unsigned report_next; /* resuming: the slot to report next; 0: nothing to report */
	bool output_waits;    /* EPOLLOUT is armed */
	unsigned retry_ms;
	struct process_peer_entry peers[IPC_SLOTS];
	struct process_waiter *waiters;
	struct process_event *first, *last;
	unsigned refusals; /* peers with `refused` */
	unsigned strays;
	const struct process_events *events;
	void *events_context;
	struct netdev_shared *old_tables[PROCESS_OLD_TABLES_MAX]; /* readers may still be in them */
	unsigned old_table_count;
	struct process_cm cm;
};

enum process_tag { PROCESS_TAG_CONTROL, PROCESS_TAG_QUEUE, PROCESS_TAG_TIMER, PROCESS_TAG_WAIT, PROCESS_TAG_PEER };

/* process.c */
int process_table_open(struct process *p, int fd); /* takes fd */
void process_map_private(void *map, size_t bytes);

/* control.c; lock held where it says so */
int process_watch(struct process *p, int fd, enum process_tag tag, unsigned number);
int process_hello_send(struct process *p, int fd, bool resume);
void process_output(struct process *p);                              /* lock held: sends what is due */
void process_event_add(struct process *p, struct process_event *event); /* lock held; takes it */
void process_event_wake(struct process *p);                          /* lock held: there is something to dispatch */
struct process_event *process_event_new(enum process_event_type type, size_t extra);
void process_event_free(struct process_event *event);

/*
 * Until *result is another than BASE_ERR_AGAIN (whoever writes it also writes the eventfd) or the deadline. Lock held, released
 * while it waits: the caller handles what the broker sends as long as nobody else does.
 */
void process_answer_wait(struct process *p, const int *result, int eventfd, uint64_t deadline);

/* cm.c; lock held */
void process_cm_take(struct process *p, const struct ipc_message *m);       /* CM_ANSWER, CM_EVENT, CM_KEEP */
void process_cm_resume(struct process *p);                                   /* a new broker: nothing is reported */
bool process_cm_report_next(struct process *p, struct ipc_message *m);       /* false: all is reported */
bool process_cm_call_next(struct process *p, struct ipc_message *m);
void process_cm_sent(struct process *p, const struct ipc_message *m);        /* CM_ADOPT, CM_CALL */
void process_cm_lost(struct process *p, bool for_good);
void process_cm_free(struct process *p);

/* pairs.c; lock held */
void process_pair_take(struct process *p, const struct ipc_pair *pair, struct ipc_fds *fds); /* closes or takes fds */
void process_pair_refuse(struct process *p, uint8_t slot, int error);
void process_peer_gone(struct process *p, uint8_t slot, uint64_t generation);
void process_pair_delivered(struct process *p, uint8_t slot, uint64_t generation, int error); /* what pair_arrived() said */
bool process_pair_refusal_next(struct process *p, uint8_t *slot, int *error);                /* takes the next that is due */

#endif
