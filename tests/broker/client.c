/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process at the broker, told what to do by lines on standard input, for broker_test.py. Prints one line per answer and event.
 *
 *   client run       join the broker, then: pair N MS | ask N | poke N V | peek N | closed N | drop N | state | devices | export
 *                    send QPN | receive MS | burst N | fork | forkget | exec PROGRAM | stray QPN | quit
 *   client stat      what the broker says about itself, as an observer
 *   client hello V   one HELLO of protocol version V
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "ipc/socket.h"
#include "ipc/start.h"
#include "process/process.h"

static struct process *process;
static struct process_pair pairs[IPC_SLOTS];
static unsigned long to_fail; /* pairs that are not taken, as if memory had run out */

static int on_pair(void *context, const struct process_pair *pair)
{
	struct process_pair *mine = &pairs[pair->slot];

	if (to_fail > 0) {
		to_fail--;
		munmap(pair->map, IPC_PAIR_BYTES);
		munmap(pair->peer_wake, IPC_WAKE_BYTES);
		close(pair->peer_eventfd);
		return BASE_ERR_NOMEM;
	}
	if (mine->map != NULL) {
		munmap(mine->map, IPC_PAIR_BYTES);
		munmap(mine->peer_wake, IPC_WAKE_BYTES);
		close(mine->peer_eventfd);
	}
	*mine = *pair;
	printf("event pair %u %llu\n", pair->slot, (unsigned long long)pair->generation);
	return BASE_OK;
}

static void on_refused(void *context, uint8_t slot, int error)
{
	printf("event refused %u %s\n", slot, base_err_text(error));
}

static void on_gone(void *context, uint8_t slot, uint64_t generation)
{
	printf("event gone %u %llu\n", slot, (unsigned long long)generation);
}

static void on_netdev(void *context, uint64_t devices)
{
	printf("event netdev %llx\n", (unsigned long long)devices);
}

static void on_stray(void *context, const struct sockaddr_in6 *from, const uint8_t *datagram, size_t len)
{
	printf("event stray %zu %02x%02x%02x\n", len, datagram[5], datagram[6], datagram[7]);
}

static void on_lost(void *context)
{
	puts("event lost");
}

static void on_restored(void *context)
{
	puts("event restored");
}

static const struct process_events events = { on_pair, on_refused, on_gone, on_netdev, on_stray, on_lost, on_restored };

/* A BTH with this QPN, sent to ourselves by loopback. */
static void send_packet(int fd, uint32_t qpn)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(4791), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint8_t bth[16] = { 4, 0, 0xff, 0xff, 0, (uint8_t)(qpn >> 16), (uint8_t)(qpn >> 8), (uint8_t)qpn };

	if (sendto(fd, bth, sizeof(bth), 0, (struct sockaddr *)&to, sizeof(to)) != sizeof(bth))
		perror("sendto");
}

static void send_some(unsigned long qpn)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	send_packet(fd, (uint32_t)qpn);
	close(fd);
	puts("sent");
}

static void receive_all(int ms)
{
	struct pollfd p = { .fd = process_udp_socket(process), .events = POLLIN };
	uint8_t packet[4096];
	unsigned n = 0, wrong = 0;

	while (poll(&p, 1, ms) == 1 && recv(p.fd, packet, sizeof(packet), 0) >= 12) {
		n++;
		wrong += packet[5] != process_slot(process);
		ms = 0;
	}
	printf("received %u wrong %u\n", n, wrong);
}

static void show_devices(void)
{
	struct netdev_table *table = malloc(sizeof(*table));

	process_netdev_read(process, table);
	for (unsigned d = 0; d < table->count; d++) {
		unsigned gids = 0;

		for (unsigned i = 0; i < NETDEV_MAX_GIDS; i++)
			gids += table->devices[d].gids[i].valid;
		printf("device %s up %d gids %u\n", table->devices[d].name, table->devices[d].up, gids);
	}
	puts("devices end");
	free(table);
}

