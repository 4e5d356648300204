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
 *            found the work taken by a poller lead back to LOOK_IN.
 *
 * It never spins: on two cores a spinning thread costs a spinning application milliseconds.
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

/* Sleeps until an event or `until`; handles control messages. True: woken by a peer, the socket or a poke, not by time. */
static bool sleep_until(struct node *node, int epoll, uint64_t until)
{
	struct epoll_event events[4];
	uint64_t now = base_clock_now();
	bool woken = false;
	struct timespec timeout = { 0 };

	if (until != BASE_NEVER && until > now) {
		timeout.tv_sec = (time_t)((until - now) / BASE_SEC);
		timeout.tv_nsec = (long)((until - now) % BASE_SEC);
	}
	int count = epoll_pwait2(epoll, events, 4, until == BASE_NEVER ? NULL : &timeout, NULL);
	if (count < 0 && errno == ENOSYS) /* before Linux 5.11: milliseconds, rounded up */
		count = epoll_wait(epoll, events, 4,
				   until == BASE_NEVER ? -1 : (int)((until > now ? until - now : 0) / BASE_MSEC) + 1);
	atomic_store(&node->sleeping_until, 0);
	for (int i = 0; i < count; i++) {
		switch ((enum wakeup)events[i].data.u32) {
		case WAKE_POKE:
			drain(node->poke_eventfd);
			woken = true;
			break;
		case WAKE_PEER:
			drain(node->config.wake_eventfd);
			woken = true;
			break;
		case WAKE_UDP:
		case WAKE_ROOM: /* a socket that was full has room: node_progress() sends what waits */
			woken = true;
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
	return woken;
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

static void *thread_main(void *argument)
{
	struct node *node = argument;
	enum node_thread_mode mode = NODE_THREAD_ARMED;
	uint64_t interval = NODE_LOOK_IN_MIN;
	uint32_t polls_seen = 0;
	int taken = 0;
	bool woken = false;

	while (!atomic_load(&node->stopping)) {
		if (mode == NODE_THREAD_LOOK_IN && somebody_is_polling(node)) {
			/* Pollers run the timers, too. */
			interval = interval < NODE_LOOK_IN_MAX ? 2 * interval : interval;
			sleep_until(node, node->epoll_look_in, base_clock_now() + interval);
			continue;
		}
		node_lock_take(&node->lock);
		unsigned done = node_progress(node, true);
		/* Keep at it while there is work, but let pollers and modifiers in between rounds. */
		bool more = done > 0 || node_has_work(node);
		uint32_t polls = atomic_load_explicit(&node->polls, memory_order_relaxed);
		bool somebody_polls = polls != polls_seen;

		polls_seen = polls;
		if (atomic_exchange(&node->arm_wanted, false)) {
			mode = NODE_THREAD_ARMED;
			taken = 0;
		} else if (mode == NODE_THREAD_LOOK_IN) {
			/* No poll came within the second look: what is done here, or comes next, is the thread's. */
			mode = NODE_THREAD_ARMED;
			taken = 0;
		} else if (done > 0) {
			taken = 0;
		} else if (woken && somebody_polls && ++taken >= NODE_TAKEN_WAKES) {
			mode = NODE_THREAD_LOOK_IN;
			interval = NODE_LOOK_IN_MIN;
		}
		atomic_store_explicit(&node->thread_mode, mode, memory_order_relaxed);

		uint64_t until = node_timers_next(&node->timers);
		int epoll = node->epoll_armed;
		bool sleep = !more;
		if (sleep && mode == NODE_THREAD_LOOK_IN) {
			uint64_t look_in = node->now + interval;

			until = until < look_in ? until : look_in;
			epoll = node->epoll_look_in;
		} else if (sleep) {
			sleep = link_sleep_begin(node->link);
		}
		/* Set under the lock: whoever makes an earlier deadline after us sees it and pokes. */
		if (sleep)
			atomic_store(&node->sleeping_until, until);
		node_release(node);
		woken = false;
		if (sleep) {
			woken = sleep_until(node, epoll, until);
			if (mode == NODE_THREAD_ARMED)
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
	watch(node->epoll_armed, node->config.wake_eventfd, WAKE_PEER, EPOLLIN);
	watch(node->epoll_armed, node->config.udp_socket, WAKE_UDP, EPOLLIN);
	watch(node->epoll_armed, link_room_fd(node->link), WAKE_ROOM, EPOLLIN);
	watch(node->epoll_armed, node->control_fd, WAKE_CONTROL, EPOLLIN | EPOLLRDHUP);
	watch(node->epoll_look_in, node->control_fd, WAKE_CONTROL, EPOLLIN | EPOLLRDHUP);

	/*
	 * The application's handlers never run here. The two synchronous faults stay open: dma turns a vanished page into an error with
	 * them, and a blocked one would kill the process without a word.
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
