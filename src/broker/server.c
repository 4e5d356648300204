/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Start: take the name (losing that race is no error), read the interfaces, and settle. If nobody holds a vault of this user, a
 * new one is made at once. Else there are survivors of an earlier broker: the first that comes back brings the vault, with the
 * registry that says who else is alive and has which slot; until then HELLOs wait. If none comes within SERVER_SETTLE_NS (all
 * survivors are stopped, or only a forked child holds the vault) the broker goes on with a new registry and without a wire.
 *
 * Awaited slots: their processes are found again by pid and start time, watched by pidfd, and kept until they come back or die.
 * One whose pid is unknown (another pid namespace) is given up after SERVER_AWAIT_NS.
 */
#include "broker/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/random.h"
#include "broker/core.h"
#include "broker/gsi_raw.h"
#include "broker/manager.h"
#include "broker/member.h"
#include "broker/output.h"
#include "broker/pairmem.h"
#include "broker/vault.h"
#include "netdev/scan.h"

#ifndef BROKER_VERSION
#define BROKER_VERSION "unknown"
#endif

#define SERVER_SETTLE_NS (2 * BASE_SEC)
#define SERVER_AWAIT_NS (5 * BASE_SEC)
#define SERVER_RESCAN_NS (50 * BASE_MSEC) /* at least between two scans of the interfaces */
#define SERVER_EVENTS 64
#define SERVER_MESSAGES 64 /* of one client in a row */

enum server_tag { TAG_LISTENER, TAG_SIGNAL, TAG_NETDEV, TAG_NEIGHBOURS, TAG_HOST, TAG_RAW, TAG_CLIENT, TAG_PROCESS };

struct server_client {
	int fd; /* -1: none */
	struct broker_output output;
	bool overflow; /* give it up after this step */
	bool closing;  /* the core has forgotten it: close when all is sent */
};

struct server {
	int epoll, listener, signals, monitor, raw;
	int neighbours; /* notices about them, while somebody waits for one; -1 else */
	int watch[IPC_SLOTS]; /* pidfds that are polled, -1: none */
	struct server_client clients[BROKER_CLIENTS_MAX];
	struct broker *core;
	struct broker_manager *manager;
	struct broker_vault vault;
	struct netdev_table table;
	struct netdev_scan scan;
	uint64_t started, settle_at, await_at, idle_since, scanned_at;
	bool rescan;
	char port_reason[IPC_REASON_MAX];
};

static int server_watch(struct server *s, int fd, uint32_t events, enum server_tag tag, unsigned number)
{
	struct epoll_event event = { .events = events, .data.u64 = (uint64_t)tag << 32 | number };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? BASE_OK : base_err_from_errno(errno);
}

/* --- the core's ops --- */

static void client_close(struct server *s, unsigned client)
{
	struct server_client *c = &s->clients[client];

	broker_output_clear(&c->output);
	close(c->fd);
	*c = (struct server_client){ .fd = -1 };
}

static void client_events(struct server *s, unsigned client)
{
	struct server_client *c = &s->clients[client];
	bool waits = !broker_output_is_empty(&c->output);
	struct epoll_event event = { .events = (c->closing ? 0 : EPOLLIN) | (waits ? EPOLLOUT : 0),
		.data.u64 = (uint64_t)TAG_CLIENT << 32 | client };

	epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &event);
}

static void op_send(void *context, unsigned client, const struct ipc_message *message, const struct ipc_fds *fds)
{
	struct server *s = context;
	struct server_client *c = &s->clients[client];

	if (c->overflow || c->closing)
		return;
	bool waited = !broker_output_is_empty(&c->output);
	/* Strays are lossy: they never wait behind something. */
	if (message->type == IPC_STRAY && waited)
		return;
	int err = broker_output_send(&c->output, c->fd, message, fds);
	if (err == BASE_ERR_NOMEM)
		c->overflow = true;
	else if (!waited && !broker_output_is_empty(&c->output))
		client_events(s, client);
	/* BASE_ERR_GONE is seen as an end of file. */
}

