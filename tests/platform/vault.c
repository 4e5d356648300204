/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a SO_REUSEPORT group with a classic-BPF selector gives a datagram to the socket whose number in the group is the
 * number the filter returns, over IPv4 and IPv6; a socket in flight in a socketpair (SCM_RIGHTS) stays in the group whoever
 * dies; MSG_PEEK with SO_PEEK_OFF gives copies of the descriptors in order and leaves them there. All as an ordinary user.
 * Without it: processes without privileges could not share UDP port 4791, or the death of one would send the packets of
 * another to a third. That a closed member is replaced by the last one is the reason for the vault: --wrong shows it.
 *
 * Also held here, because the broker depends on it: a number beyond the group falls back to a hash (some member gets the
 * stray), and a datagram too short for the filter goes to member 0. SO_PEEK_OFF belongs to the vault's end, which all its
 * holders share: two that peek at once get each other's, so each message carries its slot and a reader compares. The
 * messages count against the sender's buffer: 278 of one byte fit into the default of 208 KiB.
 */
#include "platform/probe_net.h"

#include <linux/filter.h>

#define SLOTS_MAX 255
#define SENDERS 4
#define DEST_QP_OFFSET 5 /* of the most significant byte of DestQP in the BTH */

static int slots;

static int group_join(uint16_t port)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DEST_QP_OFFSET),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	struct sock_fprog prog = { .len = 2, .filter = code };
	int fd = probe_udp_socket(), err = probe_udp_bind(fd, true, port);

	EXPECT(err == 0, "joining the group of port %u: %s", port, strerror(err));
	EXPECT(setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) == 0, "selector: %s", strerror(errno));
	return fd;
}

/* The broker: fills the vault, hands its receiving end over and waits for its death. */
static void maker_run(int control, uint16_t port)
{
	int vault[2];

	SETUP(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, vault) == 0); /* full is an error, not a wait */
	for (int i = 0; i < slots; i++) {
		uint8_t slot = (uint8_t)i;
		int fd = group_join(port), err;

		if (port == 0)
			port = probe_udp_port(fd);
		err = probe_fd_send(vault[0], &slot, 1, fd);
		EXPECT(err == 0, "socket %d does not fit into the vault: %s", i, strerror(err));
		close(fd);
	}
	SETUP(probe_fd_send(control, &port, sizeof(port), vault[1]) == 0);
	for (;;)
		pause();
}

/* A copy of the socket of one slot; the vault keeps its own. */
static int vault_peek(int vault, int slot)
{
	uint8_t byte = 0;
	int fd;

	probe_set_int(vault, SOL_SOCKET, SO_PEEK_OFF, slot);
	EXPECT(probe_fd_receive(vault, &byte, 1, MSG_PEEK | MSG_DONTWAIT, &fd) == 1 && fd >= 0, "slot %d cannot be peeked", slot);
	EXPECT(byte == slot, "peeked slot %d instead of %d", byte, slot);
	return fd;
}

/* The place where the next peek looks is not a process's own: why each message carries its slot. */
static void shared_place_check(int vault)
{
	uint8_t byte = 0;
	pid_t other = probe_fork();
	int fd;

	if (other == 0) {
		close(vault_peek(vault, 2));
		probe_end(PROBE_PASS);
	}
	probe_join(other);
	EXPECT(probe_fd_receive(vault, &byte, 1, MSG_PEEK | MSG_DONTWAIT, &fd) == 1 && byte == 3, "after another's peek of 2 ours is %d",
		byte);
	close(fd);
}

/* Reads all there is, waiting until `wanted` are there; any slot's when slot is -1. */
static int drain(int fd, int slot, int wanted)
{
	uint8_t data[16];
	int n = 0;

	for (ssize_t got; (n >= wanted || probe_udp_arrives(fd)) && (got = recv(fd, data, sizeof(data), 0)) >= 0; n++)
		EXPECT(slot < 0 || (got > DEST_QP_OFFSET && data[DEST_QP_OFFSET] == slot), "slot %d got a datagram of slot %d", slot,
			got > DEST_QP_OFFSET ? data[DEST_QP_OFFSET] : -1);
	return n;
}

