/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program: options, becoming a daemon, limits. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "broker/server.h"
#include "config/config.h"

#ifndef BROKER_VERSION
#define BROKER_VERSION "unknown"
#endif

static const char help[] =
	"softverbsd - the broker of softverbs: slots, UDP port 4791, shared rings, device tables\n"
	"\n"
	"Programs that use RDMA start it by themselves, and it ends when they have ended. It is started by hand to\n"
	"keep it running, or to see what it says.\n"
	"\n"
	"usage: softverbsd [--foreground] [--idle SECONDS]\n"
	"\n"
	"  --foreground    stay in the foreground, say everything on standard error, end on Ctrl-C\n"
	"  --idle SECONDS  end after so long without clients; 0: never (default: SOFTVERBS_IDLE_SECONDS or 5;\n"
	"                  with --foreground: never)\n"
	"  --version       print the version and end\n"
	"  --help          print this and end\n"
	"\n"
	"There is one per user and network namespace; when there is one already, a second one ends at once.\n";

struct daemon {
	bool foreground;
	int ready_fd; /* -1: none */
};

static void nobody_listens(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

static void ready(void *context)
{
	struct daemon *d = context;
	const char ok = 0;

	if (!d->foreground)
		nobody_listens();
	if (d->ready_fd >= 0) {
		ssize_t ignored = write(d->ready_fd, &ok, 1);
		(void)ignored;
		close(d->ready_fd);
		d->ready_fd = -1;
	}
}

/* The parent waits until the child is ready, or has failed, and ends. */
static int become_daemon(void)
{
	int ends[2];
	char byte;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid_t pid = fork();
	if (pid < 0)
		return -1;
	if (pid > 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
	}
	close(ends[0]);
	setsid();
	return ends[1];
}

static bool number_parse(const char *text, long low, long high, long *out)
{
	char *end;

	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < low || value > high)
		return false;
	*out = value;
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "foreground", no_argument, NULL, 'f' },
		{ "idle", required_argument, NULL, 'i' },
		{ "ready-fd", required_argument, NULL, 'r' }, /* from the library: a byte goes there when clients can come */
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct daemon d = { .ready_fd = -1 };
	struct config config;
	struct rlimit files;
	long idle = -1, number;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'f':
			d.foreground = true;
			break;
		case 'i':
			if (!number_parse(optarg, 0, 86400, &idle)) {
				base_error("--idle %s: a whole number from 0 to 86400 is needed", optarg);
				return 2;
			}
			break;
		case 'r':
			if (!number_parse(optarg, 3, 1 << 20, &number) || fcntl((int)number, F_SETFD, FD_CLOEXEC) != 0) {
				base_error("--ready-fd %s: no open descriptor", optarg);
				return 2;
			}
			d.ready_fd = (int)number;
			break;
		case 'v':
			printf("softverbsd %s\n", BROKER_VERSION);
			return 0;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fputs("softverbs: softverbsd --help tells the options\n", stderr);
			return 2;
		}
	}
	if (optind != argc) {
		base_error("softverbsd takes no argument \"%s\"; softverbsd --help tells the options", argv[optind]);
		return 2;
	}
	config_load(&config);
	if (idle < 0)
		idle = d.foreground ? 0 : (long)config.idle_seconds;
	if (!d.foreground && d.ready_fd < 0) {
		d.ready_fd = become_daemon();
		if (d.ready_fd < 0) {
			base_error("softverbsd cannot become a daemon: %s", strerror(errno));
			return 1;
		}
	}
	umask(077);
	if (chdir("/") != 0)
		base_warn("softverbsd cannot change to /: %s", strerror(errno));
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}

	_Static_assert((int)CONFIG_GIDS_ALL == (int)NETDEV_GIDS_ALL && (int)CONFIG_GIDS_V2 == (int)NETDEV_GIDS_V2 &&
		(int)CONFIG_GIDS_IPV6 == (int)NETDEV_GIDS_IPV6, "one numbering");
	const struct broker_server_options server = { .cm_fast = config.cm == CONFIG_CM_FAST, .gids = (enum netdev_gid_profile)config.gids,
		.cm_roce_v1 = config.cm_roce == CONFIG_ROCE_V1,
		.idle_seconds = (uint32_t)idle, .ready = ready, .context = &d };
	int err = broker_server_run(&server);
	if (err == BASE_ERR_EXISTS) {
		/* Somebody was faster; what was wanted is there. */
		if (d.foreground)
			base_error("a broker of this user is running in this network namespace already; end it first, or use it");
		ready(&d);
		return d.foreground ? 1 : 0;
	}
	return err == BASE_OK ? 0 : 1;
}
