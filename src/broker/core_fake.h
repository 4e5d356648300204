/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A world for the core without sockets: descriptors are numbers that are counted, what is sent is kept or only checked. For
 * core_test.c and the fuzz target; defines everything static, so include it once per program.
 *
 * It aborts when the core closes a descriptor twice, sends one that is not open, sends to a client that is gone, or sends what a
 * client's decoder would refuse.
 */
#ifndef BROKER_CORE_FAKE_H
#define BROKER_CORE_FAKE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "broker/core.h"

#define FAKE_FDS 4096
#ifndef FAKE_LOG
#define FAKE_LOG 4096 /* messages that are kept; the fuzzer keeps none */
#endif

struct fake_sent {
	unsigned client;
	struct ipc_message message;
	unsigned fds;
};

struct fake {
	struct broker *core;
	struct broker_registry registry;
	bool open[FAKE_FDS], is_pidfd[FAKE_FDS];
	unsigned next_fd, open_count;
	bool connected[BROKER_CLIENTS_MAX];
	bool watched[IPC_SLOTS];
	unsigned mapped, prepared[IPC_SLOTS];
	bool pair_fails, settle_on_vault;
	unsigned logged;
	struct fake_sent log[FAKE_LOG]; /* the last member: not cleared */
};

#define FAKE_CHECK(what) do { if (!(what)) { fprintf(stderr, "core_fake: %s\n", #what); abort(); } } while (0)

static int fake_fd(struct fake *f)
{
	for (unsigned i = 0; i < FAKE_FDS; i++) {
		unsigned fd = f->next_fd++ % FAKE_FDS;

		if (fd < 3 || f->open[fd])
			continue;
		f->open[fd] = true;
		f->is_pidfd[fd] = false;
		f->open_count++;
		return (int)fd;
	}
	abort();
}

static void fake_fd_close(void *context, int fd)
{
	struct fake *f = context;

	FAKE_CHECK(fd >= 0 && fd < FAKE_FDS && f->open[fd]);
	f->open[fd] = false;
	f->open_count--;
}

static void fake_send(void *context, unsigned client, const struct ipc_message *message, const struct ipc_fds *fds)
{
	struct fake *f = context;
	uint8_t buf[IPC_MESSAGE_MAX];
	struct ipc_message decoded;
	unsigned count = fds != NULL ? fds->count : 0;

	FAKE_CHECK(client < BROKER_CLIENTS_MAX && f->connected[client]);
	for (unsigned i = 0; i < count; i++)
		FAKE_CHECK(fds->fd[i] >= 0 && fds->fd[i] < FAKE_FDS && f->open[fds->fd[i]]);
	ssize_t len = ipc_message_encode(message, buf, sizeof(buf));
	FAKE_CHECK(len > 0 && ipc_message_decode(&decoded, buf, (size_t)len, count, false) == BASE_OK);
	if (f->logged < FAKE_LOG)
		f->log[f->logged++] = (struct fake_sent){ client, *message, count };
}

static void fake_disconnect(void *context, unsigned client)
{
	struct fake *f = context;

	FAKE_CHECK(client < BROKER_CLIENTS_MAX && f->connected[client]);
	f->connected[client] = false;
}

static int fake_process_watch(void *context, uint8_t slot, int *pidfd, uint32_t pid)
{
	struct fake *f = context;

	FAKE_CHECK(f->open[*pidfd] && !f->watched[slot]);
	if (!f->is_pidfd[*pidfd])
		return BASE_ERR_INVAL;
	f->watched[slot] = true;
	return BASE_OK;
}

static void fake_process_unwatch(void *context, uint8_t slot)
{
	struct fake *f = context;

	FAKE_CHECK(f->watched[slot]);
	f->watched[slot] = false;
}

static uint64_t fake_process_birth(void *context, uint32_t pid)
{
	return pid;
}

static int fake_pair_header(struct fake *f, uint8_t low, uint8_t high, uint64_t generation, struct ipc_pair_header **header)
{
	struct ipc_pair_header *h = aligned_alloc(128, (sizeof(*h) + 127) / 128 * 128);

	if (h == NULL)
		abort();
	memset(h, 0, sizeof(*h));
	h->generation = generation;
	h->slot[0] = low;
	h->slot[1] = high;
	f->mapped++;
	*header = h;
	return BASE_OK;
}

static int fake_pair_create(void *context, uint8_t low, uint8_t high, uint64_t generation, int *fd,
	struct ipc_pair_header **header)
{
	struct fake *f = context;

