/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a second user cannot join a SO_REUSEPORT group (EADDRINUSE); a bind *without* SO_REUSEPORT fails as long as any
 * member lives, and succeeds afterwards; SO_PEERCRED tells the accepting end who connected, and the connecting end who
 * called listen().
 * Without it: another user's program could take packets out of our group, a new broker could join the group of survivors
 * that it does not know (two vaults, wrong order), or a client would trust a stranger's broker. --wrong looks for survivors
 * with a socket that has SO_REUSEPORT: it joins them instead of seeing them.
 */
#include "platform/probe_net.h"

#include <sys/un.h>

/* Runs `body` as another user and gives back its exit status, which is an errno. */
static int as_user(uid_t uid, int (*body)(uint16_t), uint16_t port)
{
	pid_t pid = probe_fork();
	int status;

	if (pid == 0) {
		probe_become(uid);
		_exit(body(port));
	}
	status = probe_reap(pid);
	SETUP(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int bind_shared(uint16_t port)
{
	return probe_udp_bind(probe_udp_socket(), true, port);
}

static int bind_alone(uint16_t port)
{
	return probe_udp_bind(probe_udp_socket(), probe.wrong, port);
}

static void ports_check(bool root)
{
	int ready[2], err;
	uint16_t port;
	pid_t holder;

	SETUP(pipe(ready) == 0);
	holder = probe_fork();
	if (holder == 0) {
		int fd;

		probe_become(PROBE_NOBODY);
		fd = probe_udp_socket();
		SETUP(probe_udp_bind(fd, true, 0) == 0);
		port = probe_udp_port(fd);
		SETUP(write(ready[1], &port, sizeof(port)) == sizeof(port));
		for (;;)
			pause();
	}
	SETUP(read(ready[0], &port, sizeof(port)) == sizeof(port));

	err = as_user(PROBE_NOBODY, bind_shared, port);
	EXPECT(err == 0, "a second process of the same user cannot join: %s", strerror(err));
	if (root) {
		err = as_user(PROBE_NOBODY - 1, bind_shared, port);
		EXPECT(err == EADDRINUSE, "another user joins the group: %s", strerror(err));
		err = as_user(0, bind_shared, port);
		EXPECT(err == EADDRINUSE, "root joins the group of a user: %s", strerror(err));
	}
	err = as_user(PROBE_NOBODY, bind_alone, port);
	EXPECT(err == EADDRINUSE, "the survivor is not seen: %s", strerror(err));
	SETUP(kill(holder, SIGKILL) == 0);
	probe_reap(holder);
	err = as_user(PROBE_NOBODY, bind_alone, port);
	EXPECT(err == 0, "the port stays taken after its last socket: %s", strerror(err));
	close(ready[0]);
	close(ready[1]);
}

static struct ucred peer_of(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	SETUP(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0);
	return cred;
}

/* A listener of one user, accepting in a child of its own, and a client of another one (the same where we cannot choose). */
static void peercred_check(bool root)
{
	uid_t server_uid = root ? PROBE_NOBODY : getuid(), client_uid = root ? PROBE_NOBODY - 1 : getuid();
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct { pid_t client; } hello;
	socklen_t name_len;
	pid_t server, client;
	int ready[2];

	/* sun_path[0] is NUL: an abstract name */
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "softverbs-probe-%d", (int)getpid());
	name_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name.sun_path + 1));
	SETUP(pipe(ready) == 0);
	server = probe_fork();
	if (server == 0) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), peer;
		pid_t child;

		probe_become(server_uid);
		SETUP(fd >= 0 && bind(fd, (struct sockaddr *)&name, name_len) == 0 && listen(fd, 4) == 0);
		child = probe_fork();
		if (child == 0) {
			struct ucred cred;

			SETUP(write(ready[1], "r", 1) == 1);
			peer = accept(fd, NULL, NULL);
			SETUP(peer >= 0 && recv(peer, &hello, sizeof(hello), 0) == sizeof(hello));
			cred = peer_of(peer);
			EXPECT(cred.uid == client_uid && cred.pid == hello.client, "the listener sees uid %u pid %d, the client is %u %d",
				cred.uid, cred.pid, client_uid, hello.client);
			SETUP(send(peer, "", 1, 0) == 1);
			probe_end(PROBE_PASS);
		}
		probe_join(child);
		probe_end(PROBE_PASS);
	}
	SETUP(read(ready[0], &(char){ 0 }, 1) == 1);
	client = probe_fork();
	if (client == 0) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		struct ucred cred;
		char byte;

		probe_become(client_uid);
		SETUP(fd >= 0 && connect(fd, (struct sockaddr *)&name, name_len) == 0);
		cred = peer_of(fd);
		/* Who called listen(), though a child of his accepts: the pid is a hint only, the uid holds. */
		EXPECT(cred.uid == server_uid && cred.pid == server, "the client sees uid %u pid %d, the listener is %u %d", cred.uid,
			cred.pid, server_uid, server);
		hello.client = getpid();
		SETUP(send(fd, &hello, sizeof(hello), 0) == sizeof(hello) && recv(fd, &byte, 1, 0) == 1);
		probe_end(PROBE_PASS);
	}
	probe_join(client);
	probe_join(server);
	close(ready[0]);
	close(ready[1]);
}

int main(int argc, char **argv)
{
	bool root = geteuid() == 0;

	probe_begin(argc, argv);
	ports_check(root);
	peercred_check(root);
	if (!root)
		SKIP("the same-user half passed; a second uid needs root");
	return PROBE_PASS;
}
