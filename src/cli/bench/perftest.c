/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Figures: a perftest program, server and client, over our libraries, and the number that the client prints. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/bench/bench.h"
#include "cli/bench/measure.h"

#define PERFTEST_PORT	   18600u
#define PERFTEST_CLIENT_NS (60 * BASE_SEC)
#define PERFTEST_SERVER_NS (5 * BASE_SEC)
#define PERFTEST_LISTEN_NS (10 * BASE_SEC)

struct side {
	pid_t pid;  /* -1: not running */
	int output; /* memfd with what it printed */
};

/* Does anybody listen on this TCP port? There is no event to wait for: the server is not ours. */
static bool port_listens(unsigned port)
{
	static const char *const tables[] = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
	char line[512];
	bool found = false;

	for (int i = 0; i < 2 && !found; i++) {
		FILE *f = fopen(tables[i], "re");

		while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL) {
			unsigned local, state;

			found = sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &local, &state) == 2 &&
				local == port && state == 0x0a;
		}
		if (f != NULL)
			fclose(f);
	}
	return found;
}

static unsigned port_free(void)
{
	static unsigned next = PERFTEST_PORT;

	while (port_listens(next))
		next++;
	return next++;
}

static bool side_start(struct side *side, char *const *argv, bool wire)
{
	pid_t parent = getpid();

	side->output = memfd_create("softverbs-bench", MFD_CLOEXEC);
	if (side->output < 0)
		return measure_failed("memfd");
	fflush(NULL);
	side->pid = fork();
	if (side->pid < 0)
		return measure_failed("fork");
	if (side->pid > 0)
		return true;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int null = open("/dev/null", O_RDONLY);
	if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(side->output, 1) < 0 || dup2(side->output, 2) < 0 ||
	    setenv("SOFTVERBS_LOCAL", wire ? "wire" : "shm", 1) != 0)
		_exit(1);
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Waits for the end of the process. True: it ended by itself with status 0 in time. Kills it otherwise. */
static bool side_wait(struct side *side, uint64_t timeout_ns)
{
	int status = 1, pidfd = (int)syscall(SYS_pidfd_open, side->pid, 0);
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	bool ended = pidfd >= 0 && poll(&p, 1, (int)(timeout_ns / BASE_MSEC)) == 1;

	if (pidfd >= 0)
		close(pidfd);
	if (!ended)
		kill(side->pid, SIGKILL);
	while (waitpid(side->pid, &status, 0) < 0 && errno == EINTR)
		;
	side->pid = -1;
	return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool side_is_alive(const struct side *side)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)side->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

static bool wait_for_listener(const struct side *server, unsigned port)
{
	uint64_t until = base_clock_now() + PERFTEST_LISTEN_NS;

	while (!port_listens(port)) {
		struct timespec pause = {.tv_nsec = 2 * (long)BASE_MSEC};

		if (!side_is_alive(server) || base_clock_now() > until)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static char *side_text(const struct side *side)
{
	off_t len = side->output >= 0 ? lseek(side->output, 0, SEEK_END) : 0;
	char *text = calloc(1, (size_t)len + 1);

	if (text != NULL && len > 0 && pread(side->output, text, (size_t)len, 0) < 0)
		text[0] = '\0';
	return text;
}

bool bench_perftest_parse(const char *text, const char *size, enum bench_unit unit, double *out)
{
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		double v[5];

		line += *line == '\n';
		if (sscanf(line, " %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3], &v[4]) == 5 && v[0] == atof(size)) {
			*out = unit == BENCH_MIBS ? v[3] : v[4]; /* average; typical; message rate */
			return *out > 0;
		}
	}
	return false;
}

bool bench_perftest_run(const struct bench_perftest *test, const char *device, double *out)
{
	struct side server = {-1, -1}, client = {-1, -1};
	unsigned port = port_free();
	char port_text[16];
	char *argv[20], *words[2] = {NULL, NULL};
	int n = 0;
	bool ok = false;

	snprintf(port_text, sizeof(port_text), "%u", port);
	const char *const common[] = {test->program, "-d", device,     "-p", port_text,
				      "-F",	     "-s", test->size, "-n", test->iterations};
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		argv[n++] = (char *)common[i];
	if (test->mtu != NULL) {
		argv[n++] = (char *)"-m";
		argv[n++] = (char *)test->mtu;
	}
	if (test->connection != NULL) {
		argv[n++] = (char *)"-c";
		argv[n++] = (char *)test->connection;
	}
	argv[n] = NULL;
	if (side_start(&server, argv, test->wire) && wait_for_listener(&server, port)) {
		argv[n++] = (char *)"127.0.0.1";
		argv[n] = NULL;
		ok = side_start(&client, argv, test->wire) && side_wait(&client, PERFTEST_CLIENT_NS);
	}
	if (server.pid > 0) {
		if (!ok)
			kill(server.pid, SIGTERM);
		ok = side_wait(&server, PERFTEST_SERVER_NS) && ok;
	}
	words[0] = side_text(&server);
	words[1] = side_text(&client);
	if (!ok || words[1] == NULL || !bench_perftest_parse(words[1], test->size, test->unit, out)) {
		fprintf(stderr, "softverbs bench: %s -s %s%s failed.\n--- server ---\n%s\n--- client ---\n%s\n",
			test->program, test->size, test->wire ? " (wire)" : "", words[0] != NULL ? words[0] : "",
			words[1] != NULL ? words[1] : "");
		ok = false;
	}
	free(words[0]);
	free(words[1]);
	if (server.output >= 0)
		close(server.output);
	if (client.output >= 0)
		close(client.output);
	return ok;
}
