/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* UDP port 4791: is it free, ours, or somebody else's? */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"

#define ROCE_PORT 4791

/* The first socket of the port that the kernel lists. */
static bool socket_listed(const struct doctor_report *report, uid_t *uid, unsigned long *inode)
{
	static const char *const tables[] = {"/proc/net/udp", "/proc/net/udp6"};
	char path[512], line[512];
	bool found = false;

	for (size_t i = 0; i < 2 && !found; i++) {
		snprintf(path, sizeof(path), "%s%s", report->root, tables[i]);
		FILE *f = fopen(path, "re");

		while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL) {
			unsigned port, user;

			found = sscanf(line, "%*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u %*s %lu", &port, &user, inode) == 3 &&
				port == ROCE_PORT;
			if (found)
				*uid = user;
		}
		if (f != NULL)
			fclose(f);
	}
	return found;
}

/* Has this process a descriptor of the socket? Of other users' processes we may not know: false. */
static bool process_has(const char *proc, const char *pid, const char *target)
{
	char path[1024], link[64];
	bool found = false;

	snprintf(path, sizeof(path), "%s/%s/fd", proc, pid);
	DIR *dir = opendir(path);

	if (dir == NULL)
		return false;
	for (struct dirent *e = readdir(dir); e != NULL && !found; e = readdir(dir)) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);

		if (len > 0) {
			link[len] = '\0';
			found = strcmp(link, target) == 0;
		}
	}
	closedir(dir);
	return found;
}

static void command_read(const char *proc, const char *pid, char out[16])
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s/comm", proc, pid);
	FILE *f = fopen(path, "re");

	if (f != NULL && fgets(out, 16, f) != NULL)
		out[strcspn(out, "\n")] = '\0';
	if (f != NULL)
		fclose(f);
}

void doctor_port_holder(const struct doctor_report *report, struct doctor_holder *out)
{
	char proc[512], target[40], path[512];
	struct stat st;
	unsigned long inode = 0;

	*out = (struct doctor_holder){0};
	snprintf(path, sizeof(path), "%s/sys/module/rdma_rxe", report->root);
	out->rxe = stat(path, &st) == 0;
	out->listed = socket_listed(report, &out->uid, &inode);
	if (!out->listed)
		return;
	snprintf(proc, sizeof(proc), "%s/proc", report->root);
	snprintf(target, sizeof(target), "socket:[%lu]", inode);
	DIR *dir = opendir(proc);

	for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL && out->pid == 0; e = readdir(dir)) {
		if (!isdigit((unsigned char)e->d_name[0]) || !process_has(proc, e->d_name, target))
			continue;
		out->pid = (pid_t)atol(e->d_name);
		command_read(proc, e->d_name, out->command);
	}
	if (dir != NULL)
		closedir(dir);
}

static void say_foreign(struct doctor_report *report, const char *reason, const struct doctor_holder *h, uid_t self)
{
	char who[128];

	if (h->pid != 0)
		snprintf(who, sizeof(who), "taken by %s, process %ld of user %ld", h->command, (long)h->pid, (long)h->uid);
	else if (h->listed)
		snprintf(who, sizeof(who), "taken by a program of %s %ld", h->uid == self ? "this user," : "user", (long)h->uid);
	else
		snprintf(who, sizeof(who), "taken%s", h->rxe ? " by the kernel's rxe" : " by somebody whom the kernel does not list");
	doctor_add(report, DOCTOR_PROBLEM, "UDP port 4791", "%s%s%s: devices reach this host only", who,
		   reason[0] != '\0' ? "; the broker says: " : "", reason);
	if (h->pid != 0)
		doctor_remedy(report, "end process %ld and all RDMA programs of this user; or work in a network of one's own: "
				      "unshare -rn", (long)h->pid);
	else if (!h->listed && h->rxe)
		doctor_remedy(report, "as root: rmmod rdma_rxe; then end all RDMA programs of this user, so that a new broker looks again");
	else
		doctor_remedy(report, "end that program (as root: ss -lunp sport = :4791 names it); or work in a network of one's own: "
				      "unshare -rn");
}

void doctor_judge_port(struct doctor_report *report, enum doctor_port state, int ours, const char *reason,
		       const struct doctor_holder *holder, uid_t self)
{
	if (ours == 1) {
		doctor_add(report, DOCTOR_OK, "UDP port 4791", "ours: the broker of this user has it");
	} else if (state == DOCTOR_PORT_TAKEN) {
		say_foreign(report, reason, holder, self);
	} else if (ours == 0) {
		doctor_add(report, DOCTOR_PROBLEM, "UDP port 4791", "the broker runs without it: %s", reason);
		doctor_remedy(report, "end all RDMA programs of this user: the next one starts a broker that looks again");
	} else if (state == DOCTOR_PORT_FORBIDDEN) {
		doctor_add(report, DOCTOR_PROBLEM, "UDP port 4791", "may not be opened: devices will reach this host only");
		doctor_remedy(report, "allow UDP sockets: a sandbox or a seccomp filter forbids them");
	} else {
		doctor_add(report, DOCTOR_OK, "UDP port 4791", "free; the first RDMA program takes it");
	}
}

/* As the broker asks: without SO_REUSEPORT, so that any other holder is seen. */
static enum doctor_port port_try(void)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(ROCE_PORT)};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(ROCE_PORT)};
	int off = 0, fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) {
		err = bind(fd, (struct sockaddr *)&v6, sizeof(v6)) == 0 ? 0 : errno;
	} else {
		if (fd >= 0)
			close(fd);
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		err = fd >= 0 && bind(fd, (struct sockaddr *)&v4, sizeof(v4)) == 0 ? 0 : errno;
	}
	if (fd >= 0)
		close(fd);
	return err == 0 ? DOCTOR_PORT_FREE : err == EADDRINUSE ? DOCTOR_PORT_TAKEN : DOCTOR_PORT_FORBIDDEN;
}

void doctor_check_port(struct doctor_report *report, int ours, const char *reason)
{
	struct doctor_holder holder = {0};
	enum doctor_port state = ours == 1 ? DOCTOR_PORT_TAKEN : port_try();

	if (state == DOCTOR_PORT_TAKEN && ours != 1)
		doctor_port_holder(report, &holder);
	doctor_judge_port(report, state, ours, reason, &holder, getuid());
}
