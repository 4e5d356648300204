/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection: what arrives becomes events, what is due is sent, a dead broker is replaced.
 *
 *   connected --end of file--> lost --try: connected to one--> resuming --WELCOME--> connected
 *                              lost --another process is starting one--> lost, until that one's end or a timer
 *                                                              resuming --REFUSED--> expelled
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "ipc/start.h"
#include "process/process_internal.h"

#define CONTROL_EVENTS 16
#define CONTROL_MESSAGES 64    /* in a row */
#define CONTROL_PATIENCE_MS 2000 /* that another starter is waited for */
#define CONTROL_RETRY_MIN_MS 10
#define CONTROL_RETRY_MAX_MS 30000

int process_watch(struct process *p, int fd, enum process_tag tag, unsigned number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)tag << 32 | number };

	return epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? BASE_OK : base_err_from_errno(errno);
}

/* --- events --- */

struct process_event *process_event_new(enum process_event_type type, size_t extra)
{
	struct process_event *event = calloc(1, sizeof(*event) + extra);

	if (event != NULL) {
		event->type = type;
		event->pair.peer_eventfd = -1;
	}
	return event;
}

void process_event_free(struct process_event *event)
{
	if (event->type == PROCESS_EVENT_PAIR && event->pair.map != NULL) {
		munmap(event->pair.map, IPC_PAIR_BYTES);
		munmap(event->pair.peer_wake, IPC_WAKE_BYTES);
		if (event->pair.peer_eventfd >= 0)
			close(event->pair.peer_eventfd);
	}
	free(event);
}

static void queue_signal(struct process *p, bool readable)
{
	uint64_t one = 1;
	ssize_t ignored = readable ? write(p->queue_event, &one, sizeof(one)) : read(p->queue_event, &one, sizeof(one));

	(void)ignored;
}

void process_event_add(struct process *p, struct process_event *event)
{
	event->next = NULL;
	if (p->last != NULL)
		p->last->next = event;
	else
		p->first = event;
	p->last = event;
	p->strays += event->type == PROCESS_EVENT_STRAY;
	process_event_wake(p);
}

void process_event_wake(struct process *p)
{
	if (p->events != NULL && !p->dispatching)
		queue_signal(p, true);
}

static void event_add_plain(struct process *p, enum process_event_type type, uint64_t devices)
{
	struct process_event *event = process_event_new(type, 0);

	if (event == NULL)
		return;
	event->devices = devices;
	process_event_add(p, event);
}

/* Without the lock. What a pair event carries is handed over; the result is what the listener made of it. */
static int event_call(const struct process_events *call, void *context, struct process_event *event)
{
	const struct process_pair pair = event->pair;

	switch (event->type) {
	case PROCESS_EVENT_PAIR:
		if (call->pair_arrived != NULL) {
			event->pair.map = NULL;
			return call->pair_arrived(context, &pair);
		}
		break;
	case PROCESS_EVENT_GONE:
		if (call->peer_gone != NULL)
			call->peer_gone(context, event->pair.slot, event->pair.generation);
		break;
	case PROCESS_EVENT_NETDEV:
		if (call->netdev_changed != NULL)
			call->netdev_changed(context, event->devices);
		break;
	case PROCESS_EVENT_STRAY:
		if (call->stray != NULL)
			call->stray(context, &event->from, event->datagram, event->len);
		break;
	case PROCESS_EVENT_LOST:
		if (call->broker_lost != NULL)
			call->broker_lost(context);
		break;
	case PROCESS_EVENT_RESTORED:
		if (call->broker_restored != NULL)
			call->broker_restored(context);
		break;
	case PROCESS_EVENT_CM:
		break; /* has a listener of its own */
	}
	return BASE_OK;
}

