/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Theory of operation: the progress thread.
 *
 * It takes over when nobody polls, and stays out of the way while somebody does. Two modes:
 *
 *   LOOK_IN  the application polls. Peers do not wake us (the `sleeping` word of our wake page is 0). The thread wakes after 200 us,
 *            doubling to 10 ms. When no poll came since the last look-in, or none comes within a second look 20 us later although work
 *            is waiting, it goes to ARMED: the application polls memory between its CQ polls, or does not poll at all.
 *   ARMED    peers write our eventfd for every packet that finds us asleep; the UDP socket is in the epoll set. 64 wake-ups in a row that
 *            found the work taken by a poller, or 8 in a row with 4 polls or more before each, lead back to LOOK_IN; the 8 become more
 *            each time that turns out wrong.
 *
 * It never spins: on two cores a spinning thread costs a spinning application milliseconds. After bulk data it stays
 * awake for as long as a wake-up would cost, 10 us, because more of it is on its way.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "node/node_internal.h"

enum wakeup { WAKE_POKE, WAKE_PEER, WAKE_UDP, WAKE_ROOM, WAKE_CONTROL };

static void watch(int epoll, int fd, enum wakeup what, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u32 = what };

	if (fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST)
		epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}

static void drain(int eventfd_fd)
{
	uint64_t count;

	/* Non-blocking: an empty one is fine. */
	while (read(eventfd_fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

void node_thread_poke(struct node *node)
{
	uint64_t one = 1;

	/* Can only fail with EAGAIN at 2^64 - 2 pokes, when it is readable anyway. */
	while (write(node->poke_eventfd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/*
 * Sleeps until an event or `until`; handles control messages. Where to look now (enum node_look): 0 when it was only
 * time, or a control message.
 */
static unsigned sleep_until(struct node *node, int epoll, uint64_t until)
{
	struct epoll_event events[5];
	uint64_t now = base_clock_now();
	unsigned look = 0;
	struct timespec timeout = { 0 };

	if (until != BASE_NEVER && until > now) {
		timeout.tv_sec = (time_t)((until - now) / BASE_SEC);
		timeout.tv_nsec = (long)((until - now) % BASE_SEC);
	}
	static _Atomic bool coarse; /* before Linux 5.11: milliseconds, rounded up */
	int count = atomic_load_explicit(&coarse, memory_order_relaxed) ? -1 :
		    epoll_pwait2(epoll, events, 5, until == BASE_NEVER ? NULL : &timeout, NULL);
	if (count < 0 && errno == ENOSYS)
		atomic_store_explicit(&coarse, true, memory_order_relaxed);
	if (atomic_load_explicit(&coarse, memory_order_relaxed))
		count = epoll_wait(epoll, events, 5,
				   until == BASE_NEVER ? -1 : (int)((until > now ? until - now : 0) / BASE_MSEC) + 1);
	atomic_store(&node->sleeping_until, 0);
	for (int i = 0; i < count; i++) {
		switch ((enum wakeup)events[i].data.u32) {
		case WAKE_POKE:
			drain(node->poke_eventfd);
			look |= NODE_LOOK_RINGS;
			break;
		case WAKE_PEER: /* edge-triggered: never read, which saves a system call per wake-up */
			look |= NODE_LOOK_RINGS;
			break;
		case WAKE_UDP:
		case WAKE_ROOM: /* a socket that was full has room: node_progress() sends what waits */
			look |= NODE_LOOK_UDP;
			break;
		case WAKE_CONTROL: {
			int fd = node->config.control(node->config.control_context);

			/* A closed descriptor has left the sets by itself. */
			if (fd != node->control_fd) {
				node->control_fd = fd;
				watch(node->epoll_armed, fd, WAKE_CONTROL, EPOLLIN | EPOLLRDHUP);
				watch(node->epoll_look_in, fd, WAKE_CONTROL, EPOLLIN | EPOLLRDHUP);
			}
			break;
		}
		}
	}
	return look;
}

/* Is somebody polling right now? Waits a moment for the next poll. A wish for wake-ups is an answer, too: no. */
static bool somebody_is_polling(struct node *node)
{
	uint32_t before = atomic_load_explicit(&node->polls, memory_order_relaxed);
	const struct timespec moment = { .tv_nsec = NODE_SECOND_LOOK };

	if (atomic_load(&node->arm_wanted))
		return false;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
	return atomic_load_explicit(&node->polls, memory_order_relaxed) != before;
}

/* What the thread knows between two rounds. */
struct watch_keeper {
	enum node_thread_mode mode;
	uint64_t interval;   /* LOOK_IN: until the next look */
	uint32_t polls;      /* node->polls when last looked at */
	unsigned taken;      /* wake-ups in a row that found nothing left to do */
	unsigned busy;       /* wake-ups in a row with polls in between */
	unsigned patience;   /* how many of those it takes to trust the pollers */
	uint64_t trusted_at; /* when LOOK_IN began */
	uint64_t bytes;      /* node->received_bytes when last looked at */
	uint64_t bulk_until; /* stay awake: more of a bulk transfer is about to come */
};

/* Chooses the mode after a round that did `done` things; `woken`: a peer, the socket or a poke had ended the sleep. Lock held. */
static void choose_mode(struct node *node, struct watch_keeper *k, unsigned done, bool woken)
{
	uint32_t polls = atomic_load_explicit(&node->polls, memory_order_relaxed) - k->polls;

	k->polls += polls;
	if (atomic_exchange(&node->arm_wanted, false) || k->mode == NODE_THREAD_LOOK_IN) {
		/*
		 * In LOOK_IN: no poll came within the second look. What is done here, or comes next, is the thread's.
		 * Work that had to wait for us means that the pollers were trusted too soon (ib_write_lat: it polls its
		 * CQ, then memory).
		 */
		if (k->mode == NODE_THREAD_LOOK_IN)
			k->patience = done == 0 || node->now - k->trusted_at > NODE_TRUST_PROVEN ? NODE_BUSY_WAKES :
				      k->patience < NODE_BUSY_WAKES_MAX ? 8 * k->patience : k->patience;
		k->mode = NODE_THREAD_ARMED;
		k->taken = k->busy = 0;
	} else if (woken) {
		k->taken = done == 0 && polls > 0 ? k->taken + 1 : 0;
		k->busy = polls >= NODE_BUSY_POLLS ? k->busy + 1 : 0;
		if (k->taken >= NODE_TAKEN_WAKES || k->busy >= k->patience) {
			k->trusted_at = node->now;
			k->mode = NODE_THREAD_LOOK_IN;
			k->interval = NODE_LOOK_IN_MIN;
		}
	}
	atomic_store_explicit(&node->thread_mode, k->mode, memory_order_relaxed);
	if (node->received_bytes - k->bytes >= NODE_BULK_BYTES)
		k->bulk_until = node->now + NODE_BULK_LOOK;
	k->bytes = node->received_bytes;
}

static void *thread_main(void *argument)
{
	struct node *node = argument;
	struct watch_keeper k = { .mode = NODE_THREAD_ARMED, .patience = NODE_BUSY_WAKES };
	unsigned woken = NODE_LOOK_ALL;

	while (!atomic_load(&node->stopping)) {
		if (k.mode == NODE_THREAD_LOOK_IN && somebody_is_polling(node)) {
			/* Pollers run the timers, too. */
			k.interval = k.interval < NODE_LOOK_IN_MAX ? 2 * k.interval : k.interval;
			sleep_until(node, node->epoll_look_in, base_clock_now() + k.interval);
			continue;
		}
		node_lock_take(&node->lock);
		unsigned done = node_progress(node, k.mode == NODE_THREAD_LOOK_IN ? NODE_LOOK_ALL : woken);
		choose_mode(node, &k, done, woken != 0);
		/*
		 * Keep at it while there is work, but let pollers and modifiers in between rounds. Before sleeping the rings are scanned
		 * again, and the socket wakes us as long as there is something in it: no need for another round just to see.
		 */
		bool stay = done >= NODE_RECEIVE_BUDGET || node_has_work(node) || node->now < k.bulk_until;
		uint64_t until = node_next_due(node);
		int epoll = node->epoll_armed;

		if (!stay && k.mode == NODE_THREAD_LOOK_IN) {
			until = until < node->now + k.interval ? until : node->now + k.interval;
			epoll = node->epoll_look_in;
		} else if (!stay) {
			stay = !link_sleep_begin(node->link);
		}
		/* Set under the lock: whoever makes an earlier deadline after us sees it and pokes. */
		if (!stay)
			atomic_store(&node->sleeping_until, until);
		node_release(node);
		woken = 0;
		if (!stay) {
			woken = sleep_until(node, epoll, until);
			if (k.mode == NODE_THREAD_ARMED)
				link_sleep_end(node->link);
		}
	}
	return NULL;
}

int node_thread_start(struct node *node)
{
	sigset_t all, before;

	node->poke_eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	node->epoll_armed = epoll_create1(EPOLL_CLOEXEC);
	node->epoll_look_in = epoll_create1(EPOLL_CLOEXEC);
	if (node->poke_eventfd < 0 || node->epoll_armed < 0 || node->epoll_look_in < 0)
		goto close_fds;
	watch(node->epoll_armed, node->poke_eventfd, WAKE_POKE, EPOLLIN);
	watch(node->epoll_look_in, node->poke_eventfd, WAKE_POKE, EPOLLIN);
	watch(node->epoll_armed, node->config.wake_eventfd, WAKE_PEER, EPOLLIN | EPOLLET);
	watch(node->epoll_armed, node->config.udp_socket, WAKE_UDP, EPOLLIN);
	if (node->config.raw_socket > 0)
		watch(node->epoll_armed, node->config.raw_socket, WAKE_UDP, EPOLLIN);
	watch(node->epoll_armed, link_room_fd(node->link), WAKE_ROOM, EPOLLIN);
	watch(node->epoll_armed, node->control_fd, WAKE_CONTROL, EPOLLIN | EPOLLRDHUP);
	watch(node->epoll_look_in, node->control_fd, WAKE_CONTROL, EPOLLIN | EPOLLRDHUP);

	/*
	 * The application's handlers never run here. The two synchronous faults stay open: dma turns a vanished page
	 * into an error with them, and a blocked one would kill the process without a word.
	 */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&node->thread, NULL, thread_main, node);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err == 0) {
		pthread_setname_np(node->thread, "softverbs");
		node->thread_started = true;
		return 0;
	}
close_fds:
	base_error("cannot start the progress thread: %s", strerror(errno));
	close(node->poke_eventfd);
	close(node->epoll_armed);
	close(node->epoll_look_in);
	return BASE_ERR_NOMEM;
}

void node_thread_stop(struct node *node)
{
	if (!node->thread_started)
		return;
	atomic_store(&node->stopping, true);
	node_thread_poke(node);
	pthread_join(node->thread, NULL);
	close(node->poke_eventfd);
	close(node->epoll_armed);
	close(node->epoll_look_in);
	node->thread_started = false;
}
