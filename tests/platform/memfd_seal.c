/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: F_SEAL_SHRINK on a memfd refuses every later truncate (EPERM), and F_SEAL_SEAL keeps the seals; fallocate gives
 * the file its pages at once; MADV_DONTFORK leaves a mapping out of a forked child.
 * Without it: a peer that shares a ring with us could truncate it, and our next access is SIGBUS; a host short of memory
 * would do the same later; a forked child would write into rings that belong to its parent.
 * Also held: a peer that has the descriptor can still punch a hole (the ring then reads as zeros: hostile content, no
 * signal), and MADV_WIPEONFORK refuses shared mappings, so leaving out is the only way. --wrong makes the ring without the
 * seal.
 */
#include "platform/probe_net.h"

#include <sys/mman.h>
#include <sys/stat.h>

#define RING_LEN (256 * 1024)

static int ring_create(bool sealed)
{
	int fd = memfd_create("softverbs-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct stat st;

	SETUP(fd >= 0 && ftruncate(fd, RING_LEN) == 0);
	SETUP(fstat(fd, &st) == 0);
	EXPECT(st.st_blocks == 0, "a fresh memfd has pages already: the next check says nothing");
	EXPECT(fallocate(fd, 0, 0, RING_LEN) == 0, "fallocate: %s", strerror(errno));
	SETUP(fstat(fd, &st) == 0);
	EXPECT(st.st_blocks * 512 >= RING_LEN, "fallocate left holes: %lld blocks", (long long)st.st_blocks);
	if (sealed) {
		EXPECT(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, "sealing: %s", strerror(errno));
		EXPECT(fcntl(fd, F_GET_SEALS) == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), "seals are not what was set");
	}
	return fd;
}

/* The peer holds the descriptor by SCM_RIGHTS, and is hostile. Gives back the errno of its truncate. */
static int peer_truncate(int fd)
{
	int channel[2], err;
	pid_t peer;

	SETUP(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) == 0);
	peer = probe_fork();
	if (peer == 0) {
		int mine;
		char byte;

		SETUP(probe_fd_receive(channel[1], &byte, 1, 0, &mine) == 1 && mine >= 0);
		_exit(ftruncate(mine, 0) == 0 ? 0 : errno);
	}
	SETUP(probe_fd_send(channel[0], "r", 1, fd) == 0);
	err = WEXITSTATUS(probe_reap(peer));
	close(channel[0]);
	close(channel[1]);
	return err;
}

/* The signal that touching both ends of a mapping ends with, or 0. */
static int touch_signal(volatile uint8_t *ring)
{
	pid_t child = probe_fork();
	int status;

	if (child == 0) {
		signal(SIGBUS, SIG_DFL);  /* a sanitizer's handler would turn these into an exit */
		signal(SIGSEGV, SIG_DFL);
		ring[0] = 1;
		ring[RING_LEN - 1] = 1;
		_exit(0);
	}
	status = probe_reap(child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static volatile uint8_t *ring_map(int fd)
{
	void *p = mmap(NULL, RING_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	SETUP(p != MAP_FAILED);
	return p;
}

int main(int argc, char **argv)
{
	volatile uint8_t *ring;
	int fd, err;

	probe_begin(argc, argv);
	fd = ring_create(!probe.wrong);
	ring = ring_map(fd);
	err = peer_truncate(fd);
	EXPECT(touch_signal(ring) == 0, "a peer's truncate (%s) makes our access signal %d", strerror(err), touch_signal(ring));
	EXPECT(err == EPERM, "truncating a sealed ring: %s", strerror(err));
	EXPECT(ftruncate(fd, 2 * RING_LEN) == -1 && errno == EPERM, "growing a sealed ring: %s", strerror(errno));
	EXPECT(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == -1 && errno == EPERM, "a peer can add seals: %s", strerror(errno));

	ring[RING_LEN - 1] = 7;
	EXPECT(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, RING_LEN) == 0, "punching: %s", strerror(errno));
	EXPECT(ring[RING_LEN - 1] == 0 && touch_signal(ring) == 0, "a punched ring is not a ring of zeros");

	EXPECT(madvise((void *)ring, RING_LEN, MADV_WIPEONFORK) == -1 && errno == EINVAL, "WIPEONFORK takes shared mappings now");
	EXPECT(madvise((void *)ring, RING_LEN, MADV_DONTFORK) == 0, "DONTFORK: %s", strerror(errno));
	EXPECT(touch_signal(ring) == SIGSEGV, "a forked child still has the ring: signal %d", touch_signal(ring));
	ring[0] = 9;
	EXPECT(ring[0] == 9, "the parent lost its ring");

	/* The seal is what did it. */
	close(fd);
	munmap((void *)ring, RING_LEN);
	fd = ring_create(false);
	ring = ring_map(fd);
	EXPECT(peer_truncate(fd) == 0 && touch_signal(ring) == SIGBUS, "without a seal a truncate is harmless: the probe cannot tell");
	munmap((void *)ring, RING_LEN);
	close(fd);
	return PROBE_PASS;
}
