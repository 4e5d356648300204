/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pairs with other processes: asking, arriving, ending. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "process/process_internal.h"

static void waiters_answer(struct process *p, uint8_t slot, int result)
{
	static const uint64_t one = 1;

	for (struct process_waiter *w = p->waiters; w != NULL; w = w->next) {
		if (w->slot != slot || w->result != BASE_ERR_AGAIN)
			continue;
		w->result = result;
		ssize_t ignored = write(w->eventfd, &one, sizeof(one));
		(void)ignored;
	}
}

static void peer_forget(struct process *p, uint8_t slot)
{
	struct process_peer_entry *peer = &p->peers[slot];

	if (peer->pidfd >= 0) {
		epoll_ctl(p->epoll, EPOLL_CTL_DEL, peer->pidfd, NULL);
		close(peer->pidfd);
	}
	if (peer->memfd >= 0)
		close(peer->memfd);
	peer->pidfd = peer->memfd = -1;
	peer->generation = 0;
	peer->delivered = false;
}

void process_peer_gone(struct process *p, uint8_t slot, uint64_t generation)
{
	static const uint32_t closed = 1;
	struct process_peer_entry *peer = &p->peers[slot];

	if (peer->generation == 0 || peer->generation != generation)
		return;
	/* The broker may not have got there yet, or be dead itself. */
	ssize_t ignored = pwrite(peer->memfd, &closed, sizeof(closed), offsetof(struct ipc_pair_header, closed));
	(void)ignored;
	peer_forget(p, slot);
	struct process_event *event = process_event_new(PROCESS_EVENT_GONE, 0);
	if (event != NULL) {
		event->pair.slot = slot;
		event->pair.generation = generation;
		process_event_add(p, event);
	}
}

void process_pair_refuse(struct process *p, uint8_t slot, int error)
{
	struct process_peer_entry *peer = &p->peers[slot];

	peer->ask = PROCESS_ASK_NONE;
	waiters_answer(p, slot, error);
	if (!peer->by_event)
		return;
	peer->by_event = false;
	p->refusals += peer->refused == 0;
	peer->refused = error;
	process_event_wake(p);
}

bool process_pair_refusal_next(struct process *p, uint8_t *slot, int *error)
{
	for (unsigned s = IPC_SLOT_FIRST; s <= IPC_SLOT_LAST && p->refusals != 0; s++) {
		if (p->peers[s].refused == 0)
			continue;
		*slot = (uint8_t)s;
		*error = p->peers[s].refused;
		p->peers[s].refused = 0;
		p->refusals--;
		return true;
	}
	return false;
}

void process_pair_delivered(struct process *p, uint8_t slot, uint64_t generation, int error)
{
	struct process_peer_entry *peer = &p->peers[slot];

	if (error == BASE_OK) {
		if (peer->generation == generation)
			peer->delivered = true;
		waiters_answer(p, slot, BASE_OK);
		return;
	}
	if (peer->generation != generation)
		return; /* the next one is on its way */
	/* As if it had not come: who asks again asks the broker, which gives the same pair once more. */
	peer_forget(p, slot);
	peer->by_event = true;
	process_pair_refuse(p, slot, error);
}

static void *map_shared(int fd, size_t bytes)
{
	void *map = ipc_memfd_is_sealed(fd, bytes) ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (map == MAP_FAILED)
		return NULL;
	process_map_private(map, bytes);
	return map;
}

/* What the broker sent, checked: a damaged pair is refused, it does not take the process down. */
static bool pair_map(struct process *p, const struct ipc_pair *pair, const struct ipc_fds *fds, struct process_pair *out)
{
	out->low = p->slot < pair->slot;
	out->slot = pair->slot;
	out->generation = pair->generation;
	out->map = map_shared(fds->fd[0], IPC_PAIR_BYTES);
	out->peer_wake = map_shared(fds->fd[1], IPC_WAKE_BYTES);
	const struct ipc_pair_header *header = out->map;
	bool good = header != NULL && out->peer_wake != NULL && header->magic == IPC_PAIR_MAGIC &&
		header->version == IPC_PAIR_VERSION && header->generation == pair->generation &&
		header->slot[out->low ? 0 : 1] == p->slot &&
		header->slot[out->low ? 1 : 0] == pair->slot && out->peer_wake->magic == IPC_WAKE_MAGIC &&
		out->peer_wake->version == IPC_WAKE_VERSION;
	if (good)
		return true;
	if (out->map != NULL)
		munmap(out->map, IPC_PAIR_BYTES);
	if (out->peer_wake != NULL)
		munmap(out->peer_wake, IPC_WAKE_BYTES);
	return false;
}

