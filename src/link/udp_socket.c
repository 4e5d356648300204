/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/in6.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/random.h"
#include "wire/flow.h"

#define PORT_TRIES 32
#define SEND_BUFFER_BYTES (2 << 20) /* what we ask for; the kernel gives what net.core.wmem_max allows */

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

uint32_t link_udp_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS];
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) != 0 || len <= SK_MEMINFO_DROPS * sizeof(info[0]))
		return 0;
	return info[SK_MEMINFO_DROPS];
}

int link_udp_init(struct link_udp *udp, const struct link_config *config)
{
	*udp = (struct link_udp){
		.counters = config->counters,
		.hooks = config->hooks,
		.socket = config->udp_socket,
		.slot = config->slot,
		.gso = config->gso,
		.room_epoll = -1,
		.pace_timer = -1,
		.pace_until = BASE_NEVER,
	};
	udp->raw = config->raw_socket > 0;
	if (udp->socket < 0 && !udp->raw)
		return 0;
	udp->room_epoll = epoll_create1(EPOLL_CLOEXEC);
	udp->arena = map(LINK_UDP_ARENA_BYTES);
	udp->buffers = map(LINK_UDP_DATAGRAMS * LINK_UDP_DATAGRAM_BYTES);
	udp->messages = calloc(LINK_UDP_MESSAGES, sizeof(udp->messages[0]));
	if (udp->room_epoll < 0 || udp->arena == NULL || udp->buffers == NULL || udp->messages == NULL) {
		link_udp_fini(udp);
		return BASE_ERR_NOMEM;
	}
	struct epoll_event event = {.events = EPOLLIN};

	/* Without one a program that sleeps is late by as much as the progress thread is. */
	udp->pace_timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (udp->pace_timer >= 0)
		epoll_ctl(udp->room_epoll, EPOLL_CTL_ADD, udp->pace_timer, &event);
	/* The socket outlives processes, and so does its count: only what is lost from now on is ours. */
	if (udp->socket >= 0)
		udp->kernel_drops = link_udp_drops(udp->socket);
	return 0;
}

void link_udp_fini(struct link_udp *udp)
{
	for (unsigned i = 0; i < LINK_UDP_SENDERS; i++) {
		if (udp->senders[i] == NULL)
			continue;
		close(udp->senders[i]->fd);
		free(udp->senders[i]);
		udp->senders[i] = NULL;
	}
	if (udp->room_epoll >= 0)
		close(udp->room_epoll);
	if (udp->pace_timer >= 0)
		close(udp->pace_timer);
	udp->room_epoll = udp->pace_timer = -1;
	if (udp->arena != NULL)
		munmap(udp->arena, LINK_UDP_ARENA_BYTES);
	if (udp->buffers != NULL)
		munmap(udp->buffers, LINK_UDP_DATAGRAMS * LINK_UDP_DATAGRAM_BYTES);
	free(udp->messages);
	udp->arena = udp->buffers = NULL;
	udp->messages = NULL;
	udp->message_count = udp->datagram_count = 0;
}

static bool set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* Binds to a port of the RoCE range, else to any. The port in host order, 0 on failure. */
static uint16_t bind_somewhere(int fd, int family)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};
	struct sockaddr *address = family == AF_INET6 ? (void *)&six : (void *)&four;
	in_port_t *port = family == AF_INET6 ? &six.sin6_port : &four.sin_port;
	socklen_t len = family == AF_INET6 ? sizeof(six) : sizeof(four);
	uint16_t random;

	for (int i = 0; i <= PORT_TRIES; i++) {
		base_random_bytes(&random, sizeof(random));
		*port = i == PORT_TRIES ? 0 : htons(random | WIRE_FLOW_PORT_MIN);
		if (bind(fd, address, len) == 0)
			return getsockname(fd, address, &len) == 0 ? ntohs(*port) : 0;
		if (errno != EADDRINUSE)
			break;
	}
	return 0;
}

static int open_socket(struct link_udp *udp, int *family)
{
	int fd = -1;

	if (!udp->no_ipv6) {
		*family = AF_INET6;
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd >= 0 || errno != EAFNOSUPPORT)
			return fd;
		udp->no_ipv6 = true;
	}
	*family = AF_INET;
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static bool configure(int fd, int family)
{
	struct sock_filter drop_all[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog program = {.len = 1, .filter = drop_all};

	/* Without these two rules packets would carry an identification that we cannot know, or be fragmented. */
	if (!set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO))
		return false;
	if (family == AF_INET6 && (!set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) ||
				   !set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0) || !set(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1)))
		return false;
	/* Members of a group on this host, the sender among them, get their copy from the kernel: docs/decisions/0075. */
	set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
	if (family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
	set(fd, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_BYTES);
	/* Whatever comes here is not for us; nobody would read it. */
	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	return true;
}

static void complain(struct link_udp *udp, const char *what)
{
	if (!udp->complained)
		base_error("no %s to send from: %s", what, strerror(errno));
	udp->complained = true;
}

/* Without a protocol it hears nothing. */
static bool open_raw(struct link_udp *udp, struct link_udp_sender *sender)
{
	sender->family = AF_PACKET;
	sender->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sender->fd < 0) {
		complain(udp, "packet socket");
		return false;
	}
	set(sender->fd, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_BYTES);
	return true;
}

static bool open_udp(struct link_udp *udp, struct link_udp_sender *sender)
{
	sender->fd = open_socket(udp, &sender->family);
	if (sender->fd < 0 || !configure(sender->fd, sender->family)) {
		complain(udp, "UDP socket");
		return false;
	}
	sender->port = bind_somewhere(sender->fd, sender->family);
	if (sender->port == 0) {
		complain(udp, "UDP port");
		return false;
	}
	return true;
}

struct link_udp_sender *link_udp_sender_get(struct link_udp *udp, unsigned index)
{
	struct link_udp_sender *sender = udp->senders[index];

	if (sender != NULL)
		return sender;
	sender = calloc(1, sizeof(*sender));
	if (sender == NULL)
		return NULL;
	if ((index < LINK_UDP_SENDERS_RAW ? open_udp : open_raw)(udp, sender)) {
		udp->senders[index] = sender;
		return sender;
	}
	if (sender->fd >= 0)
		close(sender->fd);
	free(sender);
	return NULL;
}
