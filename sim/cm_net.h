/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A network of CM engines on a virtual clock: hosts, each with one engine, and datagrams between them that get lost, doubled and
 * late. Everything that happens is a function of the configuration and one seed.
 */
#ifndef SIM_CM_NET_H
#define SIM_CM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "cm/cm.h"

enum { CM_NET_HOSTS = 8, CM_NET_OWNER = 1 };

struct cm_net;

struct cm_net_host {
	struct cm_net *net;
	const char *name;
	struct cm_config config;
	void *memory;
	struct cm *cm;
	struct cm_port port;
	struct wire_gid gid;
	struct cm_ip ip;
	uint64_t sent; /* messages that came out of the engine */
};

struct cm_net_packet {
	uint64_t at, order;
	uint32_t from, to;
	uint8_t mad[CM_MAD_BYTES];
};

struct cm_net {
	uint64_t now;
	struct base_random random;
	struct cm_net_host hosts[CM_NET_HOSTS];
	uint32_t num_hosts;
	struct cm_net_packet *heap;
	uint32_t heap_count, heap_max;
	uint64_t order;
	/* Chances per 100,000 datagrams; a late one arrives up to late_ns after its time. */
	uint32_t drop, duplicate, late, corrupt;
	uint64_t delay_ns, late_ns;
	/* NULL allowed. lose() loses message number n (from 0) of a host by plan; line() gets what happens, as text. */
	bool (*lose)(struct cm_net_host *host, uint64_t n);
	void (*line)(struct cm_net *net, const char *text);
	void (*on_event)(struct cm_net_host *host, const struct cm_event *event);
	void *user;
};

void cm_net_init(struct cm_net *net, uint64_t seed);
void cm_net_fini(struct cm_net *net);
struct cm_net_host *cm_net_host_add(struct cm_net *net, const char *name, const struct cm_config *config);
/* All that the engine knew is gone, and nobody was told. */
void cm_net_host_restart(struct cm_net_host *host);
struct cm_path cm_net_path(const struct cm_net_host *from, const struct cm_net_host *to);
/* After any call for an engine: its messages go to the network, its events to on_event(), until it has neither. */
void cm_net_pump(struct cm_net_host *host);
/* When something happens by itself; BASE_NEVER. */
uint64_t cm_net_next(const struct cm_net *net);
/* Lets happen what is due at cm_net_next(). */
void cm_net_step(struct cm_net *net);
void cm_net_say(struct cm_net *net, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *cm_net_event_text(const struct cm_event *event);

#endif