static void op_disconnect(void *context, unsigned client)
{
	struct server *s = context;
	struct server_client *c = &s->clients[client];

	if (c->overflow || broker_output_is_empty(&c->output)) {
		client_close(s, client);
		return;
	}
	c->closing = true;
	client_events(s, client);
}

static int op_process_watch(void *context, uint8_t slot, int *pidfd, uint32_t pid)
{
	struct server *s = context;
	struct stat st;
	int own = -1;

	/* Only a pidfd or a /proc directory takes this call; signal 0 sends nothing. ESRCH: it has just ended. */
	if (syscall(SYS_pidfd_send_signal, *pidfd, 0, NULL, 0) != 0 && errno != ESRCH && errno != EPERM)
		return BASE_ERR_INVAL;
	if (fstat(*pidfd, &st) == 0 && S_ISDIR(st.st_mode) && pid != 0)
		own = (int)syscall(SYS_pidfd_open, pid, 0);
	int copy = fcntl(own >= 0 ? own : *pidfd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0 || server_watch(s, copy, EPOLLIN, TAG_PROCESS, slot) != BASE_OK) {
		if (copy >= 0)
			close(copy);
		if (own >= 0)
			close(own);
		return BASE_ERR_INVAL;
	}
	if (own >= 0) {
		close(*pidfd);
		*pidfd = own;
	}
	s->watch[slot] = copy;
	return BASE_OK;
}

static void op_process_unwatch(void *context, uint8_t slot)
{
	struct server *s = context;

	if (s->watch[slot] >= 0) {
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->watch[slot], NULL);
		close(s->watch[slot]);
	}
	s->watch[slot] = -1;
}

/* Field 22 of /proc/PID/stat; the command in field 2 may hold anything, so count from its last parenthesis. */
static uint64_t op_process_birth(void *context, uint32_t pid)
{
	char path[64], text[1024];
	unsigned long long birth = 0;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	const char *at = strrchr(text, ')');
	if (at == NULL ||
		sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &birth) != 1)
		return 0;
	return birth;
}

static void op_fd_close(void *context, int fd)
{
	close(fd);
}

static void op_slot_prepare(void *context, uint8_t slot)
{
	struct server *s = context;

	if (s->vault.wire)
		broker_group_refresh(s->vault.sockets[slot]);
}

static void op_cm_message(void *context, uint8_t slot, const struct ipc_message *message)
{
	struct server *s = context;

	if (message->type == IPC_CM_CALL)
		broker_ucma_call(broker_manager_ucma(s->manager), slot, &message->cm);
	else
		broker_ucma_adopt(broker_manager_ucma(s->manager), slot, &message->cm);
}

static void op_cm_stat(void *context, struct ipc_stat_cm *cm, struct ipc_stat_gsi *gsi)
{
	struct server *s = context;
	const struct cm_stats *stats = broker_ucma_stats(broker_manager_ucma(s->manager));

	*cm = (struct ipc_stat_cm){ stats->ids, stats->connections, stats->listeners, stats->timewait };
	broker_manager_stat(s->manager, gsi);
}

static void op_slot_freed(void *context, uint8_t slot)
{
	struct server *s = context;

	broker_ucma_gone(broker_manager_ucma(s->manager), slot);
}

static void op_welcome_fds(void *context, enum ipc_role role, uint8_t slot, struct ipc_fds *out)
{
	struct server *s = context;

	out->count = 0;
	out->fd[out->count++] = s->vault.netdev_reader;
	if (role == IPC_ROLE_OBSERVER)
		return;
	out->fd[out->count++] = s->vault.ends[0];
	out->fd[out->count++] = s->vault.ends[1];
	if (s->vault.wire)
		out->fd[out->count++] = s->vault.sockets[slot];
}

static void server_settled(struct server *s);

static void op_vault_offered(void *context, const int ends[2])
{
	struct server *s = context;

	if (broker_vault_adopt(&s->vault, ends) == BASE_OK)
		server_settled(s);
}

