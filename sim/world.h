/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The simulated world: endpoints (a host with one QP) joined by hostile links, on a virtual clock. Everything that happens
 * is a function of the configuration and one seed. What is pulled from a QP is taken apart into packets here (framed runs are
 * decoded from their bytes), suffers the faults of the link packet by packet, and is put together again into runs of other
 * sizes.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "sim/host.h"
#include "sim/kinds.h"
#include "transport/rc.h"
#include "transport/uc.h"
#include "transport/ud.h"

/* Chances are per 100,000 packets. */
struct sim_faults {
	uint32_t drop, duplicate, corrupt;
	uint32_t garbage;  /* a header bit flips and nobody notices */
	uint32_t reorder;  /* this packet may be overtaken */
	uint64_t delay_ns, jitter_ns, reorder_ns;
	uint32_t sleep;    /* per step of an endpoint: it is not scheduled for up to sleep_ns */
	uint64_t sleep_ns;
};

struct sim_link {
	bool lossless;      /* a ring of `capacity` packets; else `capacity` packets of socket buffer, what overflows is lost */
	bool framed;
	uint32_t capacity;
	uint16_t room_packets; /* rooms are 1..room_packets; random when `vary` */
	uint16_t merge_packets; /* received packets are put together into runs of up to this many */
	bool vary;
	uint64_t packet_ns;  /* time on the link */
	struct sim_faults faults;
};

struct sim_packet;
struct sim_world;

enum { SIM_VERDICTS = 16 };
#define SIM_PATIENCE_NS 1000000ull /* how long a packet without a receive waits on a lossless link, once per dry spell */

struct sim_endpoint {
	struct sim_world *world;
	struct sim_endpoint *peer;
	const char *name;
	const struct sim_kind *kind;
	struct transport_qp qp; /* the one that kind says */
	struct transport_qp uc;
	struct transport_qp ud;
	struct sim_host host;
	struct transport_config config;
	struct sim_link link; /* what it sends over */

	struct sim_packet *inbox_head, **inbox_tail;
	uint32_t inbox_count;
	uint32_t in_transit; /* sent by us and not consumed yet */
	uint64_t link_free_at, last_arrival_at;
	uint64_t step_at;
	uint64_t asleep_until, slept_total, slept_charged, peer_slept_charged;
	bool dead; /* takes nothing in, does nothing */
	uint64_t packets_sent;
	uint32_t verdicts[SIM_VERDICTS];
	uint64_t waits_since; /* the oldest packet of the inbox has no receive; 0: it does not wait */
	bool dry; /* it waited in vain: the next ones do not */
	uint32_t events; /* all bits seen */

	/* The application. NULL allowed. app() returns when it wants to be called next, BASE_NEVER if only after completions. */
	void *user;
	uint64_t (*app)(struct sim_endpoint *ep, uint64_t now);
	void (*on_send)(struct sim_endpoint *ep, const struct transport_completion *c);
	void (*on_recv)(struct sim_endpoint *ep, const struct transport_completion *c);
};

struct sim_event {
	uint64_t at, order;
	struct sim_endpoint *ep;
	struct sim_packet *packet; /* NULL: step */
};

struct sim_world {
	uint64_t now;
	struct base_random random;
	struct sim_event *heap;
	uint32_t heap_count, heap_max;
	uint64_t order, events_done;
	/* Lines of what happens; NULL for none. */
	void (*trace)(struct sim_world *world, const char *line);
	/* Storyboards lose packets by plan: true loses packet number n (from 0) of ep. NULL: only faults. */
	bool (*lose)(struct sim_endpoint *ep, uint64_t n);
	void *user;
};

void sim_world_init(struct sim_world *world, uint64_t seed);
void sim_world_fini(struct sim_world *world); /* after its endpoints' fini */
void sim_endpoint_init(struct sim_endpoint *ep, struct sim_world *world, const char *name, uint32_t sq_depth, uint32_t recvs_max);
/* The same for another transport than RC. */
void sim_endpoint_init_kind(struct sim_endpoint *ep, struct sim_world *world, const char *name, uint32_t sq_depth, uint32_t recvs_max,
			    const struct sim_kind *kind);
void sim_endpoint_fini(struct sim_endpoint *ep);
/* Brings both QPs to RTS against each other; config and link of both are set. */
void sim_connect(struct sim_endpoint *a, struct sim_endpoint *b);
/* Its RC QP repeats selectively; after config.mtu is set, before sim_connect(). */
void sim_selective(struct sim_endpoint *ep);
/* Wants to run at `at` at the latest. */
void sim_wake(struct sim_endpoint *ep, uint64_t at);
void sim_kill(struct sim_endpoint *ep);
/* One event. False when nothing is left to happen. */
bool sim_world_step(struct sim_world *world);
void sim_trace(struct sim_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool sim_chance(struct sim_world *world, uint32_t per_100000);

#endif