/* Lock held; released around each call. One thread at a time, so that order is kept; it takes what others add meanwhile. */
static void dispatch(struct process *p)
{
	if (p->dispatching)
		return;
	p->dispatching = true;
	queue_signal(p, false);
	while ((p->first != NULL || p->refusals != 0) && p->events != NULL) {
		struct process_event *event = p->first;
		const struct process_events *call = p->events;
		void *context = p->events_context;
		uint8_t slot;
		int err;

		/* A refusal is older than any pair to the same slot: taking one takes the other back. */
		if (process_pair_refusal_next(p, &slot, &err)) {
			pthread_mutex_unlock(&p->lock);
			if (call->pair_refused != NULL)
				call->pair_refused(context, slot, err);
			pthread_mutex_lock(&p->lock);
			continue;
		}
		err = BASE_OK;
		const struct process_cm cm = { .listener = p->cm.listener, .listener_context = p->cm.listener_context };

		p->first = event->next;
		if (p->first == NULL)
			p->last = NULL;
		p->strays -= event->type == PROCESS_EVENT_STRAY;
		pthread_mutex_unlock(&p->lock);
		if (event->type != PROCESS_EVENT_CM)
			err = event_call(call, context, event);
		else if (cm.listener != NULL)
			cm.listener(cm.listener_context, event->datagram, event->len);
		pthread_mutex_lock(&p->lock);
		if (event->type == PROCESS_EVENT_PAIR)
			process_pair_delivered(p, event->pair.slot, event->pair.generation, err);
		process_event_free(event);
	}
	p->dispatching = false;
}

void process_events_set(struct process *p, const struct process_events *events, void *context)
{
	pthread_mutex_lock(&p->lock);
	p->events = events;
	p->events_context = context;
	if (p->first != NULL || p->refusals != 0)
		process_event_wake(p);
	pthread_mutex_unlock(&p->lock);
}

/* --- sending --- */

int process_hello_send(struct process *p, int fd, bool resume)
{
	struct ipc_message m = { .type = IPC_HELLO, .hello = { .magic = IPC_HELLO_MAGIC, .protocol = IPC_PROTOCOL,
		.role = IPC_ROLE_PROCESS, .resume = resume, .pid = (uint32_t)getpid() } };
	struct ipc_fds fds = { 3, { p->pidfd, p->wake_memfd, p->wake_event } };

	snprintf(m.hello.command, sizeof(m.hello.command), "%.15s", program_invocation_short_name);
	if (resume) {
		m.hello.slot = p->slot;
		m.hello.incarnation = p->incarnation;
		fds.fd[fds.count++] = p->vault[0];
		fds.fd[fds.count++] = p->vault[1];
	}
	return ipc_send(fd, &m, &fds);
}

/* The next message that is due and its descriptors; false: none is. `slot` and `done` say what to note when it was sent. */
static bool output_next(struct process *p, struct ipc_message *m, struct ipc_fds *fds)
{
	fds->count = 0;
	memset(m, 0, sizeof(*m));
	for (; p->report_next != 0 && p->report_next <= IPC_SLOT_LAST; p->report_next++) {
		const struct process_peer_entry *peer = &p->peers[p->report_next];

		if (peer->generation == 0)
			continue;
		m->type = IPC_PAIR_REPORT;
		m->peer = (struct ipc_peer){ (uint8_t)p->report_next, peer->generation };
		*fds = (struct ipc_fds){ 1, { peer->memfd } };
		return true;
	}
	if (p->report_next != 0 && process_cm_report_next(p, m))
		return true;
	if (p->report_next != 0) {
		m->type = IPC_RESUME_DONE;
		return true;
	}
	if (p->export_unsent) {
		m->type = IPC_EXPORT_SET;
		*fds = (struct ipc_fds){ 1, { p->export } };
		return true;
	}
	if (process_cm_call_next(p, m))
		return true;
	for (unsigned s = IPC_SLOT_FIRST; s <= IPC_SLOT_LAST; s++) {
		if (p->peers[s].ask != PROCESS_ASK_UNSENT)
			continue;
		m->type = IPC_PAIR_REQUEST;
		m->pair_request = (struct ipc_pair_request){ s, (uint8_t)s }; /* one at a time per slot, so the slot is its id */
		return true;
	}
	return false;
}

static void output_sent(struct process *p, const struct ipc_message *m)
{
	if (m->type == IPC_PAIR_REPORT)
		p->report_next++;
	else if (m->type == IPC_RESUME_DONE)
		p->report_next = 0;
	else if (m->type == IPC_EXPORT_SET)
		p->export_unsent = false;
	else if (m->type == IPC_PAIR_REQUEST)
		p->peers[m->pair_request.slot].ask = PROCESS_ASK_SENT;
	else
		process_cm_sent(p, m);
}

