/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits and permissions of this host. */
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"

/* A vault holds a socket for each slot in flight, and the kernel counts those against the sender's limit. */
#define FILES_OF_VAULT 300u
#define FILES_USUAL    1024u

void doctor_judge_buffer(struct doctor_report *report, const char *name, uint64_t got)
{
	bool receive = strcmp(name, "rmem") == 0;
	const char *check = receive ? "receive buffer" : "send buffer";
	long long limit;
	char path[64], seen[64] = "";

	snprintf(path, sizeof(path), "/proc/sys/net/core/%s_max", name);
	if (doctor_number(report, path, &limit))
		snprintf(seen, sizeof(seen), " (net.core.%s_max is %lld)", name, limit);
	if (got >= DOCTOR_BUFFER_BYTES) {
		doctor_add(report, DOCTOR_OK, check, "%u KiB, what softverbs asks for%s", DOCTOR_BUFFER_BYTES >> 10, seen);
		return;
	}
	if (got == 0) {
		doctor_add(report, DOCTOR_PROBLEM, check, "no UDP socket can be made here%s", seen);
		doctor_remedy(report, "allow AF_INET sockets: a sandbox or a seccomp filter forbids them");
		return;
	}
	doctor_add(report, DOCTOR_NOTE, check, "%llu KiB of the %u KiB that softverbs asks for%s: on a wire %s",
		   (unsigned long long)(got >> 10), DOCTOR_BUFFER_BYTES >> 10, seen,
		   receive ? "bursts that are not read in time are lost, and sent again (RC) or gone (UC, UD)"
			   : "bursts wait for the interface sooner");
	doctor_remedy(report, "as root, of the host if this is a container: sysctl -w net.core.%s_max=%u", name,
		      DOCTOR_BUFFER_BYTES);
}

/* What the kernel gives when asked for what softverbs asks for. It tells twice the number: its own share is counted in. */
uint64_t doctor_buffer_granted(bool receive)
{
	int value = (int)DOCTOR_BUFFER_BYTES, name = receive ? SO_RCVBUF : SO_SNDBUF;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(value);
	bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, name, &value, sizeof(value)) == 0 &&
		getsockopt(fd, SOL_SOCKET, name, &value, &len) == 0 && value > 0;

	if (fd >= 0)
		close(fd);
	return ok ? (uint64_t)value / 2 : 0;
}

void doctor_check_buffers(struct doctor_report *report)
{
	doctor_judge_buffer(report, "rmem", doctor_buffer_granted(true));
	doctor_judge_buffer(report, "wmem", doctor_buffer_granted(false));
}

void doctor_judge_drops(struct doctor_report *report, uint64_t drops, const char *program, unsigned pid, uint64_t granted)
{
	if (granted > 0 && granted < DOCTOR_BUFFER_BYTES) {
		doctor_add(report, DOCTOR_PROBLEM, "lost packets", "%s (process %u) lost %" PRIu64
			   " packets: its receive buffer was full; this host grants %" PRIu64 " of %u KiB", program, pid, drops,
			   granted >> 10, DOCTOR_BUFFER_BYTES >> 10);
		doctor_remedy(report, "as root, of the host if this is a container: sysctl -w net.core.rmem_max=%u; then start it anew, "
			      "without SOFTVERBS_RCVBUF",
			      DOCTOR_BUFFER_BYTES);
		return;
	}
	doctor_add(report, DOCTOR_NOTE, "lost packets", "%s (process %u) lost %" PRIu64 " packets: it did not read its full receive "
		   "buffer in time", program, pid, drops);
	doctor_remedy(report, "let senders keep less in flight (perftest: -t), or unset SOFTVERBS_RCVBUF if it is small; "
			      "CPUs may be short");
}

void doctor_check_memlock(struct doctor_report *report)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		doctor_add(report, DOCTOR_OK, "memlock", "unlimited, and irrelevant: registered memory is not pinned");
	else
		doctor_add(report, DOCTOR_OK, "memlock", "%llu KiB, and irrelevant: registered memory is not pinned",
			   (unsigned long long)limit.rlim_cur >> 10);
}

void doctor_judge_files(struct doctor_report *report, uint64_t soft, uint64_t hard)
{
	if (hard < FILES_OF_VAULT) {
		doctor_add(report, DOCTOR_PROBLEM, "open files", "%llu at most: softverbsd needs %u, one socket for each slot",
			   (unsigned long long)hard, FILES_OF_VAULT);
		doctor_remedy(report, "raise the hard limit (ulimit -Hn, limits.conf, LimitNOFILE=) to %u", FILES_USUAL);
	} else if (soft < FILES_USUAL) {
		doctor_add(report, DOCTOR_NOTE, "open files",
			   "the soft limit is %llu: a program with many peers (three descriptors each) comes to its end early",
			   (unsigned long long)soft);
		doctor_remedy(report, "ulimit -n %llu", (unsigned long long)(hard < FILES_USUAL ? hard : FILES_USUAL));
	} else {
		doctor_add(report, DOCTOR_OK, "open files", "%llu", (unsigned long long)soft);
	}
}

void doctor_check_files(struct doctor_report *report)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		doctor_judge_files(report, limit.rlim_cur, limit.rlim_max);
}

