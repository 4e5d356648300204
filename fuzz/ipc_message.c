/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The broker's core fed with what clients may send: an input is a list of actions (connect, a message of raw bytes, hang up, the
 * death of a process, settling). core_fake.h aborts on lost or doubled descriptors and on answers that no client could read.
 */
#include <stddef.h>
#include <stdint.h>

#include "broker/core_internal.h"

static struct broker core_memory;
#define FAKE_CORE &core_memory
#define FAKE_LOG 1
#include "broker/core_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum action {
	ACTION_CONNECT,
	ACTION_MESSAGE,
	ACTION_HANG_UP,
	ACTION_DEATH,
	ACTION_SUSPEND,
	ACTION_SETTLE,
	ACTION_MEMORY,
	ACTION_HELLO,
	ACTION_CM,
	ACTIONS
};

static void message(struct fake *f, unsigned client, unsigned fds, const uint8_t *bytes, size_t len)
{
	struct ipc_message m;
	struct ipc_fds handed = { .count = fds };

	int err = ipc_message_decode(&m, bytes, len, fds, true);
	if (err != BASE_OK) {
		broker_client_refuse(f->core, client, err);
		return;
	}
	for (unsigned i = 0; i < fds; i++)
		handed.fd[i] = fake_fd(f);
	f->is_pidfd[handed.fd[0]] = fds >= 3;
	broker_step(f->core, client, &m, &handed);
}

/* A good HELLO, so that the rest is reached; resuming one in four. */
static void hello(struct fake *f, unsigned client, uint8_t byte)
{
	uint8_t slot = byte % 4 == 0 ? 1 + byte / 4 : 0;
	struct ipc_message m = { .type = IPC_HELLO, .hello = { IPC_HELLO_MAGIC, IPC_PROTOCOL, IPC_ROLE_PROCESS, slot != 0, slot,
		slot != 0 ? f->registry.slots[slot].incarnation | 1 : 0, 1, "fuzz" } };
	uint8_t buf[IPC_MESSAGE_MAX];
	ssize_t len = ipc_message_encode(&m, buf, sizeof(buf));

	FAKE_CHECK(len > 0);
	message(f, client, slot != 0 ? 5 : 3, buf, (size_t)len);
}

/* A command, or something kept, of this many bytes: what stands in them is the other target's (ucma.c). */
static void cm_message(struct fake *f, unsigned client, const uint8_t *bytes, size_t len)
{
	const struct ipc_message m = { .type = len % 2 ? IPC_CM_CALL : IPC_CM_ADOPT, .cm = { .id = 1, .len = (uint32_t)len,
		.bytes = bytes } };
	uint8_t buf[IPC_MESSAGE_MAX];
	ssize_t n = ipc_message_encode(&m, buf, sizeof(buf));

	if (n > 0)
		message(f, client, 0, buf, (size_t)n);
}

/* To a slot from the connection manager, in any state of its process. */
static void cm_event(struct fake *f, uint8_t slot, const uint8_t *bytes, size_t len)
{
	const struct ipc_message m = { .type = IPC_CM_EVENT, .cm = { .len = (uint32_t)len, .bytes = bytes } };

	broker_slot_send(f->core, slot, &m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake f;
	bool is_settled = size == 0 || data[0] % 2 == 0;

	fake_start(&f, is_settled);
	f.settle_on_vault = size > 0 && data[0] % 4 == 3;
	for (size_t at = 1; at + 3 <= size;) {
		unsigned action = data[at] % ACTIONS, who = data[at + 1], len = data[at + 2];
		unsigned client = who % BROKER_CLIENTS_MAX;

		at += 3;
		f.logged = 0;
		if (action == ACTION_CONNECT)
			fake_connect(&f, len);
		else if (action == ACTION_DEATH)
			broker_process_gone(f.core, (uint8_t)who);
		else if (action == ACTION_MEMORY)
			f.pair_fails = len % 2;
		else if (action == ACTION_SETTLE && !broker_is_settled(f.core))
			broker_settle(f.core, &f.registry, len % 2, "fuzz");
		if (!f.connected[client])
			continue;
		if (action == ACTION_HANG_UP) {
			fake_hang_up(&f, client);
		} else if (action == ACTION_SUSPEND) {
			broker_client_suspend(f.core, client);
		} else if (action == ACTION_HELLO) {
			hello(&f, client, (uint8_t)len);
		} else if (action == ACTION_CM) {
			if (len > size - at)
				len = (unsigned)(size - at);
			cm_message(&f, client, data + at, len);
			if (len > 0)
				cm_event(&f, (uint8_t)who, data + at, len);
			at += len;
		} else if (action == ACTION_MESSAGE && at < size) {
			unsigned fds = data[at++] % (IPC_FDS_MAX + 1);

			if (len > size - at)
				len = (unsigned)(size - at);
			message(&f, client, fds, data + at, len);
			at += len;
		}
	}
	FAKE_CHECK(!broker_is_settled(f.core) || broker_registry_is_sound(&f.registry));
	fake_stop(&f);
	return 0;
}