void process_output(struct process *p)
{
	struct ipc_message m;
	struct ipc_fds fds;
	bool waits = false;

	if (p->state != PROCESS_CONNECTED)
		return;
	while (!waits && output_next(p, &m, &fds)) {
		int err = ipc_send(p->control, &m, &fds);

		if (err == BASE_OK)
			output_sent(p, &m);
		else if (err == BASE_ERR_AGAIN)
			waits = true;
		else
			break; /* the end of file comes next */
	}
	if (waits != p->output_waits) {
		struct epoll_event event = { .events = EPOLLIN | (waits ? EPOLLOUT : 0),
			.data.u64 = (uint64_t)PROCESS_TAG_CONTROL << 32 };

		epoll_ctl(p->epoll, EPOLL_CTL_MOD, p->control, &event);
		p->output_waits = waits;
	}
}

/* --- reconnecting --- */

static void retry_at(struct process *p, unsigned ms)
{
	struct itimerspec when = { .it_value = { ms / 1000, (long)(ms % 1000) * 1000000 + 1 } };

	timerfd_settime(p->timer, 0, &when, NULL);
}

static void control_close(struct process *p)
{
	if (p->control >= 0) {
		epoll_ctl(p->epoll, EPOLL_CTL_DEL, p->control, NULL);
		close(p->control);
	}
	p->control = -1;
	p->output_waits = false;
}

/* The broker is gone. Requests that it had are made again to the next one. */
static void broker_lost(struct process *p)
{
	control_close(p);
	if (p->state == PROCESS_CONNECTED)
		event_add_plain(p, PROCESS_EVENT_LOST, 0);
	p->state = PROCESS_LOST;
	p->report_next = 0;
	for (unsigned s = 0; s < IPC_SLOTS; s++)
		if (p->peers[s].ask == PROCESS_ASK_SENT)
			p->peers[s].ask = PROCESS_ASK_UNSENT;
	process_cm_lost(p, false);
	/* At once the first time; a broker that dies again and again is asked for less and less often. */
	retry_at(p, p->retry_ms);
	p->retry_ms = p->retry_ms == 0 ? CONTROL_RETRY_MIN_MS : p->retry_ms * 2;
	if (p->retry_ms > CONTROL_RETRY_MAX_MS)
		p->retry_ms = CONTROL_RETRY_MAX_MS;
}

static void expelled(struct process *p, int error, const char *reason)
{
	base_error("the new broker does not take this process back (%s): it goes on with the connections it has, but makes no "
		"new ones; start it again", reason[0] != '\0' ? reason : base_err_text(error));
	control_close(p);
	p->state = PROCESS_EXPELLED;
	for (unsigned s = 0; s < IPC_SLOTS; s++)
		if (p->peers[s].ask != PROCESS_ASK_NONE)
			process_pair_refuse(p, (uint8_t)s, BASE_ERR_GONE);
	process_cm_lost(p, true);
}