/* The kernel counts what a user has in flight over all network namespaces, and holds it against the limit of who sends. */
void doctor_judge_flight(struct doctor_report *report, int error)
{
	if (error == 0) {
		doctor_add(report, DOCTOR_OK, "descriptors", "can be handed from process to process");
		return;
	}
	doctor_add(report, DOCTOR_PROBLEM, "descriptors", "cannot be handed from process to process (%s)%s", strerror(error),
		   error == ETOOMANYREFS ? ": too many brokers of this user, each in a network namespace of its own" : "");
	doctor_remedy(report, error == ETOOMANYREFS ? "end RDMA programs in other namespaces or containers of this user, "
						      "or raise ulimit -n"
						    : "allow SCM_RIGHTS over UNIX sockets: a sandbox forbids it");
}

void doctor_check_flight(struct doctor_report *report)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec byte = {(char[]){'x'}, 1};
	struct msghdr m = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) {
		doctor_judge_flight(report, errno);
		return;
	}
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &pair[0], sizeof(int));
	doctor_judge_flight(report, sendmsg(pair[0], &m, MSG_DONTWAIT) == 1 ? 0 : errno);
	close(pair[0]);
	close(pair[1]);
}

void doctor_check_ptrace(struct doctor_report *report)
{
	static const char *const scopes[] = {"any process of the user", "its own children", "those whom root allows", "nobody"};
	long long scope;

	if (!doctor_number(report, "/proc/sys/kernel/yama/ptrace_scope", &scope)) {
		doctor_add(report, DOCTOR_OK, "ptrace scope", "no Yama here, and not needed: softverbs traces nobody");
		return;
	}
	doctor_add(report, DOCTOR_OK, "ptrace scope", "%lld, and irrelevant: softverbs traces nobody", scope);
	if (scope > 0 && scope < (long long)(sizeof(scopes) / sizeof(scopes[0])))
		doctor_remedy(report, "a debugger may attach to %s; as root: sysctl -w kernel.yama.ptrace_scope=0", scopes[scope]);
}

void doctor_judge_namespaces(struct doctor_report *report, int error)
{
	long long number;

	if (error == 0) {
		doctor_add(report, DOCTOR_OK, "user namespaces",
			   "allowed: unshare -rn gives a network, and a port 4791, of one's own");
		return;
	}
	doctor_add(report, DOCTOR_NOTE, "user namespaces", "not allowed (%s): no private network without root, some tests are skipped",
		   strerror(error));
	if (doctor_number(report, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", &number) && number != 0)
		doctor_remedy(report, "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
	else if (doctor_number(report, "/proc/sys/kernel/unprivileged_userns_clone", &number) && number == 0)
		doctor_remedy(report, "as root: sysctl -w kernel.unprivileged_userns_clone=1");
	else if (doctor_number(report, "/proc/sys/user/max_user_namespaces", &number) && number == 0)
		doctor_remedy(report, "as root: sysctl -w user.max_user_namespaces=10000");
	else
		doctor_remedy(report, "a container's seccomp filter forbids them, most likely; programs do not need them");
}

void doctor_check_namespaces(struct doctor_report *report)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : errno);
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return;
	doctor_judge_namespaces(report, WEXITSTATUS(status));
}

static bool ipv6_works(void)
{
	int off = 0, fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	bool ok = fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
		bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

void doctor_check_interfaces(struct doctor_report *report)
{
	struct ifaddrs *list = NULL;
	bool lo = false, any = false, v4 = false, v6 = false;

	if (getifaddrs(&list) != 0)
		return;
	for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
		if ((i->ifa_flags & IFF_UP) == 0)
			continue;
		any = true;
		lo = lo || (i->ifa_flags & IFF_LOOPBACK) != 0;
		v4 = v4 || (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET);
		v6 = v6 || (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET6);
	}
	freeifaddrs(list);
	if (!any) {
		doctor_add(report, DOCTOR_PROBLEM, "interfaces", "none is up, so no device is active");
		doctor_remedy(report, "as root of this network namespace: ip link set lo up");
	} else if (!lo) {
		doctor_add(report, DOCTOR_NOTE, "interfaces", "lo is down: no sv_lo, and programs that meet at localhost do not");
		doctor_remedy(report, "as root of this network namespace: ip link set lo up");
	} else {
		doctor_add(report, DOCTOR_OK, "interfaces", "up, lo among them%s; softverbs devices lists them",
			   v4 ? "" : " (none has an IPv4 address)");
	}
	if (v6 && ipv6_works()) {
		doctor_add(report, DOCTOR_OK, "IPv6", "present");
		return;
	}
	doctor_add(report, DOCTOR_NOTE, "IPv6", "%s: only GIDs of IPv4 addresses reach other hosts",
		   v6 ? "interfaces have addresses, but no socket can be bound" : "no interface has an address");
	doctor_remedy(report, "if it is wanted, as root: sysctl -w net.ipv6.conf.all.disable_ipv6=0");
}

void doctor_check_cpus(struct doctor_report *report)
{
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;

	if (cpus != 1) {
		if (cpus > 1)
			doctor_add(report, DOCTOR_OK, "CPUs", "%d", cpus);
		return;
	}
	doctor_add(report, DOCTOR_NOTE, "CPUs", "one: two programs that spin take turns, and latencies are those of the scheduler");
	doctor_remedy(report, "give this machine or container a second one, or let programs wait for events (perftest: -e)");
}