static const struct broker_ops ops = {
	.send = op_send,
	.disconnect = op_disconnect,
	.process_watch = op_process_watch,
	.process_unwatch = op_process_unwatch,
	.process_birth = op_process_birth,
	.pair_create = broker_pairmem_create,
	.pair_map = broker_pairmem_map,
	.pair_unmap = broker_pairmem_unmap,
	.fd_close = op_fd_close,
	.slot_prepare = op_slot_prepare,
	.cm_message = op_cm_message,
	.cm_stat = op_cm_stat,
	.slot_freed = op_slot_freed,
	.welcome_fds = op_welcome_fds,
	.vault_offered = op_vault_offered,
};

static void manager_send(void *context, uint8_t slot, const struct ipc_message *message)
{
	struct server *s = context;

	broker_slot_send(s->core, slot, message);
}

static void manager_stray(void *context, const struct ipc_stray *stray)
{
	struct server *s = context;

	broker_stray(s->core, stray);
}

static int manager_member(void *context, uint8_t slot, const struct wire_gid *mgid, uint32_t ifindex, bool enter)
{
	struct server *s = context;

	return s->vault.wire ? broker_member_set(s->vault.sockets[slot], mgid, ifindex, enter) : ENODEV;
}

static bool manager_listen(void *context)
{
	struct server *s = context;

	if (s->neighbours >= 0)
		return true;
	s->neighbours = netdev_notices_open();
	if (s->neighbours >= 0 && server_watch(s, s->neighbours, EPOLLIN, TAG_NEIGHBOURS, 0) == BASE_OK)
		return true;
	if (s->neighbours >= 0)
		close(s->neighbours);
	s->neighbours = -1;
	return false;
}

static const struct broker_manager_ops manager_ops = { manager_send, manager_stray, manager_member, manager_listen };

/* --- interfaces --- */

static void server_scan(struct server *s)
{
	uint64_t changed;

	s->rescan = false;
	s->scanned_at = base_clock_now();
	if (netdev_scan(&s->scan) != BASE_OK) {
		base_warn("the network interfaces cannot be read (rtnetlink); devices stay as they are");
		return;
	}
	if (!netdev_table_update(&s->table, &s->scan, &changed) || s->vault.netdev == NULL)
		return;
	netdev_shared_publish(s->vault.netdev, &s->table);
	broker_netdev_changed(s->core, s->table.generation, changed);
	broker_ucma_netdev_changed(broker_manager_ucma(s->manager), changed);
}

static void neighbour_changed(void *context, uint32_t ifindex, const struct wire_gid *address)
{
	struct server *s = context;

	broker_ucma_neighbour_changed(broker_manager_ucma(s->manager), ifindex, address);
}

/* Nobody waits any more: the next who does listens again. */
static void neighbours_close(struct server *s)
{
	if (s->neighbours < 0 || broker_ucma_is_asking(broker_manager_ucma(s->manager)))
		return;
	close(s->neighbours);
	s->neighbours = -1;
}

/* --- settling --- */

/* The vault is there: go on with the table and the slots in it. */
static void server_settled(struct server *s)
{
	uint64_t changed;

	s->settle_at = BASE_NEVER;
	broker_manager_socket_set(s->manager, s->vault.wire ? s->vault.sockets[IPC_SLOT_BROKER] : -1);
	netdev_shared_read(s->vault.netdev, &s->table);
	netdev_table_update(&s->table, &s->scan, &changed);
	netdev_shared_publish(s->vault.netdev, &s->table);
	broker_settle(s->core, s->vault.registry, s->vault.wire, s->vault.reason);
	broker_netdev_changed(s->core, s->table.generation, ~0ull);
	if (s->vault.wire &&
		server_watch(s, s->vault.sockets[IPC_SLOT_BROKER], EPOLLIN, TAG_HOST, 0) != BASE_OK)
		base_warn("slot 0 cannot be watched");

	s->await_at = BASE_NEVER;
	for (unsigned slot = IPC_SLOT_FIRST; slot <= IPC_SLOT_LAST; slot++) {
		uint32_t pid;
		uint64_t birth;

		if (!broker_slot_is_awaited(s->core, (uint8_t)slot, &pid, &birth))
			continue;
		int pidfd = pid != 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
		/* The pid may belong to another process by now; the start time tells, and is read after the pidfd is open. */
		if (pid != 0 && (pidfd < 0 || (birth != 0 && op_process_birth(s, pid) != birth)))
			broker_process_gone(s->core, (uint8_t)slot);
		else if (pidfd < 0 || op_process_watch(s, (uint8_t)slot, &pidfd, pid) != BASE_OK)
			s->await_at = base_clock_now() + SERVER_AWAIT_NS;
		if (pidfd >= 0)
			close(pidfd);
	}
}

