/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/link.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "link/count.h"
#include "link/link_internal.h"

struct link *link_create(const struct link_config *config)
{
	struct link *link = calloc(1, sizeof(*link));

	if (link == NULL)
		return NULL;
	link->counters = config->counters;
	link->own = config->wake_page;
	if (link_shm_init(&link->shm, config) != 0)
		goto free_link;
	if (link_udp_init(&link->udp, config) != 0)
		goto fini_shm;
	link_raw_init(&link->raw, config);
	return link;

fini_shm:
	link_shm_fini(&link->shm);
free_link:
	free(link);
	return NULL;
}

void link_destroy(struct link *link)
{
	if (link == NULL)
		return;
	link_raw_fini(&link->raw);
	link_udp_fini(&link->udp);
	link_shm_fini(&link->shm);
	free(link);
}

int link_raw_listen(struct link *link)
{
	return link_raw_start(&link->raw);
}

int link_raw_group(struct link *link, uint32_t ifindex, const struct wire_gid *mgid, bool enter)
{
	return link_raw_membership(&link->raw, ifindex, mgid, enter);
}

int link_shm_attach(struct link *link, uint8_t slot, uint64_t generation, void *pair, bool low, void *peer_wake,
		int peer_eventfd)
{
	return link_shm_peer_add(&link->shm, slot, generation, pair, low, peer_wake, peer_eventfd);
}

void link_shm_detach(struct link *link, uint8_t slot)
{
	link_shm_peer_remove(&link->shm, slot);
}

bool link_shm_is_attached(const struct link *link, uint8_t slot)
{
	return link->shm.peers[slot] != NULL;
}

uint64_t link_shm_peer_progress(const struct link *link, uint8_t slot)
{
	const struct link_shm_peer *peer = link->shm.peers[slot];

	return peer == NULL ? 0 : atomic_load_explicit(&peer->wake->progress, memory_order_relaxed);
}

int link_reserve(struct link *link, const struct link_path *path, struct transport_room *room)
{
	switch (path->kind) {
	case LINK_SHM:
		return link_shm_reserve(&link->shm, path, room);
	case LINK_UDP:
	case LINK_RAW:
		return link_udp_reserve(&link->udp, path, room);
	case LINK_NOWHERE:
	case LINK_KINDS:
		break;
	}
	*room = (struct transport_room){.buf = link->nowhere, .bytes = sizeof(link->nowhere), .packets = LINK_RING_PACKETS_MAX};
	return 0;
}

void link_commit(struct link *link, const struct link_path *path, const struct transport_run *run, size_t used)
{
	switch (path->kind) {
	case LINK_SHM:
		link_shm_commit(&link->shm, path, run, used);
		return;
	case LINK_UDP:
	case LINK_RAW:
		link_udp_commit(&link->udp, path, run, used);
		return;
	case LINK_NOWHERE:
	case LINK_KINDS:
		break;
	}
	link_count_drop(link->counters, LINK_DROP_NOWHERE, run->packets);
}

void link_give_up(struct link *link, enum link_drop why, const struct transport_run *run)
{
	link_count_drop(link->counters, why, run->packets);
}

void link_flush(struct link *link)
{
	link_shm_flush(&link->shm);
	link_udp_flush(&link->udp);
}

void link_want_room(struct link *link, const struct link_path *path)
{
	if (path->kind == LINK_SHM)
		link_shm_want_room(&link->shm, (uint8_t)(path->dest_qpn >> 16));
	else if (path->kind == LINK_UDP || path->kind == LINK_RAW)
		link_udp_want_room(&link->udp);
}

int link_room_fd(const struct link *link)
{
	return link->udp.room_epoll;
}

bool link_room_take(struct link *link, uint64_t slots[4], bool *udp)
{
	memset(slots, 0, 4 * sizeof(slots[0]));
	*udp = link_udp_room_take(&link->udp);
	return link_shm_room_take(&link->shm, slots) || *udp;
}

unsigned link_receive(struct link *link, bool udp, bool scan, unsigned budget, link_sink *sink, void *context)
{
	unsigned done = link_shm_receive(&link->shm, scan, budget, sink, context);
	/* A flood on the rings must not keep the others waiting for ever: each gets at least an eighth of what was asked for. */
	const unsigned least = budget / 8 + 1;

	if (udp)
		done += link_udp_receive(&link->udp, budget > done + least ? budget - done : least, sink, context);
	return done + link_raw_receive(&link->raw, budget > done + least ? budget - done : least, sink, context);
}

void link_keep(struct link *link)
{
	link->shm.keep = true;
}

bool link_sleep_begin(struct link *link)
{
	/* What the last budget left uncut is in our memory, no descriptor tells of it. */
	return !link_udp_is_ready(&link->udp) && link_shm_sleep_begin(&link->shm);
}

void link_sleep_end(struct link *link)
{
	atomic_store_explicit(&link->own->sleeping, 0, memory_order_relaxed);
}

void link_publish_progress(struct link *link)
{
	link_count(&link->own->progress, 1);
}
