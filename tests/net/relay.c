/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A bad network: passes Ethernet frames between two interfaces, and loses, doubles, delays or damages RoCEv2 packets (UDP
 * port 4791) by chance; other traffic passes untouched. For the tests; unlike the netem queueing discipline it needs
 * nothing of the kernel but packet sockets, and the same seed gives the same chances.
 *
 *   relay ONE OTHER [--loss PPM] [--twice PPM] [--late PPM] [--delay MICROSECONDS] [--damage PPM] [--seed N]
 *
 * A late packet is held for the delay while those behind it pass. Offloads of the interfaces' far ends must be off, else what
 * arrives here are bursts with unfinished checksums. Writes "ready" when it passes frames; ends on SIGTERM with one line of JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MAX 65600
#define BATCH 64
#define HELD_MAX 4096
#define MILLION 1000000u

struct held {
	uint64_t due;
	uint32_t len;
	int to;
	uint8_t *frame;
};

struct relay {
	int fd[2];
	uint32_t loss, twice, late, damage;
	uint64_t delay_ns, state;
	struct held held[HELD_MAX]; /* a ring in order of time: all wait equally long */
	unsigned first, count;
	struct {
		uint64_t frames, roce, lost, twice, late, damaged, too_long, refused, overrun;
	} seen;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(struct relay *relay) /* splitmix64 */
{
	uint64_t z = relay->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static bool chance(struct relay *relay, uint32_t ppm)
{
	return ppm != 0 && next_random(relay) % MILLION < ppm;
}

static bool is_roce(const uint8_t *frame, size_t len)
{
	static const uint8_t port[2] = {4791 >> 8, 4791 & 255};

	if (len >= 14 + 20 + 8 && frame[12] == 0x08 && frame[13] == 0x00)
		return frame[14] == 0x45 && frame[23] == 17 && memcmp(frame + 14 + 20 + 2, port, 2) == 0;
	if (len >= 14 + 40 + 8 && frame[12] == 0x86 && frame[13] == 0xdd)
		return frame[20] == 17 && memcmp(frame + 14 + 40 + 2, port, 2) == 0;
	return false;
}

static void pass(struct relay *relay, int to, const uint8_t *frame, size_t len)
{
	while (send(relay->fd[to], frame, len, 0) < 0) {
		if (errno == EINTR)
			continue;
		if (errno == ENOBUFS || errno == EAGAIN) { /* the device's queue: a wire would have made its sender wait */
			struct pollfd wait = {.fd = relay->fd[to], .events = POLLOUT};

			poll(&wait, 1, 1);
			continue;
		}
		relay->seen.refused++;
		return;
	}
}

/* Sends what has waited its time. The milliseconds to the next, rounded up; -1: nothing waits. */
static int release(struct relay *relay)
{
	while (relay->count > 0) {
		struct held *h = &relay->held[relay->first];
		uint64_t now = now_ns();

		if (h->due > now)
			return (int)((h->due - now + 999999) / 1000000);
		pass(relay, h->to, h->frame, h->len);
		free(h->frame);
		relay->first = (relay->first + 1) % HELD_MAX;
		relay->count--;
	}
	return -1;
}

static bool hold(struct relay *relay, int to, const uint8_t *frame, size_t len)
{
	struct held *h = &relay->held[(relay->first + relay->count) % HELD_MAX];

	if (relay->count == HELD_MAX)
		return false;
	h->frame = malloc(len);
	if (h->frame == NULL)
		return false;
	memcpy(h->frame, frame, len);
	h->len = (uint32_t)len;
	h->to = to;
	h->due = now_ns() + relay->delay_ns;
	relay->count++;
	return true;
}

static void judge(struct relay *relay, int to, uint8_t *frame, size_t len)
{
	relay->seen.frames++;
	if (!is_roce(frame, len)) {
		pass(relay, to, frame, len);
		return;
	}
	relay->seen.roce++;
	if (chance(relay, relay->loss)) {
		relay->seen.lost++;
		return;
	}
	if (chance(relay, relay->damage)) {
		/* Behind the headers that the UDP checksum and the length need: the ICRC is what must notice. */
		size_t at = len - 1 - next_random(relay) % 16;

		frame[at] ^= (uint8_t)(1 + next_random(relay) % 255);
		frame[14 + (frame[12] == 0x08 ? 20 : 40) + 6] = 0; /* no UDP checksum */
		frame[14 + (frame[12] == 0x08 ? 20 : 40) + 7] = 0;
		relay->seen.damaged++;
	}
	if (chance(relay, relay->late) && hold(relay, to, frame, len)) {
		relay->seen.late++;
		return;
	}
	pass(relay, to, frame, len);
	if (chance(relay, relay->twice)) {
		relay->seen.twice++;
		pass(relay, to, frame, len);
	}
}

static void take(struct relay *relay, int from)
{
	static uint8_t frames[BATCH][FRAME_MAX];
	struct sockaddr_ll source[BATCH];
	struct mmsghdr messages[BATCH];
	struct iovec iov[BATCH];

	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){.iov_base = frames[i], .iov_len = FRAME_MAX};
		messages[i].msg_hdr = (struct msghdr){
			.msg_iov = &iov[i],
			.msg_iovlen = 1,
			.msg_name = &source[i],
			.msg_namelen = sizeof(source[i]),
		};
	}
	int n = recvmmsg(relay->fd[from], messages, BATCH, MSG_DONTWAIT, NULL);