void process_pair_take(struct process *p, const struct ipc_pair *pair, struct ipc_fds *fds)
{
	struct process_peer_entry *peer = &p->peers[pair->slot];
	struct process_event *event;

	if (peer->generation == pair->generation) {
		/* Known: the answer to a request that crossed the peer's. The waiters get theirs when it is delivered. */
		peer->ask = PROCESS_ASK_NONE;
		if (peer->delivered)
			waiters_answer(p, pair->slot, BASE_OK);
		ipc_fds_close(fds);
		return;
	}
	event = process_event_new(PROCESS_EVENT_PAIR, 0);
	if (event == NULL || pair->slot == p->slot || !pair_map(p, pair, fds, &event->pair)) {
		base_error("the shared rings to slot %u cannot be mapped; free memory, or end both programs and start them again",
			pair->slot);
		free(event);
		ipc_fds_close(fds);
		process_pair_refuse(p, pair->slot, BASE_ERR_NOMEM);
		return;
	}
	event->pair.peer_eventfd = fds->fd[2];
	process_peer_gone(p, pair->slot, peer->generation);
	close(fds->fd[1]);
	peer->generation = pair->generation;
	peer->memfd = fds->fd[0];
	peer->pidfd = fds->fd[3];
	peer->ask = PROCESS_ASK_NONE;
	peer->by_event = false;
	p->refusals -= peer->refused != 0;
	peer->refused = 0;
	fds->count = 0;
	process_event_add(p, event);
	process_watch(p, peer->pidfd, PROCESS_TAG_PEER, pair->slot);
}

static int pair_check(const struct process *p, uint8_t slot)
{
	if (atomic_load(&p->foreign))
		return BASE_ERR_GONE;
	return slot < IPC_SLOT_FIRST || slot > IPC_SLOT_LAST || slot == p->slot ? BASE_ERR_INVAL : BASE_OK;
}

static void ask(struct process *p, uint8_t slot)
{
	if (p->peers[slot].ask != PROCESS_ASK_NONE)
		return;
	p->peers[slot].ask = PROCESS_ASK_UNSENT;
	process_output(p);
}

int process_pair_ask(struct process *p, uint8_t slot)
{
	int err = pair_check(p, slot);

	if (err != BASE_OK)
		return err;
	pthread_mutex_lock(&p->lock);
	if (p->state == PROCESS_EXPELLED) {
		err = BASE_ERR_GONE;
	} else if (p->peers[slot].generation == 0) {
		p->peers[slot].by_event = true;
		ask(p, slot);
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

bool process_pair_exists(struct process *p, uint8_t slot)
{
	if (pair_check(p, slot) != BASE_OK)
		return false;
	pthread_mutex_lock(&p->lock);
	bool exists = p->peers[slot].generation != 0;
	pthread_mutex_unlock(&p->lock);
	return exists;
}

static void waiter_remove(struct process *p, struct process_waiter *waiter)
{
	struct process_waiter **at = &p->waiters;

	while (*at != waiter)
		at = &(*at)->next;
	*at = waiter->next;
}

static int request_and_wait(struct process *p, uint8_t slot, uint64_t timeout_ns)
{
	struct process_waiter waiter = { .slot = slot, .result = BASE_ERR_AGAIN, .eventfd = -1 };
	uint64_t now = base_clock_now(), deadline = timeout_ns < BASE_NEVER - now ? now + timeout_ns : BASE_NEVER;

	pthread_mutex_lock(&p->lock);
	bool ready = p->peers[slot].delivered, expelled = p->state == PROCESS_EXPELLED;
	pthread_mutex_unlock(&p->lock);
	if (ready || expelled)
		return ready ? BASE_OK : BASE_ERR_GONE;
	waiter.eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (waiter.eventfd < 0)
		return BASE_ERR_NOMEM;
	pthread_mutex_lock(&p->lock);
	waiter.next = p->waiters;
	p->waiters = &waiter;
	if (p->peers[slot].delivered)
		waiter.result = BASE_OK;
	else if (p->peers[slot].generation == 0)
		ask(p, slot);
	process_answer_wait(p, &waiter.result, waiter.eventfd, deadline);
	waiter_remove(p, &waiter);
	pthread_mutex_unlock(&p->lock);
	close(waiter.eventfd);
	return waiter.result == BASE_ERR_AGAIN ? BASE_ERR_TIMEDOUT : waiter.result;
}

int process_pair_request(struct process *p, uint8_t slot, uint64_t timeout_ns)
{
	int cancel, err = pair_check(p, slot);

	if (err != BASE_OK)
		return err;
	/* The waiter lives on this stack: a thread cancelled in poll(2) would leave it in the list. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	err = request_and_wait(p, slot, timeout_ns);
	pthread_setcancelstate(cancel, NULL);
	return err;
}
