/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: an ordinary user may have as many descriptors in flight (SCM_RIGHTS, not yet received) as the *sender's* soft
 * RLIMIT_NOFILE says, over all his processes and network namespaces; beyond that sendmsg fails with ETOOMANYREFS. So a vault
 * of 255 sockets fits under the usual soft limit of 1024, with any number of copies peeked out of it.
 * Without it: the vault could not hold a socket for every slot. What it does limit: four full vaults of one user, after
 * which no process of his can pass a descriptor at all. --wrong lowers the limit to 128.
 */
#include "platform/probe_net.h"

#include <sys/resource.h>

#define VAULT 255
#define USUAL_LIMIT 1024

/* Adds sockets to the vault until `most` are in it; gives back how many are, and the errno that ended it. */
static int vault_fill(int vault, int have, int most, int *err)
{
	int udp = probe_udp_socket();

	*err = 0;
	while (have < most && (*err = probe_fd_send(vault, "v", 1, udp)) == 0)
		have++;
	close(udp);
	return have;
}

static void user_run(void)
{
	struct rlimit limit;
	int vault[2], more[2], err, n, total, fd, status;
	pid_t other;
	char byte;

	SETUP(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = probe.wrong ? 128 : USUAL_LIMIT;
	if (limit.rlim_max < limit.rlim_cur)
		SKIP("the hard limit of open files is %lu", (unsigned long)limit.rlim_max);
	SETUP(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	SETUP(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, vault) == 0);
	n = vault_fill(vault[0], 0, VAULT, &err);
	EXPECT(n == VAULT, "only %d sockets fit into the vault: %s", n, strerror(err));
	for (int i = 0; i < VAULT; i++) { /* copies cost open files, but are not in flight */
		probe_set_int(vault[1], SOL_SOCKET, SO_PEEK_OFF, i);
		EXPECT(probe_fd_receive(vault[1], &byte, 1, MSG_PEEK, &fd) == 1 && fd >= 0, "copy %d: %s", i, strerror(errno));
		close(fd);
	}

	/* How far it goes: more socketpairs, as the bytes of one end somewhere after 255. */
	total = n;
	do {
		SETUP(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, more) == 0);
		total += vault_fill(more[0], 0, 200, &err);
	} while (err == 0 && total < 8 * USUAL_LIMIT);
	EXPECT(err == ETOOMANYREFS, "%d descriptors in flight and no limit in sight: %s", total, strerror(err));
	EXPECT(total >= USUAL_LIMIT && total <= USUAL_LIMIT + 1, "the limit is %d, not RLIMIT_NOFILE", total);

	/* It is the user's, not the process's; and a sender with a higher limit of his own gets through. */
	other = probe_fork();
	if (other == 0) {
		SETUP(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, more) == 0);
		err = probe_fd_send(more[0], "o", 1, vault[0]);
		EXPECT(err == ETOOMANYREFS, "another process of the user has its own allowance: %s", strerror(err));
		limit.rlim_cur = limit.rlim_max;
		SETUP(setrlimit(RLIMIT_NOFILE, &limit) == 0);
		err = probe_fd_send(more[0], "o", 1, vault[0]);
		EXPECT(err == 0 || limit.rlim_max <= USUAL_LIMIT + 1, "a higher limit of the sender does not help: %s", strerror(err));
		_exit(PROBE_PASS);
	}
	status = probe_reap(other);
	if (WEXITSTATUS(status) != PROBE_PASS)
		probe_end(WEXITSTATUS(status));
	probe_end(PROBE_PASS);
}

int main(int argc, char **argv)
{
	pid_t child;

	probe_begin(argc, argv);
	child = probe_fork();
	if (child == 0) {
		probe_become(60000 + (uid_t)getpid() % 5000); /* nobody else's descriptors count for him */
		user_run();
	}
	return probe_join(child) ? PROBE_PASS : PROBE_SKIP;
}