	FAKE_CHECK(low < high && low >= IPC_SLOT_FIRST && high <= IPC_SLOT_LAST);
	if (f->pair_fails)
		return BASE_ERR_NOMEM;
	*fd = fake_fd(f);
	return fake_pair_header(f, low, high, generation, header);
}

static int fake_pair_map(void *context, uint8_t low, uint8_t high, uint64_t generation, int fd, struct ipc_pair_header **header)
{
	struct fake *f = context;

	FAKE_CHECK(low < high && f->open[fd]);
	return f->pair_fails ? BASE_ERR_MALFORMED : fake_pair_header(f, low, high, generation, header);
}

static void fake_pair_unmap(void *context, struct ipc_pair_header *header)
{
	struct fake *f = context;

	f->mapped--;
	free(header);
}

static void fake_cm_message(void *context, uint8_t slot, const struct ipc_message *message)
{
	const struct ipc_message answer = { .type = IPC_CM_ANSWER, .cm = { .id = message->cm.id, .status = ENOSYS } };
	struct fake *f = context;

	if (message->type == IPC_CM_CALL)
		broker_slot_send(f->core, slot, &answer);
}

static void fake_cm_stat(void *context, struct ipc_stat_cm *cm, struct ipc_stat_gsi *gsi)
{
	*cm = (struct ipc_stat_cm){ 4, 3, 2, 1 };
	*gsi = (struct ipc_stat_gsi){ .sent = 6, .drop_address = 7 };
}

static void fake_slot_freed(void *context, uint8_t slot)
{
}

static void fake_slot_prepare(void *context, uint8_t slot)
{
	struct fake *f = context;

	f->prepared[slot]++;
}

static void fake_welcome_fds(void *context, enum ipc_role role, uint8_t slot, struct ipc_fds *out)
{
	struct fake *f = context;

	/* Three that are always open. */
	f->open[0] = f->open[1] = f->open[2] = true;
	*out = (struct ipc_fds){ role == IPC_ROLE_OBSERVER ? 1 : 4, { 0, 1, 2, 0 } };
}

static void fake_vault_offered(void *context, const int vault[2])
{
	struct fake *f = context;

	FAKE_CHECK(f->open[vault[0]] && f->open[vault[1]]);
	if (f->settle_on_vault)
		broker_settle(f->core, &f->registry, true, "");
}

static const struct broker_ops fake_ops = {
	.send = fake_send,
	.disconnect = fake_disconnect,
	.process_watch = fake_process_watch,
	.process_unwatch = fake_process_unwatch,
	.process_birth = fake_process_birth,
	.pair_create = fake_pair_create,
	.pair_map = fake_pair_map,
	.pair_unmap = fake_pair_unmap,
	.fd_close = fake_fd_close,
	.cm_message = fake_cm_message,
	.cm_stat = fake_cm_stat,
	.slot_freed = fake_slot_freed,
	.slot_prepare = fake_slot_prepare,
	.welcome_fds = fake_welcome_fds,
	.vault_offered = fake_vault_offered,
};

static void fake_start(struct fake *f, bool settled)
{
	static const struct broker_identity identity = { 1, 2, "0.0.0" };

	memset(f, 0, offsetof(struct fake, log));
	f->next_fd = 3;
	broker_registry_init(&f->registry, 7);
#ifdef FAKE_CORE /* memory for it: a new mapping each time is most of what a fuzzer's run costs */
	f->core = FAKE_CORE;
	memset(f->core, 0, sizeof(*f->core));
	broker_init(f->core, &fake_ops, f, &identity);
#else
	f->core = broker_create(&fake_ops, f, &identity);
	FAKE_CHECK(f->core != NULL);
#endif
	if (settled)
		broker_settle(f->core, &f->registry, true, "");
}

/* A connection; -1: the core has no room. */
static int fake_connect(struct fake *f, uint32_t pid)
{
	int client = broker_client_add(f->core, pid);

	if (client >= 0) {
		FAKE_CHECK(!f->connected[client]);
		f->connected[client] = true;
	}
	return client;
}

static void fake_hang_up(struct fake *f, unsigned client)
{
	broker_client_gone(f->core, client);
	f->connected[client] = false;
}

/* All that was open is closed, whatever happened before. */
static void fake_stop(struct fake *f)
{
#ifdef FAKE_CORE
	broker_end(f->core);
#else
	broker_destroy(f->core);
#endif
	FAKE_CHECK(f->open_count == 0);
	FAKE_CHECK(f->mapped == 0);
	for (unsigned s = 0; s < IPC_SLOTS; s++)
		FAKE_CHECK(!f->watched[s]);
}

#endif