static void fork_and(const char *what)
{
	fflush(stdout);
	pid_t pid = fork();

	if (pid != 0) {
		printf("child %d\n", pid);
		return;
	}
	if (strcmp(what, "forkget") == 0) {
		struct process *mine;
		bool foreign = process_is_foreign(process);
		int refused = process_pair_ask(process, process_slot(process) == 1 ? 2 : 1);
		int err = process_get(&mine);

		printf("child foreign %d ask %s get %s slot %u parent %u\n", foreign, base_err_text(refused), base_err_text(err),
			err == 0 ? process_slot(mine) : 0, process_slot(process));
		fflush(stdout);
	}
	for (;;)
		pause();
}

static bool command(char *line)
{
	char *word = strtok(line, " \n"), *first = strtok(NULL, " \n"), *second = strtok(NULL, " \n");
	unsigned long a = first != NULL ? strtoul(first, NULL, 0) : 0, b = second != NULL ? strtoul(second, NULL, 0) : 0;
	struct process_pair *pair = &pairs[a & 0xff];

	if (word == NULL)
		return true;
	if (strcmp(word, "pair") == 0)
		printf("pair %lu %s\n", a, base_err_text(process_pair_request(process, (uint8_t)a, b * BASE_MSEC)));
	else if (strcmp(word, "ask") == 0)
		printf("ask %lu %s\n", a, base_err_text(process_pair_ask(process, (uint8_t)a)));
	else if (strcmp(word, "fail") == 0)
		printf("fail %lu\n", to_fail = a);
	else if (strcmp(word, "poke") == 0 && pair->map != NULL)
		printf("poked %u\n", ((uint8_t *)pair->map)[IPC_PAIR_RING_OFFSET(pair->low ? 0 : 1)] = (uint8_t)b);
	else if (strcmp(word, "peek") == 0 && pair->map != NULL)
		printf("peeked %u wake %u\n", ((uint8_t *)pair->map)[IPC_PAIR_RING_OFFSET(pair->low ? 1 : 0)],
			atomic_load(&pair->peer_wake->sleeping));
	else if (strcmp(word, "closed") == 0 && pair->map != NULL)
		printf("closed %u\n", atomic_load(&((struct ipc_pair_header *)pair->map)->closed));
	else if (strcmp(word, "state") == 0) {
		const char *reason;
		bool wire = process_wire_available(process, &reason);

		printf("state slot %u wire %d %s\n", process_slot(process), wire, reason);
	} else if (strcmp(word, "devices") == 0)
		show_devices();
	else if (strcmp(word, "export") == 0) {
		int fd = memfd_create("export", MFD_CLOEXEC);

		printf("export %s\n", base_err_text(process_export_set(process, fd)));
		close(fd);
	} else if (strcmp(word, "send") == 0)
		send_some(a);
	else if (strcmp(word, "receive") == 0)
		receive_all((int)a);
	else if (strcmp(word, "stray") == 0) {
		uint8_t bth[16] = { 4, 0, 0xff, 0xff, 0, (uint8_t)(a >> 16), (uint8_t)(a >> 8), (uint8_t)a };
		struct sockaddr_in6 from = { .sin6_family = AF_INET6 };

		printf("stray %s\n", base_err_text(process_stray_send(process, &from, bth, sizeof(bth))));
	} else if (strcmp(word, "fork") == 0 || strcmp(word, "forkget") == 0)
		fork_and(word);
	else if (strcmp(word, "exec") == 0 && first != NULL)
		execlp(first, first, "60", (char *)NULL);
	else if (strcmp(word, "quit") == 0)
		return false;
	else
		printf("what %s\n", word);
	return true;
}

static int run(void)
{
	char buf[4096];
	size_t have = 0;
	int err = process_get(&process);

	if (err != 0) {
		printf("error %s\n", base_err_text(err));
		return 1;
	}
	atomic_store(&process_wake_page(process)->sleeping, process_slot(process));
	process_events_set(process, &events, NULL);
	printf("joined %u wire %d pid %d\n", process_slot(process), process_wire_available(process, NULL), getpid());
	for (;;) {
		struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = process_control_fd(process), .events = POLLIN } };

		fflush(stdout);
		poll(p, 2, -1);
		if (p[1].revents != 0)
			process_control_handle(process);
		if (p[0].revents == 0)
			continue;
		ssize_t n = read(STDIN_FILENO, buf + have, sizeof(buf) - 1 - have);
		if (n <= 0)
			break;
		have += (size_t)n;
		buf[have] = '\0';
		for (char *end; (end = strchr(buf, '\n')) != NULL;) {
			*end = '\0';
			size_t used = (size_t)(end + 1 - buf);
			char line[4096];
			memcpy(line, buf, used);
			memmove(buf, end + 1, have + 1 - used);
			have -= used;
			if (!command(line)) {
				process_put(process);
				puts("bye");
				return 0;
			}
			fflush(stdout);
		}
	}
	process_put(process);
	return 0;
}

