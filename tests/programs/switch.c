/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An Ethernet switch that may be a bad one: between the interfaces that are named it forwards frames as a learning bridge does, and
 * loses, reorders and delays those of RoCE (Ethertype 0x8915, UDP port 4791) by a seed. Kernels differ in what they have for that
 * (netem is often left out); this needs packet sockets alone.
 *
 *   switch [--loss PER_MILLE] [--reorder PER_MILLE] [--delay MICROSECONDS] [--seed N] INTERFACE...
 *
 * A reordered frame waits until up to four later ones have passed it, 1 ms at most. Says "ready" when it forwards, and at its end
 * (SIGTERM) what it did. Frames keep their offloads (virtio_net_hdr), so checksums that nobody made yet stay so.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PORTS = 8, MACS = 64, FRAME = 70000, HELD = 4096, BATCH = 64, PASS_MAX = 4, PASS_NS = 1000000 };

struct held {
	uint64_t due;   /* leaves then at the latest */
	int passes;     /* reordered: frames that may still pass; -1: it is only delayed */
	int in;
	size_t len;
	uint8_t *bytes; /* with the virtio_net_hdr */
};

static int port[PORTS], ports;
static struct { uint8_t mac[6]; int port; } table[MACS];
static unsigned learned;
static struct held held[HELD]; /* in the order they came */
static unsigned held_count;
static uint64_t seed = 1, delay_ns, forwarded, roce, lost, reordered;
static unsigned loss, reorder;
static volatile sig_atomic_t ended;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool happens(unsigned per_mille)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % 1000 < per_mille;
}

static bool is_roce(const uint8_t *frame, size_t len)
{
	unsigned type = len >= 38 ? (unsigned)frame[12] << 8 | frame[13] : 0;
	const uint8_t *udp = type == 0x0800 ? frame + 34 : type == 0x86dd && len >= 58 ? frame + 54 : NULL;

	return type == 0x8915 || (udp != NULL && frame[type == 0x0800 ? 23 : 20] == 17 && udp[2] == 4791 >> 8 && udp[3] == (4791 & 0xff));
}

static int port_of(const uint8_t *mac)
{
	for (unsigned i = 0; i < learned; i++)
		if (memcmp(table[i].mac, mac, 6) == 0)
			return table[i].port;
	return -1;
}

static void learn(const uint8_t *mac, int in)
{
	unsigned i = 0;

	while (i < learned && memcmp(table[i].mac, mac, 6) != 0)
		i++;
	if (i == MACS || mac[0] & 1)
		return;
	learned += i == learned;
	memcpy(table[i].mac, mac, 6);
	table[i].port = in;
}

static void forward(const uint8_t *bytes, size_t len, int in)
{
	const uint8_t *to = bytes + sizeof(struct virtio_net_hdr);
	int known = to[0] & 1 ? -1 : port_of(to);

	for (int i = 0; i < ports; i++) {
		if (i == in || (known >= 0 && i != known))
			continue;
		/* A full queue loses it, as any switch would. */
		if (write(port[i], bytes, len) < 0 && errno == EINVAL)
			fprintf(stderr, "a frame of %zu bytes is not taken\n", len);
	}
	forwarded++;
}

/* Lets go of what is due, in order; `passed`: a frame has just passed those that wait for it. */
static void release(bool passed)
{
	uint64_t now = now_ns();
	unsigned kept = 0;

	for (unsigned i = 0; i < held_count; i++) {
		if (passed && held[i].passes > 0)
			held[i].passes--;
		if (now < held[i].due && held[i].passes != 0) {
			held[kept++] = held[i];
			continue;
		}
		forward(held[i].bytes, held[i].len, held[i].in);
		free(held[i].bytes);
	}
	held_count = kept;
}

