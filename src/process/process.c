/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "ipc/start.h"
#include "process/process_internal.h"

_Static_assert(PROCESS_STRAY_MAX == IPC_STRAY_MAX, "what is taken can be sent");

#define PROCESS_CONNECT_SECONDS 5
#define PROCESS_WELCOME_NS (10 * BASE_SEC) /* a new broker waits for survivors of the last one */
#define PROCESS_HELLO_NS (2 * BASE_SEC)    /* the user's descriptors in flight become fewer, or do not */
#define PROCESS_HELLO_PAUSE_MS 50          /* at most, between tries */
#define PROCESS_TRIES 8                    /* a broker that ends for idleness just now is no reason to fail */

static pthread_mutex_t instance_lock = PTHREAD_MUTEX_INITIALIZER;
static struct process *instance; /* guarded by instance_lock */
static bool fork_registered;     /* guarded by instance_lock */
static struct process_fork_hooks fork_hooks;

/* Not inherited by a fork child: it must not write into rings of its parent. */
void process_map_private(void *map, size_t bytes)
{
	madvise(map, bytes, MADV_DONTFORK);
}

/* --- fork --- */

static void fork_prepare(void)
{
	if (fork_hooks.prepare != NULL)
		fork_hooks.prepare();
	pthread_mutex_lock(&instance_lock);
	if (instance != NULL)
		pthread_mutex_lock(&instance->lock);
}

static void fork_parent(void)
{
	if (instance != NULL)
		pthread_mutex_unlock(&instance->lock);
	pthread_mutex_unlock(&instance_lock);
	if (fork_hooks.parent != NULL)
		fork_hooks.parent();
}