static int server_settle(struct server *s, int alive, const char *reason)
{
	uint64_t random;
	int err;

	base_random_bytes(&random, sizeof(random));
	err = broker_vault_create(&s->vault, alive, random, reason);
	if (err != BASE_OK) {
		base_error("the broker cannot set up its sockets: %s; a higher limit of open files (ulimit -n) may help",
			base_err_text(err));
		return err;
	}
	server_settled(s);
	return BASE_OK;
}

static int server_settle_start(struct server *s)
{
	int alive, err = broker_vault_alive(&alive);

	if (err == BASE_ERR_EXISTS) {
		s->settle_at = base_clock_now() + SERVER_SETTLE_NS;
		return BASE_OK;
	}
	if (err != BASE_OK) {
		base_error("the broker cannot bind its socket names: %s", base_err_text(err));
		return err;
	}
	return server_settle(s, alive, broker_group_probe(s->port_reason, sizeof(s->port_reason)) == BASE_OK ? NULL : s->port_reason);
}

/* No survivor came. */
static int server_settle_late(struct server *s)
{
	return server_settle(s, -1, "UDP port 4791 is held by a process of yours from an earlier broker that does not answer "
		"(stopped?): only processes of this host can be reached; end that process to reach others");
}

static void server_await_late(struct server *s)
{
	uint32_t pid;
	uint64_t birth;

	s->await_at = BASE_NEVER;
	for (unsigned slot = IPC_SLOT_FIRST; slot <= IPC_SLOT_LAST; slot++)
		if (broker_slot_is_awaited(s->core, (uint8_t)slot, &pid, &birth) && s->watch[slot] < 0)
			broker_process_gone(s->core, (uint8_t)slot);
}

/* --- clients --- */

static void server_accept(struct server *s)
{
	if (s->vault.made)
		broker_vault_alive_later(&s->vault);
	for (unsigned i = 0; i < SERVER_MESSAGES; i++) {
		uint32_t pid;
		int fd, client, err = ipc_accept(s->listener, &fd, &pid);

		if (err == BASE_ERR_PERM)
			continue;
		if (err == BASE_ERR_NOMEM)
			base_warn("the broker is out of file descriptors; raise its limit (ulimit -n) and start it again");
		if (err != BASE_OK)
			return;
		client = broker_client_add(s->core, pid);
		if (client < 0) {
			struct ipc_message m = { .type = IPC_REFUSED, .refused = { BASE_ERR_NOMEM, "too many connections to the broker" } };

			ipc_send(fd, &m, NULL);
			close(fd);
			continue;
		}
		s->clients[client] = (struct server_client){ .fd = fd };
		if (server_watch(s, fd, EPOLLIN, TAG_CLIENT, (unsigned)client) != BASE_OK) {
			broker_client_gone(s->core, (unsigned)client);
			client_close(s, (unsigned)client);
		}
	}
}

static void server_client_read(struct server *s, unsigned client)
{
	uint8_t buf[IPC_MESSAGE_MAX];
	struct ipc_message message;
	struct ipc_fds fds;

	for (unsigned i = 0; i < SERVER_MESSAGES; i++) {
		struct server_client *c = &s->clients[client];

		if (c->fd < 0 || c->closing || c->overflow)
			return;
		int err = ipc_receive(c->fd, true, buf, &message, &fds);
		if (err == BASE_ERR_AGAIN)
			return;
		if (err == BASE_ERR_GONE || err == BASE_ERR_IO) {
			broker_client_gone(s->core, client);
			client_close(s, client);
			return;
		}
		if (err != BASE_OK) {
			broker_client_refuse(s->core, client, err);
			return;
		}
		if (broker_step(s->core, client, &message, &fds) != BASE_OK)
			return;
	}
}

