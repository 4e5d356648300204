/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection manager at the other end of this process's connection to the broker, and who waits for its events. */
#include "rdmacm/id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/cm.h"

#define TABLE_BUCKETS 1024u

pthread_mutex_t rdmacm_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t rdmacm_acked = PTHREAD_COND_INITIALIZER;

static struct rdmacm_id *table[TABLE_BUCKETS];
static uint64_t last_uid;
static uint32_t *orphans;
static unsigned orphan_count, orphan_room;
static struct process *listening; /* a fork child has another one, and has to listen anew */

int rdmacm_fail(int errno_value)
{
	errno = errno_value;
	return -1;
}

/* --- the table --- */

void rdmacm_table_add(struct rdmacm_id *id)
{
	pthread_mutex_lock(&rdmacm_lock);
	id->uid = ++last_uid;
	id->next = table[id->uid % TABLE_BUCKETS];
	table[id->uid % TABLE_BUCKETS] = id;
	pthread_mutex_unlock(&rdmacm_lock);
}

void rdmacm_table_remove(struct rdmacm_id *id)
{
	struct rdmacm_id **at = &table[id->uid % TABLE_BUCKETS];

	while (*at != NULL && *at != id)
		at = &(*at)->next;
	if (*at != NULL)
		*at = id->next;
}

struct rdmacm_id *rdmacm_table_find(uint64_t uid)
{
	struct rdmacm_id *id = table[uid % TABLE_BUCKETS];

	while (id != NULL && id->uid != uid)
		id = id->next;
	return id;
}

void rdmacm_table_leave(const struct rdma_event_channel *channel)
{
	for (unsigned i = 0; i < TABLE_BUCKETS; i++)
		for (struct rdmacm_id *id = table[i]; id != NULL; id = id->next)
			if (id->id.channel == channel)
				id->id.channel = NULL;
}

/* --- requests that nobody will take --- */

void rdmacm_orphan_add(uint32_t handle)
{
	if (orphan_count == orphan_room) {
		unsigned room = orphan_room == 0 ? 16 : orphan_room * 2;
		uint32_t *more = realloc(orphans, room * sizeof(*orphans));

		if (more == NULL)
			return; /* the broker destroys it with this process */
		orphans = more;
		orphan_room = room;
	}
	orphans[orphan_count++] = handle;
}

void rdmacm_orphans_destroy(void)
{
	for (;;) {
		pthread_mutex_lock(&rdmacm_lock);
		if (orphan_count == 0) {
			pthread_mutex_unlock(&rdmacm_lock);
			return;
		}
		const struct rdma_ucm_destroy_id command = { .id = orphans[--orphan_count] };
		pthread_mutex_unlock(&rdmacm_lock);
		struct rdma_ucm_destroy_id_resp response;
		rdmacm_call(RDMA_USER_CM_CMD_DESTROY_ID, &command, sizeof(command), &response, sizeof(response));
	}
}

/* --- events --- */

static void event_arrived(void *context, const void *bytes, size_t len)
{
	struct rdmacm_arrival *arrival = calloc(1, sizeof(*arrival));

	if (arrival == NULL)
		return;
	memcpy(&arrival->event, bytes, len < sizeof(arrival->event) ? len : sizeof(arrival->event));
	pthread_mutex_lock(&rdmacm_lock);
	arrival->id = rdmacm_table_find(arrival->event.uid & RDMACM_UID_MASK);
	if (arrival->id != NULL && arrival->id->id.channel != NULL) {
		rdmacm_channel_push(rdmacm_channel_of(arrival->id->id.channel), arrival);
		arrival = NULL;
	} else if (arrival->event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		rdmacm_orphan_add(arrival->event.id);
	}
	pthread_mutex_unlock(&rdmacm_lock);
	free(arrival);
}

int rdmacm_start(void)
{
	struct process *process;
	int err = process_cm_get(&process);

	if (err != 0)
		return rdmacm_fail(-err);
	pthread_mutex_lock(&rdmacm_lock);
	bool fresh = listening != process;
	listening = process;
	pthread_mutex_unlock(&rdmacm_lock);
	if (fresh)
		process_cm_listen(process, event_arrived, NULL);
	return 0;
}

/* --- commands --- */

static int call(uint32_t cmd, const void *command, size_t len, const void *more, size_t more_len, void *response, size_t response_len)
{
	struct {
		struct rdma_ucm_cmd_hdr header;
		uint8_t body[1016];
	} message = { .header = { .cmd = cmd, .in = (uint16_t)(len + more_len), .out = (uint16_t)response_len } };
	struct process *process;
	int err = process_cm_get(&process);
	ssize_t got;

	if (err != 0)
		return rdmacm_fail(-err);
	if (len + more_len > sizeof(message.body))
		return rdmacm_fail(EINVAL);
	memcpy(message.body, command, len);
	if (more_len > 0)
		memcpy(message.body + len, more, more_len);
	got = process_cm_call(process, &message, sizeof(message.header) + len + more_len, response, response_len);
	if (got < 0)
		return rdmacm_fail((int)-got);
	if ((size_t)got < response_len)
		memset((uint8_t *)response + got, 0, response_len - (size_t)got);
	return 0;
}

int rdmacm_call(uint32_t cmd, const void *command, size_t len, void *response, size_t response_len)
{
	return call(cmd, command, len, NULL, 0, response, response_len);
}

int rdmacm_call_with(uint32_t cmd, const void *command, size_t len, const void *more, size_t more_len)
{
	return call(cmd, command, len, more, more_len, NULL, 0);
}