static int ask(int fd, const struct ipc_message *question, struct ipc_message *answer, uint8_t *buf)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct ipc_fds fds;

	if (ipc_send(fd, question, NULL) != BASE_OK)
		return BASE_ERR_GONE;
	for (;;) {
		if (poll(&p, 1, 5000) != 1)
			return BASE_ERR_TIMEDOUT;
		int err = ipc_receive(fd, false, buf, answer, &fds);
		if (err == BASE_ERR_AGAIN)
			continue;
		if (err == BASE_OK)
			ipc_fds_close(&fds);
		if (err != BASE_OK || answer->type != IPC_NETDEV_CHANGED)
			return err;
	}
}

static int hello(uint32_t version)
{
	uint8_t buf[IPC_MESSAGE_MAX];
	struct ipc_message m = { .type = IPC_HELLO, .hello = { .magic = IPC_HELLO_MAGIC, .protocol = version,
		.role = IPC_ROLE_OBSERVER } };
	int fd, err = ipc_broker_connect_running(&fd);

	if (err != BASE_OK) {
		printf("no broker: %s\n", base_err_text(err));
		return -1;
	}
	err = ask(fd, &m, &m, buf);
	if (err != BASE_OK || m.type != IPC_WELCOME) {
		printf("hello %s: %s\n", err != BASE_OK ? base_err_text(err) : "refused", err == BASE_OK ? m.refused.reason : "");
		close(fd);
		return -1;
	}
	return fd;
}

static int stat_show(void)
{
	uint8_t buf[IPC_MESSAGE_MAX];
	struct ipc_message m, answer;
	int fd = hello(IPC_PROTOCOL);

	if (fd < 0)
		return 1;
	m = (struct ipc_message){ .type = IPC_STAT_REQUEST, .stat_request = { 1, IPC_STAT_OF_BROKER, 0 } };
	if (ask(fd, &m, &answer, buf) != BASE_OK)
		return 1;
	printf("broker pid %u clients %u observers %u pairs %u free %u wire %d refused %llu strays %llu\n", answer.stat_summary.pid,
		answer.stat_summary.clients, answer.stat_summary.observers, answer.stat_summary.pairs, answer.stat_summary.free_slots,
		answer.stat_summary.wire, (unsigned long long)answer.stat_summary.refused_messages,
		(unsigned long long)answer.stat_summary.strays);
	for (uint32_t from = 0, more = 1; more;) {
		m = (struct ipc_message){ .type = IPC_STAT_REQUEST, .stat_request = { 2, IPC_STAT_OF_CLIENTS, from } };
		if (ask(fd, &m, &answer, buf) != BASE_OK)
			return 1;
		for (uint32_t i = 0; i < answer.stat_clients.count; i++) {
			const struct ipc_stat_client *c = &answer.stat_clients.clients[i];

			printf("slot %u pid %u command %s connected %d export %d pairs %u\n", c->slot, c->pid, c->command, c->connected,
				c->has_export, c->pairs);
		}
		from = answer.stat_clients.next;
		more = from != 0;
	}
	for (uint32_t from = 0, more = 1; more;) {
		m = (struct ipc_message){ .type = IPC_STAT_REQUEST, .stat_request = { 3, IPC_STAT_OF_PAIRS, from } };
		if (ask(fd, &m, &answer, buf) != BASE_OK)
			return 1;
		for (uint32_t i = 0; i < answer.stat_pairs.count; i++)
			printf("pair %u %u\n", answer.stat_pairs.pairs[i].low, answer.stat_pairs.pairs[i].high);
		from = answer.stat_pairs.next;
		more = from != 0;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "run") == 0)
		return run();
	if (argc == 2 && strcmp(argv[1], "stat") == 0)
		return stat_show();
	if (argc == 3 && strcmp(argv[1], "hello") == 0)
		return hello((uint32_t)strtoul(argv[2], NULL, 0)) < 0;
	return 2;
}