static void server_client(struct server *s, unsigned client, uint32_t events)
{
	struct server_client *c = &s->clients[client];

	if (c->fd < 0)
		return;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR) && !broker_output_is_empty(&c->output)) {
		int err = broker_output_flush(&c->output, c->fd);

		if (c->closing && err != BASE_ERR_AGAIN) {
			client_close(s, client);
			return;
		}
		client_events(s, client);
	} else if (c->closing && events & (EPOLLHUP | EPOLLERR)) {
		client_close(s, client);
		return;
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		server_client_read(s, client);
}

/* The slot may have changed hands since the event was made: look at the pidfd that is watched now. */
static void server_process(struct server *s, uint8_t slot)
{
	struct pollfd p = { .fd = s->watch[slot], .events = POLLIN };

	if (p.fd >= 0 && poll(&p, 1, 0) == 1)
		broker_process_gone(s->core, slot);
}

/* Those that do not read what they are sent. */
static void server_overflows(struct server *s)
{
	for (unsigned c = 0; c < BROKER_CLIENTS_MAX; c++)
		if (s->clients[c].fd >= 0 && s->clients[c].overflow)
			broker_client_suspend(s->core, c);
}

/* --- the loop --- */

/* Peers of dead processes are owed their DREQs, repeated until they are answered. */
static bool server_is_idle(const struct server *s)
{
	return broker_is_idle(s->core) && broker_ucma_is_idle(broker_manager_ucma(s->manager));
}

static uint64_t server_deadline(struct server *s, const struct broker_server_options *options, uint64_t now)
{
	uint64_t at = s->settle_at < s->await_at ? s->settle_at : s->await_at;

	uint64_t cm_at = broker_ucma_deadline(broker_manager_ucma(s->manager));

	if (cm_at < at)
		at = cm_at;
	if (s->rescan && s->scanned_at + SERVER_RESCAN_NS < at)
		at = s->scanned_at + SERVER_RESCAN_NS;
	if (!server_is_idle(s) || options->idle_seconds == 0)
		s->idle_since = BASE_NEVER;
	else if (s->idle_since == BASE_NEVER)
		s->idle_since = now;
	if (s->idle_since != BASE_NEVER && s->idle_since + options->idle_seconds * BASE_SEC < at)
		at = s->idle_since + options->idle_seconds * BASE_SEC;
	return at;
}

static int server_timeout_ms(uint64_t at, uint64_t now)
{
	if (at == BASE_NEVER)
		return -1;
	return at <= now ? 0 : at - now > 60000 * BASE_MSEC ? 60000 : (int)((at - now + BASE_MSEC - 1) / BASE_MSEC);
}

/* True: end. */
static bool server_timers(struct server *s, const struct broker_server_options *options, int *result)
{
	uint64_t now = base_clock_now();

	broker_uptime_set(s->core, now - s->started);
	if (now >= s->settle_at) {
		*result = server_settle_late(s);
		if (*result != BASE_OK)
			return true;
	}
	if (now >= s->await_at)
		server_await_late(s);
	broker_ucma_tick(broker_manager_ucma(s->manager));
	if (s->rescan && now >= s->scanned_at + SERVER_RESCAN_NS)
		server_scan(s);
	if (s->idle_since == BASE_NEVER || now < s->idle_since + options->idle_seconds * BASE_SEC)
		return false;
	/* Whoever connected at the last moment is served. */
	server_accept(s);
	return server_is_idle(s);
}