/* Lock held; released while a broker is reached or started. */
static void reconnect(struct process *p, bool by_timer)
{
	int fd = -1, wait_fd = -1, err;

	if (p->state != PROCESS_LOST || p->connecting)
		return;
	p->connecting = true;
	/* Still waiting when the timer ends: the starter may be stopped, so go ahead without it. */
	bool force = p->wait_fd >= 0 && by_timer;
	if (p->wait_fd >= 0) {
		epoll_ctl(p->epoll, EPOLL_CTL_DEL, p->wait_fd, NULL);
		close(p->wait_fd);
		p->wait_fd = -1;
	}
	pthread_mutex_unlock(&p->lock);
	err = ipc_broker_try(p->config.broker, force, &fd, &wait_fd);
	pthread_mutex_lock(&p->lock);
	p->connecting = false;
	if (err == BASE_OK)
		err = process_hello_send(p, fd, true);
	if (err == BASE_OK) {
		p->control = fd;
		p->state = PROCESS_RESUMING;
		if (process_watch(p, fd, PROCESS_TAG_CONTROL, 0) != BASE_OK)
			broker_lost(p);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (err == BASE_ERR_AGAIN && wait_fd >= 0) {
		p->wait_fd = wait_fd;
		if (process_watch(p, wait_fd, PROCESS_TAG_WAIT, 0) == BASE_OK) {
			retry_at(p, CONTROL_PATIENCE_MS);
			return;
		}
	}
	broker_lost(p);
}

/* --- receiving --- */

static void welcome_take(struct process *p, const struct ipc_welcome *welcome, struct ipc_fds *fds)
{
	if (welcome->slot != p->slot || fds->count < 3) {
		expelled(p, BASE_ERR_MALFORMED, "it gave another slot");
		return;
	}
	p->incarnation = welcome->incarnation;
	for (unsigned i = 0; i < 2; i++) {
		close(p->vault[i]);
		p->vault[i] = fds->fd[1 + i];
		fds->fd[1 + i] = -1;
	}
	/* The same table as before, unless the vault got lost. A socket that comes with it is another name of the one we have. */
	process_table_open(p, fds->fd[0]);
	fds->fd[0] = -1;
	p->state = PROCESS_CONNECTED;
	p->retry_ms = 0;
	p->report_next = IPC_SLOT_FIRST;
	process_cm_resume(p);
	p->export_unsent = p->export >= 0;
	event_add_plain(p, PROCESS_EVENT_RESTORED, 0);
	event_add_plain(p, PROCESS_EVENT_NETDEV, ~0ull);
	process_output(p);
}

static void stray_take(struct process *p, const struct ipc_stray *stray)
{
	struct process_event *event;

	if (p->strays >= PROCESS_STRAYS_MAX || (event = process_event_new(PROCESS_EVENT_STRAY, stray->len)) == NULL)
		return;
	event->from = stray->from;
	event->len = stray->len;
	memcpy(event->datagram, stray->datagram, stray->len);
	process_event_add(p, event);
}

static void message_take(struct process *p, const struct ipc_message *m, struct ipc_fds *fds)
{
	switch (m->type) {
	case IPC_WELCOME:
		if (p->state == PROCESS_RESUMING)
			welcome_take(p, &m->welcome, fds);
		break;
	case IPC_REFUSED:
		if (p->state == PROCESS_RESUMING)
			expelled(p, m->refused.error, m->refused.reason);
		else
			base_warn("the broker ended the connection: %s", m->refused.reason);
		break;
	case IPC_PAIR:
		process_pair_take(p, &m->pair, fds);
		break;
	case IPC_PAIR_REFUSED:
		process_pair_refuse(p, m->pair_refused.slot, m->pair_refused.error);
		break;
	case IPC_PEER_GONE:
		process_peer_gone(p, m->peer.slot, m->peer.generation);
		break;
	case IPC_NETDEV_CHANGED:
		event_add_plain(p, PROCESS_EVENT_NETDEV, m->netdev_changed.devices);
		break;
	case IPC_STRAY:
		stray_take(p, &m->stray);
		break;
	case IPC_CM_ANSWER:
	case IPC_CM_EVENT:
	case IPC_CM_KEEP:
		process_cm_take(p, m);
		break;
	case IPC_CM_CALL:
	case IPC_CM_ADOPT:
	case IPC_EXPORT:
	case IPC_STAT_SUMMARY:
	case IPC_STAT_CLIENT_LIST:
	case IPC_STAT_PAIR_LIST:
	case IPC_HELLO:
	case IPC_PAIR_REQUEST:
	case IPC_PAIR_REPORT:
	case IPC_RESUME_DONE:
	case IPC_EXPORT_SET:
	case IPC_EXPORT_REQUEST:
	case IPC_STAT_REQUEST:
	case IPC_TYPES:
		break; /* nothing that we asked for */
	}
	ipc_fds_close(fds);
}

static void control_read(struct process *p)
{
	uint8_t buf[IPC_MESSAGE_MAX];
	struct ipc_message m;
	struct ipc_fds fds;

	for (unsigned i = 0; i < CONTROL_MESSAGES && p->control >= 0; i++) {
		int err = ipc_receive(p->control, false, buf, &m, &fds);

		if (err == BASE_ERR_AGAIN)
			break;
		if (err == BASE_ERR_NOMEM) {
			base_error("no file descriptor is left for what the broker sends; raise the limit (ulimit -n)");
			continue;
		}
		if (err != BASE_OK) {
			if (err != BASE_ERR_GONE)
				base_warn("what the broker sends makes no sense (%s); connecting again", base_err_text(err));
			broker_lost(p);
			return;
		}
		message_take(p, &m, &fds);
	}
}

int process_control_fd(const struct process *p)
{
	return p->epoll;
}

void process_control_handle(struct process *p)
{
	struct epoll_event events[CONTROL_EVENTS];
	uint64_t ticks;

	if (atomic_load(&p->foreign))
		return;
	pthread_mutex_lock(&p->lock);
	int n = epoll_wait(p->epoll, events, CONTROL_EVENTS, 0);
	for (int i = 0; i < n; i++) {
		unsigned number = (uint32_t)events[i].data.u64;
		ssize_t ignored;

		switch ((enum process_tag)(events[i].data.u64 >> 32)) {
		case PROCESS_TAG_CONTROL:
			control_read(p);
			process_output(p);
			break;
		case PROCESS_TAG_QUEUE:
			break; /* what is queued is dispatched below */
		case PROCESS_TAG_TIMER:
			ignored = read(p->timer, &ticks, sizeof(ticks));
			(void)ignored;
			reconnect(p, true);
			break;
		case PROCESS_TAG_WAIT:
			reconnect(p, false);
			break;
		case PROCESS_TAG_PEER:
			process_peer_gone(p, (uint8_t)number, p->peers[number].generation);
			break;
		}
	}
	dispatch(p);
	pthread_mutex_unlock(&p->lock);
}

void process_answer_wait(struct process *p, const int *result, int eventfd, uint64_t deadline)
{
	uint64_t now = base_clock_now();

	while (*result == BASE_ERR_AGAIN && now < deadline) {
		/* Either this thread finds the answer, or the thread that does writes the eventfd. */
		struct pollfd fds[] = { { .fd = p->epoll, .events = POLLIN }, { .fd = eventfd, .events = POLLIN } };
		uint64_t left = deadline == BASE_NEVER ? 60000 : (deadline - now + BASE_MSEC - 1) / BASE_MSEC;

		pthread_mutex_unlock(&p->lock);
		poll(fds, 2, left > 60000 ? 60000 : (int)left);
		if (fds[0].revents != 0)
			process_control_handle(p);
		now = base_clock_now();
		pthread_mutex_lock(&p->lock);
		/* Another thread is calling events: this one must not spin over the readable queue until it is done. */
		while (*result == BASE_ERR_AGAIN && p->dispatching && now < deadline) {
			pthread_mutex_unlock(&p->lock);
			left = deadline == BASE_NEVER ? 10 : (deadline - now + BASE_MSEC - 1) / BASE_MSEC;
			poll(&fds[1], 1, left > 10 ? 10 : (int)left);
			now = base_clock_now();
			pthread_mutex_lock(&p->lock);
		}
	}
}

/* --- small requests --- */

int process_stray_send(struct process *p, const struct sockaddr_in6 *from, const uint8_t *datagram, size_t len)
{
	struct ipc_message m = { .type = IPC_STRAY, .stray = { .from = *from, .len = (uint32_t)len, .datagram = datagram } };
	int err = BASE_ERR_AGAIN;

	if (len < 12 || len > PROCESS_STRAY_MAX)
		return BASE_ERR_INVAL;
	if (atomic_load(&p->foreign))
		return BASE_ERR_GONE;
	m.stray.slot = datagram[5]; /* the high byte of the destination QPN in the BTH */
	pthread_mutex_lock(&p->lock);
	if (p->state == PROCESS_CONNECTED)
		err = ipc_send(p->control, &m, NULL);
	pthread_mutex_unlock(&p->lock);
	return err == BASE_ERR_GONE ? BASE_ERR_AGAIN : err;
}

int process_export_set(struct process *p, int memfd)
{
	int copy = fcntl(memfd, F_DUPFD_CLOEXEC, 0);

	if (atomic_load(&p->foreign) || copy < 0) {
		if (copy >= 0)
			close(copy);
		return copy < 0 ? base_err_from_errno(errno) : BASE_ERR_GONE;
	}
	pthread_mutex_lock(&p->lock);
	if (p->export >= 0)
		close(p->export);
	p->export = copy;
	p->export_unsent = true;
	process_output(p);
	pthread_mutex_unlock(&p->lock);
	return BASE_OK;
}