static bool hold(const uint8_t *bytes, size_t len, int in, uint64_t due, int passes)
{
	struct held *h = &held[held_count];

	if (held_count == HELD || (h->bytes = malloc(len)) == NULL)
		return false;
	memcpy(h->bytes, bytes, len);
	h->due = due;
	h->passes = passes;
	h->in = in;
	h->len = len;
	held_count++;
	return true;
}

static void take(const uint8_t *bytes, size_t len, int in)
{
	const uint8_t *frame = bytes + sizeof(struct virtio_net_hdr);

	learn(frame + 6, in);
	if (!is_roce(frame, len - sizeof(struct virtio_net_hdr))) {
		forward(bytes, len, in);
		return;
	}
	roce++;
	if (happens(loss)) {
		lost++;
		return;
	}
	if (happens(reorder) && hold(bytes, len, in, now_ns() + delay_ns + PASS_NS, 1 + (int)(seed >> 20) % PASS_MAX)) {
		reordered++;
		return;
	}
	if (delay_ns != 0 && hold(bytes, len, in, now_ns() + delay_ns, -1))
		return;
	forward(bytes, len, in);
	release(true);
}

static int port_open(const char *name)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(name) };
	struct packet_mreq all = { .mr_ifindex = at.sll_ifindex, .mr_type = PACKET_MR_PROMISC };
	int one = 1, room = 8 << 20, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) != 0) {
		perror(name);
		exit(1);
	}
	for (int what = SO_SNDBUF; what <= SO_RCVBUF; what++)
		if (setsockopt(fd, SOL_SOCKET, what == SO_SNDBUF ? SO_SNDBUFFORCE : SO_RCVBUFFORCE, &room, sizeof(room)) != 0)
			setsockopt(fd, SOL_SOCKET, what, &room, sizeof(room));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0) {
		perror(name);
		exit(1);
	}
	return fd;
}

static void on_end(int number)
{
	ended = number;
}

static void options_read(int argc, char **argv)
{
	static const struct option options[] = { { "loss", 1, NULL, 'l' }, { "reorder", 1, NULL, 'r' }, { "delay", 1, NULL, 'd' },
		{ "seed", 1, NULL, 's' }, { 0 } };

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		unsigned long value = c == '?' ? 0 : strtoul(optarg, NULL, 0);

		switch (c) {
		case 'l':
			loss = (unsigned)value;
			break;
		case 'r':
			reorder = (unsigned)value;
			break;
		case 'd':
			delay_ns = value * 1000u;
			break;
		case 's':
			seed = value | 1;
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind < 2 || argc - optind > PORTS)
		exit(2);
	for (; optind < argc; optind++)
		port[ports++] = port_open(argv[optind]);
}

int main(int argc, char **argv)
{
	static uint8_t bytes[FRAME];
	struct pollfd p[PORTS];
	struct timespec wait;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, on_end);
	options_read(argc, argv);
	for (int i = 0; i < ports; i++)
		p[i] = (struct pollfd){ port[i], POLLIN, 0 };
	puts("ready");
	while (!ended) {
		uint64_t now = now_ns(), due = now + 100000000u;

		for (unsigned i = 0; i < held_count; i++)
			due = held[i].due < due ? held[i].due : due;
		wait = (struct timespec){ .tv_nsec = due > now ? (long)(due - now) : 0 };
		if (ppoll(p, (nfds_t)ports, &wait, NULL) < 0 && errno != EINTR)
			return 1;
		for (int i = 0; i < ports; i++) {
			ssize_t n;

			for (int k = 0; k < BATCH && (n = read(port[i], bytes, sizeof(bytes))) > 0; k++)
				if ((size_t)n >= sizeof(struct virtio_net_hdr) + ETH_HLEN)
					take(bytes, (size_t)n, i);
		}
		release(false);
	}
	printf("forwarded %llu, RoCE %llu, lost %llu, reordered %llu\n", (unsigned long long)forwarded, (unsigned long long)roce,
	       (unsigned long long)lost, (unsigned long long)reordered);
	return 0;
}