/* Sends to every slot over both families from several ports; each must get its own. A slot that nobody holds is left out. */
static void demultiplex_check(const int *member, uint16_t port, const char *when)
{
	static const char *const host[] = { "::1", "::ffff:127.0.0.1" };
	uint8_t data[16] = { 0 };

	for (int h = 0; h < 2; h++) {
		struct sockaddr_in6 to = probe_address(host[h], port);

		for (int s = 0; s < SENDERS; s++) {
			int fd = probe_udp_socket();

			for (int i = 0; i < slots; i++) {
				data[DEST_QP_OFFSET] = (uint8_t)i;
				SETUP(member[i] < 0 || probe_udp_send(fd, &to, data, sizeof(data), 0) == 0);
			}
			close(fd);
		}
		for (int i = 0; i < slots; i++)
			if (member[i] >= 0) {
				int n = drain(member[i], i, SENDERS);

				EXPECT(n == SENDERS, "%s, to %s: slot %d got %d of %d", when, host[h], i, n, SENDERS);
			}
	}
}

/* Where one odd datagram ends up: exactly one member; its number is returned. */
static int stray_find(const int *member, uint16_t port, const uint8_t *data, size_t len)
{
	struct sockaddr_in6 to = probe_address("::1", port);
	int fd = probe_udp_socket(), total = 0, where = -1;
	struct pollfd any[SLOTS_MAX];

	SETUP(probe_udp_send(fd, &to, data, len, 0) == 0);
	for (int i = 0; i < slots; i++)
		any[i] = (struct pollfd){ member[i], POLLIN, 0 };
	poll(any, (nfds_t)slots, 1000);
	for (int i = 0; i < slots; i++) {
		int n = drain(member[i], -1, 0);

		total += n;
		where = n ? i : where;
	}
	EXPECT(total == 1, "a stray datagram arrived %d times", total);
	close(fd);
	return where;
}

static void survivor_run(uint16_t port)
{
	int control[2], vault, member[SLOTS_MAX], second, err;
	uint8_t stray[16] = { [DEST_QP_OFFSET] = 255 };
	pid_t maker;

	SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) == 0);
	maker = probe_fork();
	if (maker == 0)
		maker_run(control[0], port);
	close(control[0]);
	if (probe_fd_receive(control[1], &port, sizeof(port), 0, &vault) != sizeof(port)) {
		probe_join(maker);
		SETUP(!"the maker gave up");
	}
	for (int i = 0; i < slots; i++)
		member[i] = vault_peek(vault, i);
	shared_place_check(vault);
	demultiplex_check(member, port, "maker alive");

	SETUP(kill(maker, SIGKILL) == 0);
	probe_reap(maker);
	demultiplex_check(member, port, "maker killed");

	/* A process dies: its copy goes, the socket in flight stays, a later peek gets the same one. */
	close(member[1]);
	member[1] = -1;
	if (probe.wrong) { /* nothing in flight: the death of a process closes a member */
		uint8_t byte;
		int fd;

		probe_set_int(vault, SOL_SOCKET, SO_PEEK_OFF, -1);
		while (probe_fd_receive(vault, &byte, 1, MSG_DONTWAIT, &fd) == 1)
			close(fd);
	}
	demultiplex_check(member, port, "a member's process dead");
	member[1] = vault_peek(vault, 1);
	demultiplex_check(member, port, "the slot taken again");

	second = probe_udp_socket();
	err = probe_udp_bind(second, false, port);
	EXPECT(err == EADDRINUSE, "binding without SO_REUSEPORT does not tell of survivors: %s", strerror(err));
	close(second);

	EXPECT(stray_find(member, port, stray, DEST_QP_OFFSET) == 0, "a datagram too short for the filter is not member 0's");
	if (slots < 255)
		printf("port %u: a number beyond the group went to member %d\n", port, stray_find(member, port, stray, sizeof(stray)));
	for (int i = 0; i < slots; i++)
		close(member[i]);
	close(vault);

	/* With the last holder the whole group goes. */
	second = probe_udp_socket();
	err = probe_udp_bind(second, false, port);
	EXPECT(err == 0, "the group outlives its vault: %s", strerror(err));
	close(second);
	close(control[1]);
}

int main(int argc, char **argv)
{
	pid_t child;

	probe_begin(argc, argv);
	slots = probe.long_form ? SLOTS_MAX : 8;
	child = probe_fork();
	if (child == 0) {
		probe_become(PROBE_NOBODY);
		survivor_run(0);
		probe_end(PROBE_PASS);
	}
	if (!probe_join(child))
		return PROBE_SKIP;
	child = probe_fork();
	if (child == 0) {
		if (!probe_netns_enter())
			SKIP("port 4791 itself not tried: no network namespace of our own");
		probe_become(PROBE_NOBODY);
		survivor_run(4791);
		probe_end(PROBE_PASS);
	}
	probe_join(child);
	return PROBE_PASS;
}