static int server_loop(struct server *s, const struct broker_server_options *options)
{
	struct epoll_event events[SERVER_EVENTS];
	int result = BASE_OK;

	for (;;) {
		uint64_t now = base_clock_now();
		int n = epoll_wait(s->epoll, events, SERVER_EVENTS, server_timeout_ms(server_deadline(s, options, now), now));

		if (n < 0 && errno != EINTR)
			return BASE_ERR_IO;
		for (int i = 0; i < n; i++) {
			unsigned number = (uint32_t)events[i].data.u64;

			switch ((enum server_tag)(events[i].data.u64 >> 32)) {
			case TAG_LISTENER:
				server_accept(s);
				break;
			case TAG_SIGNAL:
				return BASE_OK;
			case TAG_NETDEV:
				s->rescan = netdev_monitor_drain(s->monitor) || s->rescan;
				break;
			case TAG_NEIGHBOURS:
				if (s->neighbours >= 0)
					netdev_notices_read(s->neighbours, neighbour_changed, s);
				break;
			case TAG_HOST:
				broker_manager_read(s->manager);
				break;
			case TAG_RAW:
				broker_manager_read_raw(s->manager);
				break;
			case TAG_CLIENT:
				server_client(s, number, events[i].events);
				break;
			case TAG_PROCESS:
				server_process(s, (uint8_t)number);
				break;
			}
			server_overflows(s);
		}
		if (server_timers(s, options, &result))
			return result;
		neighbours_close(s);
	}
}

static int server_open(struct server *s)
{
	sigset_t ends;
	int err = ipc_name_bind(IPC_NAME_BROKER, true, &s->listener);

	if (err == BASE_ERR_EXISTS)
		return err;
	if (err != BASE_OK) {
		base_error("the broker cannot bind its socket name: %s", base_err_text(err));
		return err;
	}
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	s->monitor = netdev_monitor_open();
	if (s->epoll < 0 || s->signals < 0 || server_watch(s, s->listener, EPOLLIN, TAG_LISTENER, 0) != BASE_OK ||
		server_watch(s, s->signals, EPOLLIN, TAG_SIGNAL, 0) != BASE_OK) {
		base_error("the broker cannot start: no epoll or signalfd");
		return BASE_ERR_IO;
	}
	if (s->monitor < 0 || server_watch(s, s->monitor, EPOLLIN, TAG_NETDEV, 0) != BASE_OK)
		base_warn("changes of the network interfaces cannot be watched (rtnetlink); devices stay as they are now");
	return BASE_OK;
}

int broker_server_run(const struct broker_server_options *options)
{
	const struct broker_identity identity = { (uint32_t)getpid(), (uint32_t)geteuid(), BROKER_VERSION };
	struct server *s = calloc(1, sizeof(*s));
	int err = BASE_ERR_NOMEM;

	if (s == NULL) {
		base_error("the broker cannot start: out of memory");
		return err;
	}
	s->epoll = s->listener = s->signals = s->monitor = s->raw = s->neighbours = -1;
	for (unsigned i = 0; i < IPC_SLOTS; i++)
		s->watch[i] = -1;
	for (unsigned i = 0; i < BROKER_CLIENTS_MAX; i++)
		s->clients[i].fd = -1;
	s->started = base_clock_now();
	s->settle_at = s->await_at = s->idle_since = BASE_NEVER;
	err = server_open(s);
	if (err != BASE_OK)
		goto done;
	s->core = broker_create(&ops, s, &identity);
	s->manager = broker_manager_create(&manager_ops, s, &s->table, options->cm_fast);
	if (s->core == NULL || s->manager == NULL) {
		base_error("the broker cannot start: out of memory");
		err = BASE_ERR_NOMEM;
		goto done;
	}
	s->scan.profile = options->gids;
	s->raw = broker_gsi_raw_open();
	if (s->raw >= 0 && server_watch(s, s->raw, EPOLLIN, TAG_RAW, 0) != BASE_OK)
		base_warn("frames of RoCE v1 cannot be watched");
	broker_manager_raw_set(s->manager, s->raw, options->cm_roce_v1 ? WIRE_GID_ROCE_V1 : WIRE_GID_ROCE_V2);
	server_scan(s);
	err = server_settle_start(s);
	if (err != BASE_OK)
		goto done;
	options->ready(options->context);
	err = server_loop(s, options);
done:
	broker_destroy(s->core);
	broker_manager_destroy(s->manager);
	for (unsigned i = 0; i < BROKER_CLIENTS_MAX; i++)
		if (s->clients[i].fd >= 0)
			client_close(s, i);
	broker_vault_close(&s->vault);
	int *all[] = { &s->listener, &s->signals, &s->monitor, &s->raw, &s->neighbours, &s->epoll };
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (*all[i] >= 0)
			close(*all[i]);
	free(s);
	return err;
}