	for (int i = 0; i < n; i++) {
		if (source[i].sll_pkttype == PACKET_OUTGOING) /* our own, seen again */
			continue;
		if (messages[i].msg_hdr.msg_flags & MSG_TRUNC)
			relay->seen.too_long++;
		else
			judge(relay, !from, frames[i], messages[i].msg_len);
	}
}

static int open_interface(const char *name)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), bytes = 64 << 20, yes = 1;
	struct sockaddr_ll where = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(name),
	};
	struct packet_mreq all = {.mr_ifindex = where.sll_ifindex, .mr_type = PACKET_MR_PROMISC};

	if (fd < 0 || where.sll_ifindex == 0 || setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0 ||
	    bind(fd, (struct sockaddr *)&where, sizeof(where)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) != 0) {
		fprintf(stderr, "relay: %s: %s\n", name, strerror(errno));
		exit(1);
	}
	return fd;
}

static uint64_t overrun(int fd)
{
	struct tpacket_stats stats = {0};
	socklen_t len = sizeof(stats);

	return getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) == 0 ? stats.tp_drops : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"loss", required_argument, NULL, 'l'},   {"twice", required_argument, NULL, 't'},
		{"late", required_argument, NULL, 'r'},   {"delay", required_argument, NULL, 'd'},
		{"damage", required_argument, NULL, 'c'}, {"seed", required_argument, NULL, 's'},
		{0},
	};
	static struct relay relay;
	sigset_t ends;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		uint64_t n = optarg != NULL ? strtoull(optarg, NULL, 0) : 0;

		switch (option) {
		case 'l':
			relay.loss = (uint32_t)n;
			break;
		case 't':
			relay.twice = (uint32_t)n;
			break;
		case 'r':
			relay.late = (uint32_t)n;
			break;
		case 'd':
			relay.delay_ns = n * 1000;
			break;
		case 'c':
			relay.damage = (uint32_t)n;
			break;
		case 's':
			relay.state = n;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: relay ONE OTHER [--loss PPM] [--twice PPM] [--late PPM] [--delay US] [--damage PPM] [--seed N]\n");
		return 2;
	}
	for (int i = 0; i < 2; i++)
		relay.fd[i] = open_interface(argv[optind + i]);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	int end = signalfd(-1, &ends, SFD_CLOEXEC);

	printf("ready\n");
	fflush(stdout);
	for (;;) {
		struct pollfd fds[3] = {
			{.fd = relay.fd[0], .events = POLLIN}, {.fd = relay.fd[1], .events = POLLIN}, {.fd = end, .events = POLLIN}};
		int wait = release(&relay);

		poll(fds, 3, wait);
		for (int i = 0; i < 2; i++)
			if (fds[i].revents != 0)
				take(&relay, i);
		if (fds[2].revents != 0)
			break;
	}
	for (int i = 0; i < 2; i++)
		relay.seen.overrun += overrun(relay.fd[i]);
	printf("{\"frames\": %llu, \"roce\": %llu, \"lost\": %llu, \"twice\": %llu, \"late\": %llu, \"damaged\": %llu, "
	       "\"too_long\": %llu, \"refused\": %llu, \"overrun\": %llu}\n",
	       (unsigned long long)relay.seen.frames, (unsigned long long)relay.seen.roce, (unsigned long long)relay.seen.lost,
	       (unsigned long long)relay.seen.twice, (unsigned long long)relay.seen.late, (unsigned long long)relay.seen.damaged,
	       (unsigned long long)relay.seen.too_long, (unsigned long long)relay.seen.refused,
	       (unsigned long long)relay.seen.overrun);
	return 0;
}
