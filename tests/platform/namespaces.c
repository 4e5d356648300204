/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: an abstract AF_UNIX name belongs to its network namespace (another one gets ECONNREFUSED and may bind the same
 * name), while a socket in the file system is reached from every namespace that sees the file; a UDP port belongs to its
 * namespace too.
 * Without it: "the broker of (network namespace, uid)" would need more than a name, and a program in a container would talk
 * to a broker whose addresses and interfaces it does not have. --wrong looks the broker up by a file-system path: it reaches
 * the broker of the wrong namespace.
 */
#include "platform/probe_net.h"

#include <sys/un.h>

static struct sockaddr_un address;
static socklen_t address_len;
static char path[64];

static void address_abstract(void)
{
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "softverbs-probe-ns-%d", (int)probe.main_pid);
	address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1));
}

static void address_file(void)
{
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	address_len = sizeof(address);
}

static int listen_there(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	SETUP(fd >= 0 && bind(fd, (struct sockaddr *)&address, address_len) == 0 && listen(fd, 4) == 0);
	return fd;
}

static int connect_there(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	SETUP(fd >= 0);
	err = connect(fd, (struct sockaddr *)&address, address_len) == 0 ? 0 : errno;
	close(fd);
	return err;
}

static void other_namespace_run(uint16_t port)
{
	int err;

	if (!probe_netns_enter())
		SKIP("no network namespace of our own");
	if (probe.wrong)
		address_file();
	else
		address_abstract();
	err = connect_there();
	EXPECT(err == ECONNREFUSED, "the name of one namespace is found from another: %s", strerror(err));
	close(listen_there());
	err = probe_udp_bind(probe_udp_socket(), false, port);
	EXPECT(err == 0, "a port taken in one namespace is taken in another: %s", strerror(err));
	address_file();
	err = connect_there();
	EXPECT(err == 0, "a file-system socket is not reached from another namespace: %s", strerror(err));
	probe_end(PROBE_PASS);
}

int main(int argc, char **argv)
{
	int abstract, file, udp, err, status;
	char dir[32] = "/tmp/softverbs-probe-XXXXXX";
	pid_t child;

	probe_begin(argc, argv);
	SETUP(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/s", dir);
	udp = probe_udp_socket();
	SETUP(probe_udp_bind(udp, false, 0) == 0);
	address_file();
	file = listen_there();
	address_abstract();
	abstract = listen_there();
	err = connect_there();
	child = probe_fork();
	if (child == 0)
		other_namespace_run(probe_udp_port(udp));
	status = probe_reap(child);
	unlink(path);
	rmdir(dir);
	EXPECT(err == 0, "an abstract name is not found in its own namespace: %s", strerror(err));
	close(abstract);
	close(file);
	close(udp);
	return WIFEXITED(status) ? WEXITSTATUS(status) : PROBE_BROKEN;
}
