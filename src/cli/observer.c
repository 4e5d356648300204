/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/observer.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/cli.h"
#include "config/config.h"
#include "ipc/socket.h"
#include "ipc/start.h"
#include "netdev/shared.h"

struct observer {
	int fd;
	uint32_t last_id;
	struct ipc_welcome welcome;
	struct netdev_shared *devices;
	struct ipc_message message; /* the newest answer; may point into buf */
	uint8_t buf[IPC_MESSAGE_MAX];
};

/* The next message of this type; others (news of devices) are passed over. Descriptors in `fds` are the caller's on success. */
static int await(struct observer *o, enum ipc_type type, struct ipc_fds *fds)
{
	uint64_t until = base_clock_now() + OBSERVER_PATIENCE_MS * BASE_MSEC;

	while (true) {
		int err = ipc_receive(o->fd, false, o->buf, &o->message, fds);

		if (err == BASE_OK && o->message.type == type)
			return BASE_OK;
		if (err == BASE_OK && o->message.type == IPC_REFUSED) {
			ipc_fds_close(fds);
			cli_error("the broker refused: %s", o->message.refused.reason);
			return BASE_ERR_PERM;
		}
		if (err == BASE_OK) {
			ipc_fds_close(fds);
			continue;
		}
		if (err != BASE_ERR_AGAIN) {
			cli_error("the broker went away while it was asked (%s); try again", base_err_text(err));
			return err;
		}
		struct pollfd p = {.fd = o->fd, .events = POLLIN};
		uint64_t now = base_clock_now();

		if (now >= until || poll(&p, 1, (int)((until - now) / BASE_MSEC) + 1) == 0) {
			cli_error(
				"the broker (pid %u) does not answer; is it stopped? Without it: end it, programs start a new one",
				o->welcome.pid);
			return BASE_ERR_TIMEDOUT;
		}
	}
}

static int request(struct observer *o, const struct ipc_message *message, enum ipc_type answer, struct ipc_fds *fds)
{
	int err = ipc_send(o->fd, message, NULL);

	if (err != BASE_OK) {
		cli_error("cannot talk to the broker: %s", base_err_text(err));
		return err;
	}
	return await(o, answer, fds);
}

static int greet(struct observer *o)
{
	struct ipc_message hello = {.type = IPC_HELLO,
				    .hello = {.magic = IPC_HELLO_MAGIC,
					      .protocol = IPC_PROTOCOL,
					      .role = IPC_ROLE_OBSERVER,
					      .pid = (uint32_t)getpid(),
					      .command = "softverbs"}};
	struct ipc_fds fds = {0};
	int err = request(o, &hello, IPC_WELCOME, &fds);

	if (err != BASE_OK)
		return err;
	o->welcome = o->message.welcome;
	err = fds.count > 0 ? netdev_shared_open(fds.fd[0], false, &o->devices) : BASE_ERR_MALFORMED;
	ipc_fds_close(&fds);
	if (err != BASE_OK)
		cli_error("the broker's table of devices cannot be read: %s", base_err_text(err));
	return err;
}

int observer_open(bool start, struct observer **out)
{
	struct config config;
	struct observer *o = calloc(1, sizeof(*o));
	int err;

	if (o == NULL) {
		cli_error("out of memory");
		return BASE_ERR_NOMEM;
	}
	config_load(&config); /* it says itself what it does not like */
	err = start ? ipc_broker_connect(config.broker, OBSERVER_PATIENCE_MS / 1000, &o->fd)
		    : ipc_broker_connect_running(&o->fd);
	if (err != BASE_OK) {
		free(o);
		return err;
	}
	err = greet(o);
	if (err != BASE_OK) {
		observer_close(o);
		return err;
	}
	*out = o;
	return BASE_OK;
}

void observer_close(struct observer *o)
{
	if (o == NULL)
		return;
	if (o->devices != NULL)
		netdev_shared_close(o->devices);
	close(o->fd);
	free(o);
}

const struct ipc_welcome *observer_welcome(const struct observer *o)
{
	return &o->welcome;
}

int observer_devices(const struct observer *o, struct netdev_table **out)
{
	struct netdev_table *table = malloc(sizeof(*table));

	if (table == NULL) {
		cli_error("out of memory");
		return BASE_ERR_NOMEM;
	}
	netdev_shared_read(o->devices, table);
	*out = table;
	return BASE_OK;
}

int observer_summary(struct observer *o, struct ipc_stat_summary *out)
{
	struct ipc_message ask = {.type = IPC_STAT_REQUEST, .stat_request = {.id = ++o->last_id, .of = IPC_STAT_OF_BROKER}};
	struct ipc_fds fds = {0};
	int err = request(o, &ask, IPC_STAT_SUMMARY, &fds);

	if (err == BASE_OK)
		*out = o->message.stat_summary;
	return err;
}

int observer_clients(struct observer *o, struct ipc_stat_client *out, unsigned room, unsigned *count)
{
	unsigned used = 0;
	uint32_t from = 0;

	do {
		struct ipc_message ask = {.type = IPC_STAT_REQUEST,
					  .stat_request = {.id = ++o->last_id, .of = IPC_STAT_OF_CLIENTS, .from = from}};
		struct ipc_fds fds = {0};
		int err = request(o, &ask, IPC_STAT_CLIENT_LIST, &fds);

		if (err != BASE_OK)
			return err;
		const struct ipc_stat_client_list *list = &o->message.stat_clients;
		for (uint32_t i = 0; i < list->count && used < room; i++)
			out[used++] = list->clients[i];
		if (list->next <= from) /* 0 at the end; never backwards */
			break;
		from = list->next;
	} while (used < room);
	*count = used;
	return BASE_OK;
}

int observer_export(struct observer *o, uint8_t slot, struct observer_export *out)
{
	struct ipc_message ask = {.type = IPC_EXPORT_REQUEST, .export = {.id = ++o->last_id, .slot = slot}};
	struct export_reader *reader;
	struct ipc_fds fds = {0};
	int err = request(o, &ask, IPC_EXPORT, &fds);

	if (err != BASE_OK)
		return err;
	if (fds.count == 0)
		return BASE_ERR_NOENT;
	err = export_reader_open(fds.fd[0], &reader);
	if (err != BASE_OK) {
		ipc_fds_close(&fds);
		cli_error("the tables of slot %u cannot be read: %s", slot, base_err_text(err));
		return err;
	}
	*out = (struct observer_export){reader, fds.fd[0]};
	return BASE_OK;
}

void observer_export_close(struct observer_export *export)
{
	if (export->reader == NULL)
		return;
	export_reader_close(export->reader);
	close(export->fd);
	export->reader = NULL;
}
