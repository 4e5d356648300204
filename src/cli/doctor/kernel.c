/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the running kernel can do, found by doing it. */
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static bool udp_option(int name, int value)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && setsockopt(fd, IPPROTO_UDP, name, &value, sizeof(value)) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool has_segment(void)
{
	return udp_option(UDP_SEGMENT, 1024);
}

static bool has_gro(void)
{
	return udp_option(UDP_GRO, 1);
}

static bool has_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_pwait2(void)
{
	struct epoll_event event;
	struct timespec none = {0};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	bool ok = epoll >= 0 && epoll_pwait2(epoll, &event, 1, &none, NULL) == 0;

	if (epoll >= 0)
		close(epoll);
	return ok;
}

/* The selector belongs to the group, so the socket must be in one; it need not be bound for the kernel to take the program. */
static bool has_selector(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	const struct sock_fprog program = {1, code};
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int on = 1, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0 &&
		bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool has_sealing(void)
{
	int fd = memfd_create("softverbs-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_process_vm(void)
{
	char from = 1, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

static const struct feature {
	const char *name;
	bool (*works)(void);
	enum doctor_verdict without;
	const char *since, *loss;
} features[] = {
	{"pidfd_open", has_pidfd, DOCTOR_PROBLEM, "5.3", "the death of a program is not seen"},
	{"memfd_create", has_sealing, DOCTOR_PROBLEM, "3.17", "programs of one host cannot share memory"},
	{"SO_ATTACH_REUSEPORT_CBPF", has_selector, DOCTOR_PROBLEM, "4.5", "port 4791 cannot be shared, so there is no wire"},
	{"UDP_SEGMENT", has_segment, DOCTOR_NOTE, "4.18", "one system call for each packet that is sent"},
	{"UDP_GRO", has_gro, DOCTOR_NOTE, "5.0", "one system call for each packet that comes"},
	{"epoll_pwait2", has_pwait2, DOCTOR_NOTE, "5.11", "timers are milliseconds late"},
	{"process_vm_readv", has_process_vm, DOCTOR_NOTE, "3.2",
	 "copies in programs that handle SIGSEGV themselves look at /proc/self/maps first, which is slow"},
};

void doctor_check_kernel(struct doctor_report *report)
{
	struct utsname host;
	unsigned missing = 0;

	uname(&host);
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		const struct feature *f = &features[i];

		if (f->works())
			continue;
		missing++;
		doctor_add(report, f->without, "kernel", "Linux %s: no %s (%s): %s", host.release, f->name, strerror(errno),
			   f->loss);
		doctor_remedy(report, "Linux %s has it; on a newer one a seccomp filter, such as a container's, forbids it", f->since);
	}
	if (missing == 0)
		doctor_add(report, DOCTOR_OK, "kernel", "Linux %s has all that softverbs uses", host.release);
}
