/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct broker_output_entry {
	struct broker_output_entry *next;
	struct ipc_message message;
	struct ipc_fds fds; /* copies */
	uint8_t bytes[];    /* what the message points to */
};

static bool is_cm(const struct ipc_message *message)
{
	return message->type == IPC_CM_ANSWER || message->type == IPC_CM_EVENT || message->type == IPC_CM_KEEP;
}

static void entry_free(struct broker_output_entry *entry)
{
	ipc_fds_close(&entry->fds);
	free(entry);
}

static struct broker_output_entry *entry_make(const struct ipc_message *message, const struct ipc_fds *fds)
{
	size_t extra = message->type == IPC_STRAY ? message->stray.len : is_cm(message) ? message->cm.len : 0;
	struct broker_output_entry *entry = calloc(1, sizeof(*entry) + extra);

	if (entry == NULL)
		return NULL;
	entry->message = *message;
	if (extra > 0 && message->type == IPC_STRAY) {
		memcpy(entry->bytes, message->stray.datagram, extra);
		entry->message.stray.datagram = entry->bytes;
	} else if (extra > 0) {
		memcpy(entry->bytes, message->cm.bytes, extra);
		entry->message.cm.bytes = entry->bytes;
	}
	for (unsigned i = 0; fds != NULL && i < fds->count; i++) {
		int copy = fcntl(fds->fd[i], F_DUPFD_CLOEXEC, 0);

		if (copy < 0) {
			entry_free(entry);
			return NULL;
		}
		entry->fds.fd[entry->fds.count++] = copy;
	}
	return entry;
}

int broker_output_send(struct broker_output *output, int fd, const struct ipc_message *message, const struct ipc_fds *fds)
{
	if (output->count == 0) {
		int err = ipc_send(fd, message, fds);

		if (err != BASE_ERR_AGAIN)
			return err;
	}
	const unsigned most = is_cm(message) ? BROKER_OUTPUT_CM_MAX : BROKER_OUTPUT_MAX;
	struct broker_output_entry *entry = output->count < most ? entry_make(message, fds) : NULL;
	if (entry == NULL)
		return BASE_ERR_NOMEM;
	if (output->last != NULL)
		output->last->next = entry;
	else
		output->first = entry;
	output->last = entry;
	output->count++;
	return BASE_OK;
}

int broker_output_flush(struct broker_output *output, int fd)
{
	while (output->first != NULL) {
		struct broker_output_entry *entry = output->first;
		int err = ipc_send(fd, &entry->message, &entry->fds);

		if (err == BASE_ERR_AGAIN)
			return err;
		if (err == BASE_ERR_GONE) {
			broker_output_clear(output);
			return err;
		}
		output->first = entry->next;
		if (output->first == NULL)
			output->last = NULL;
		output->count--;
		entry_free(entry);
	}
	return BASE_OK;
}

bool broker_output_is_empty(const struct broker_output *output)
{
	return output->count == 0;
}

void broker_output_clear(struct broker_output *output)
{
	while (output->first != NULL) {
		struct broker_output_entry *entry = output->first;

		output->first = entry->next;
		entry_free(entry);
	}
	*output = (struct broker_output){ 0 };
}
