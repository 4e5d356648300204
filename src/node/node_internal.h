/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What node.c, progress.c and thread.c share. Nobody else includes it. */
#ifndef NODE_NODE_INTERNAL_H
#define NODE_NODE_INTERNAL_H

#include <pthread.h>

#include "base/clock.h"
#include "node/lock.h"
#include "node/node.h"
#include "node/timers.h"

enum {
	NODE_QPN_INDEXES = 65536,  /* low 16 bits of a QPN; the slot is above them */
	NODE_RECEIVE_BUDGET = 64,  /* runs taken off the links per round */
	NODE_FLOW_QUOTA = 16,      /* runs a flow may send before the next one's turn */
	NODE_SEND_BUDGET = 128,    /* runs sent per round */
	NODE_TIMER_BUDGET = 64,    /* flows ticked per round */
	NODE_EMPTY_POLLS = 16,     /* in a row by one thread: then it yields the processor */
	NODE_EMPTY_POLLS_ALONE = 256, /* the same while nobody else wants the processor */
	NODE_BUSY_POLLS = 4,       /* between two wake-ups: somebody polls */
	NODE_BUSY_WAKES = 8,       /* such wake-ups in a row: the same; at first */
	NODE_BUSY_WAKES_MAX = 4096,
	NODE_BULK_BYTES = 16384,   /* in one round: more will follow at once */
	NODE_TAKEN_WAKES = 64,     /* wake-ups in a row that found the work taken: the application polls, disarm */
	NODE_SLOTS = 256,
	NODE_ANY_LOOKS = 16,       /* polls between two looks at the socket while only flows of any path are there, and it was silent */
	NODE_ANY_HOT = 4096,       /* polls for which it counts as busy after something came */
};
#define NODE_LOOK_IN_MIN (200 * BASE_USEC)
#define NODE_LOOK_IN_MAX (10 * BASE_MSEC)
#define NODE_SECOND_LOOK (20 * BASE_USEC)  /* work that waits so long while no poll comes is the thread's */
#define NODE_BULK_LOOK (10 * BASE_USEC)    /* how long the thread stays awake for more of a bulk transfer: what a wake-up costs */
#define NODE_TRUST_PROVEN (5 * BASE_MSEC)  /* pollers that did the work for so long were trusted rightly */
#define NODE_YIELD_SHORT (20 * BASE_USEC)  /* a yield that took less found nobody else to run */
#define NODE_LINGER_MAX (50 * BASE_MSEC)
#define NODE_HELD_MAX (100 * BASE_USEC)    /* whatever a flow holds back leaves within this */
#define NODE_STALL (BASE_SEC)              /* a peer without progress for so long gets no more datagrams */
#define NODE_PAIR_RETRY (100 * BASE_MSEC)  /* a slot without a process is asked for again after this */

/* A singly linked queue of flows; which link it runs through is up to progress.c. */
struct node_queue {
	struct node_flow *first, *last;
};

enum node_thread_mode {
	NODE_THREAD_ARMED,   /* peers wake us for every packet: nobody polls */
	NODE_THREAD_LOOK_IN, /* the application polls: the thread looks in now and then */
};

struct node {
	struct node_lock lock;
	struct node_config config;
	struct link *link;

	/* Any thread. */
	_Atomic(struct node_flow *) kicked; /* LIFO of flows with new work */
	_Atomic uint32_t polls;             /* counts node_poll(): tells the thread that somebody polls */
	_Atomic bool arm_wanted;            /* node_expect_wakeups() */
	_Atomic bool stopping;
	_Atomic bool dead;                  /* this process is a fork child of the node's owner */

	/* Progress lock. */
	struct node_flow **table; /* by QPN index */
	struct node_flow *groups; /* node_group_add() */
	uint32_t flows, next_index;
	uint32_t plain_timers;    /* node_timer_add() */
	uint32_t udp_flows;       /* flows whose path is UDP: poll the socket only then */
	uint32_t any_flows;       /* flows with next_path that UDP may reach: poll it now and then */
	uint32_t any_looks, any_hot;
	uint64_t kept_until;      /* when a run that waits in a ring must be offered again; BASE_NEVER: none waits */
	bool no_keeping;          /* the ring is about to go: nothing may wait in it */
	struct {
		bool asked;
		uint64_t refused; /* when; 0: it was not */
		/* While a lossy flow waits for room: what the peer's progress count was last, and since when. */
		uint64_t progress, progress_at; /* progress_at 0: nobody waits */
		bool stalled; /* stood still at `progress` */
	} pairs[NODE_SLOTS];
	uint64_t stall_check;     /* when a peer that is waited for may have stood still for too long; BASE_NEVER: none is */
	bool receive_more;        /* the last round ended with its budget: the link may hold more */
	struct node_queue ready, touched, waiting;
	struct node_timers timers;
	uint64_t now; /* of this round */
	uint64_t received_bytes; /* payload that arrived, ever */

	/* The thread; `sleeping_until` is read by others with the lock held, to know whether to poke it. */
	pthread_t thread;
	bool thread_started;
	int poke_eventfd, epoll_armed, epoll_look_in;
	int control_fd;
	_Atomic uint64_t sleeping_until; /* 0: not asleep */
	_Atomic int thread_mode;
};

/*
 * One bounded round: receive, timers, send, flush, publish. Returns how much was done (0: nothing was there). Rings
 * whose doorbell rang are always looked at; `looks` asks for more. Progress lock held.
 */
enum node_look { NODE_LOOK_RINGS = 1, NODE_LOOK_UDP = 2, NODE_LOOK_ALL = 3 };
unsigned node_progress(struct node *node, unsigned looks);
/* Is there something a further round could do now? Progress lock held. */
bool node_has_work(const struct node *node);
/* Publishing and the timers of this flow are due at the end of the round. Progress lock held. */
void node_touch(struct node *node, struct node_flow *flow);
/* When a round is due although nothing arrives. Progress lock held. */
uint64_t node_next_due(const struct node *node);
/* Which looks (enum node_look) a poll takes besides the rings whose doorbell rang. Progress lock held. */
unsigned node_poll_looks(struct node *node);
/* Flows that wait for this pair go on. Progress lock held. */
void node_pair_settled(struct node *node, uint8_t slot);
/* The flow may have packets to send. Progress lock held. */
void node_ready(struct node *node, struct node_flow *flow);
/* Takes the flow out of every list. Progress lock held. */
void node_forget(struct node *node, struct node_flow *flow);
/* Gives the lock back and looks for work flagged meanwhile; wakes the thread if it must take over. */
void node_release(struct node *node);

/* thread.c */
int node_thread_start(struct node *node);
void node_thread_stop(struct node *node);
void node_thread_poke(struct node *node);

#endif