static void close_and_forget(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * What would make others believe that the parent is still there, or hold the port after all have ended, is closed: the
 * connection, the vault, the socket. The struct stays for contexts that the child inherited.
 */
static void fork_child(void)
{
	struct process *p = instance;

	if (p != NULL) {
		atomic_store(&p->foreign, true);
		close_and_forget(&p->control);
		close_and_forget(&p->wait_fd);
		close_and_forget(&p->vault[0]);
		close_and_forget(&p->vault[1]);
		close_and_forget(&p->udp);
		for (unsigned s = 0; s < IPC_SLOTS; s++) {
			close_and_forget(&p->peers[s].memfd);
			close_and_forget(&p->peers[s].pidfd);
		}
		instance = NULL;
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&instance_lock);
	if (fork_hooks.child != NULL)
		fork_hooks.child();
}

void process_fork_hooks_set(const struct process_fork_hooks *hooks)
{
	pthread_mutex_lock(&instance_lock);
	fork_hooks = *hooks;
	pthread_mutex_unlock(&instance_lock);
}

/* --- making and ending --- */

int process_table_open(struct process *p, int fd)
{
	struct netdev_shared *table, *before = atomic_load(&p->netdev);
	int err = netdev_shared_open(fd, false, &table);

	close(fd);
	if (err != BASE_OK) {
		base_warn("the broker's table of devices cannot be read: %s", base_err_text(err));
		return err;
	}
	if (before != NULL && p->old_table_count == PROCESS_OLD_TABLES_MAX) {
		netdev_shared_close(table);
		return BASE_ERR_NOMEM;
	}
	atomic_store_explicit(&p->netdev, table, memory_order_release);
	if (before != NULL)
		p->old_tables[p->old_table_count++] = before;
	return BASE_OK;
}

static int wake_page_create(struct process *p)
{
	p->wake_memfd = memfd_create("softverbs-wake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p->wake_memfd < 0 || ftruncate(p->wake_memfd, IPC_WAKE_BYTES) != 0 ||
		fallocate(p->wake_memfd, 0, 0, IPC_WAKE_BYTES) != 0 ||
		fcntl(p->wake_memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return BASE_ERR_NOMEM;
	void *map = mmap(NULL, IPC_WAKE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->wake_memfd, 0);
	if (map == MAP_FAILED)
		return BASE_ERR_NOMEM;
	process_map_private(map, IPC_WAKE_BYTES);
	p->wake = map;
	p->wake->magic = IPC_WAKE_MAGIC;
	p->wake->version = IPC_WAKE_VERSION;
	return BASE_OK;
}

static void process_free(struct process *p)
{
	int *all[] = { &p->wake_memfd, &p->wake_event, &p->pidfd, &p->udp, &p->queue_event, &p->timer, &p->control, &p->wait_fd,
		&p->vault[0], &p->vault[1], &p->export, &p->epoll };

	while (p->first != NULL) {
		struct process_event *event = p->first;

		p->first = event->next;
		process_event_free(event);
	}
	process_cm_free(p);
	for (unsigned s = 0; s < IPC_SLOTS; s++) {
		close_and_forget(&p->peers[s].memfd);
		close_and_forget(&p->peers[s].pidfd);
	}
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		close_and_forget(all[i]);
	if (p->wake != NULL)
		munmap(p->wake, IPC_WAKE_BYTES);
	for (unsigned i = 0; i < p->old_table_count; i++)
		netdev_shared_close(p->old_tables[i]);
	netdev_shared_close(atomic_load(&p->netdev));
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* The answer to HELLO, which may take a while. */
static int answer_wait(int fd, struct ipc_message *m, struct ipc_fds *fds)
{
	uint64_t now = base_clock_now(), deadline = now + PROCESS_WELCOME_NS;
	uint8_t buf[IPC_MESSAGE_MAX];

	for (;;) {
		int err = ipc_receive(fd, false, buf, m, fds);

		if (err == BASE_OK && m->type != IPC_WELCOME && m->type != IPC_REFUSED) {
			ipc_fds_close(fds);
			return BASE_ERR_MALFORMED;
		}
		if (err != BASE_ERR_AGAIN)
			return err;
		now = base_clock_now();
		if (now >= deadline)
			return BASE_ERR_TIMEDOUT;
		struct pollfd p = { .fd = fd, .events = POLLIN };
		poll(&p, 1, (int)((deadline - now) / BASE_MSEC + 1));
	}
}

static int welcomed(struct process *p, int fd, const struct ipc_welcome *welcome, struct ipc_fds *fds)
{
	int err = BASE_ERR_MALFORMED;

	if (welcome->slot < IPC_SLOT_FIRST || fds->count != (welcome->wire ? 4u : 3u))
		goto fail;
	p->slot = welcome->slot;
	p->incarnation = welcome->incarnation;
	p->wire = welcome->wire;
	snprintf(p->reason, sizeof(p->reason), "%s", welcome->reason);
	err = process_table_open(p, fds->fd[0]);
	fds->fd[0] = -1;
	if (err != BASE_OK)
		goto fail;
	if (p->config.gids != CONFIG_GIDS_ALL && (uint32_t)p->config.gids != netdev_shared_profile(p->netdev))
		base_warn("the broker that runs was started with other GID tables than SOFTVERBS_GIDS wants here; they stay as they are "
			"until it ends (when no program needs it)");
	p->vault[0] = fds->fd[1];
	p->vault[1] = fds->fd[2];
	if (welcome->wire)
		p->udp = fds->fd[3];
	fds->count = 0;
	if (p->udp >= 0 && p->config.rcvbuf != 0) {
		int half = (int)(p->config.rcvbuf / 2); /* the kernel doubles what it is told */

		setsockopt(p->udp, SOL_SOCKET, SO_RCVBUF, &half, sizeof(half));
	}
	p->control = fd;
	p->state = PROCESS_CONNECTED;
	return process_watch(p, fd, PROCESS_TAG_CONTROL, 0);
fail:
	ipc_fds_close(fds);
	return err;
}

/*
 * HELLO carries descriptors. The kernel lets a user have only so many in flight (ETOOMANYREFS), and nothing tells when they have
 * become fewer: while many programs start together it takes a moment.
 */
static int hello_say(struct process *p, int fd)
{
	uint64_t deadline = base_clock_now() + PROCESS_HELLO_NS;
	int err, cause;

	for (int pause = 1;; pause = pause < PROCESS_HELLO_PAUSE_MS / 2 ? pause * 2 : PROCESS_HELLO_PAUSE_MS) {
		err = process_hello_send(p, fd, false);
		cause = errno;
		if (err != BASE_ERR_AGAIN || base_clock_now() >= deadline)
			break;
		poll(NULL, 0, pause);
	}
	if (err != BASE_ERR_AGAIN)
		return err;
	if (cause == ETOOMANYREFS)
		base_error("too many file descriptors of this user are on their way between processes (ETOOMANYREFS); start fewer "
			"RDMA programs at a time or raise the limit (ulimit -n)");
	else
		base_error("the broker takes no message now (%s); end softverbsd of your user and try again", strerror(cause));
	return BASE_ERR_BUSY;
}

/* One connection and its answer. BASE_ERR_GONE: the broker ended meanwhile. */
static int join_once(struct process *p)
{
	struct ipc_message m;
	struct ipc_fds fds;
	int fd, err = ipc_broker_connect(p->config.broker, PROCESS_CONNECT_SECONDS, &fd);

	if (err != BASE_OK)
		return err;
	err = hello_say(p, fd);
	if (err == BASE_OK)
		err = answer_wait(fd, &m, &fds);
	if (err == BASE_OK && m.type == IPC_REFUSED) {
		base_error("the broker refuses this process: %s", m.refused.reason);
		close(fd);
		return m.refused.error;
	}
	if (err == BASE_OK)
		err = welcomed(p, fd, &m.welcome, &fds);
	if (err != BASE_OK && p->control != fd)
		close(fd);
	if (err == BASE_ERR_TIMEDOUT)
		base_error("the broker does not answer; end softverbsd of your user and try again");
	else if (err == BASE_ERR_NOMEM)
		base_error("no file descriptor or memory is left for the connection to the broker; raise the limit (ulimit -n)");
	else if (err != BASE_OK && err != BASE_ERR_GONE && err != BASE_ERR_BUSY)
		base_error("the broker's answer makes no sense (%s); use libraries and softverbsd of one release", base_err_text(err));
	return err;
}

static int process_create(struct process **out)
{
	struct process *p = calloc(1, sizeof(*p));
	int err = BASE_ERR_NOMEM;

	if (p == NULL)
		return err;
	p->references = 1;
	pthread_mutex_init(&p->lock, NULL);
	p->udp = p->control = p->wait_fd = p->vault[0] = p->vault[1] = p->export = p->wake_memfd = -1;
	for (unsigned s = 0; s < IPC_SLOTS; s++)
		p->peers[s].memfd = p->peers[s].pidfd = -1;
	config_load(&p->config); /* what is wrong has been said; the rest counts */
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	p->queue_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->wake_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	p->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (p->pidfd < 0) /* valgrind does not know the call; the broker makes a pidfd out of this */
		p->pidfd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->epoll < 0 || p->queue_event < 0 || p->wake_event < 0 || p->timer < 0 || p->pidfd < 0 ||
		wake_page_create(p) != BASE_OK ||
		process_watch(p, p->queue_event, PROCESS_TAG_QUEUE, 0) != BASE_OK ||
		process_watch(p, p->timer, PROCESS_TAG_TIMER, 0) != BASE_OK) {
		base_error("no memory or file descriptors are left for RDMA in this process; raise the limit (ulimit -n)");
		goto fail;
	}
	err = BASE_ERR_GONE;
	for (unsigned i = 0; i < PROCESS_TRIES && err == BASE_ERR_GONE; i++)
		err = join_once(p);
	if (err == BASE_ERR_GONE) {
		base_error("the broker ends whenever this process connects; run softverbsd --foreground to see why");
		err = BASE_ERR_NODEV;
	}
	if (err != BASE_OK)
		goto fail;
	*out = p;
	return BASE_OK;
fail:
	process_free(p);
	return err;
}

int process_get(struct process **out)
{
	int cancel, err = BASE_OK;

	/* Connecting and closing meet cancellation points; nobody may leave with the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&instance_lock);
	if (!fork_registered)
		fork_registered = pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
	if (instance != NULL)
		instance->references++;
	else
		err = process_create(&instance);
	if (err == BASE_OK)
		*out = instance;
	pthread_mutex_unlock(&instance_lock);
	pthread_setcancelstate(cancel, NULL);
	return err;
}

void process_put(struct process *p)
{
	int cancel;

	/* Contexts that a fork child inherited keep the struct: what is in it belongs to the parent. */
	if (p == NULL || atomic_load(&p->foreign))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&instance_lock);
	if (--p->references == 0) {
		instance = NULL;
		process_free(p);
	}
	pthread_mutex_unlock(&instance_lock);
	pthread_setcancelstate(cancel, NULL);
}

/* --- what it knows --- */

bool process_is_foreign(const struct process *p)
{
	return atomic_load(&p->foreign);
}

const struct config *process_config(const struct process *p)
{
	return &p->config;
}

uint8_t process_slot(const struct process *p)
{
	return p->slot;
}

int process_udp_socket(const struct process *p)
{
	return p->udp;
}

bool process_wire_available(const struct process *p, const char **reason)
{
	if (reason != NULL)
		*reason = p->reason;
	return p->wire;
}

struct ipc_wake *process_wake_page(const struct process *p)
{
	return p->wake;
}

int process_wake_fd(const struct process *p)
{
	return p->wake_event;
}

static const struct netdev_shared *table_now(const struct process *p)
{
	return atomic_load_explicit(&p->netdev, memory_order_acquire);
}

void process_netdev_read(const struct process *p, struct netdev_table *out)
{
	netdev_shared_read(table_now(p), out);
}

int process_netdev_device(const struct process *p, unsigned device, struct netdev_device *out)
{
	return netdev_shared_device(table_now(p), device, out);
}

int process_netdev_gid(const struct process *p, unsigned device, unsigned index, struct netdev_gid *out)
{
	return netdev_shared_gid(table_now(p), device, index, out);
}

uint64_t process_netdev_generation(const struct process *p)
{
	return netdev_shared_generation(table_now(p));
}
