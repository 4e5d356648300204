/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the library promises to the process it lives in, and what happens around deaths: the lines of the process contract. */
#include "harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- helpers --- */

/* Calls `each` with every thread id of this process but the caller's. */
static unsigned other_threads(void (*each)(pid_t tid))
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned count = 0;

	need(dir != NULL);
	while ((entry = readdir(dir)) != NULL) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && tid != (pid_t)syscall(SYS_gettid)) {
			count++;
			if (each != NULL)
				each(tid);
		}
	}
	closedir(dir);
	return count;
}

static unsigned long long status_mask(pid_t pid, pid_t tid, const char *field)
{
	char path[96], line[256];
	unsigned long long value = 0;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	FILE *file = fopen(path, "re");
	need(file != NULL);
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, field, strlen(field)) == 0) {
			value = strtoull(line + strlen(field), NULL, 16);
			found = true;
		}
	fclose(file);
	need(found);
	return value;
}

/* The broker of this namespace and user: the process at the other end of a listening abstract socket is not told, so by name
 * and owner. */
static pid_t broker_pid(void)
{
	char self_net[64] = "", net[64], path[64], name[32];
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	need(dir != NULL);
	need(readlink("/proc/self/ns/net", self_net, sizeof(self_net) - 1) > 0);
	while ((entry = readdir(dir)) != NULL) {
		struct stat st;
		pid_t pid = atoi(entry->d_name);

		if (pid <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		ssize_t len = read(fd, name, sizeof(name) - 1);
		bool mine = fstat(fd, &st) == 0 && st.st_uid == getuid();
		close(fd);
		name[len > 0 ? len : 0] = '\0';
		if (strcmp(name, "softverbsd\n") != 0 || !mine)
			continue;
		memset(net, 0, sizeof(net));
		snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
		if (readlink(path, net, sizeof(net) - 1) > 0 && strcmp(net, self_net) == 0)
			found = pid;
	}
	closedir(dir);
	return found;
}

static void sleep_ms(unsigned ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
}

/* Writes of 32 KiB one after the other until `stop`, or `count` of them; each must succeed. */
static unsigned write_many(struct rc *rc, const struct rc_address *remote, unsigned count, const _Atomic bool *stop)
{
	unsigned posted = 0, done = 0;

	while (done < posted || (posted < count && (stop == NULL || !*stop))) {
		while (posted - done < 16 && posted < count && (stop == NULL || !*stop)) {
			need_equal(rc_post(rc, posted, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 32768, remote, 0), 0);
			posted++;
		}
		cq_expect(rc->send_cq, done++, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	}
	return done;
}

/* A target of one-sided operations: connects, never polls, ends when told. */
static void target(struct peer *peer)
{
	struct rc rc;

	rc_open(&rc, NULL);
	rc_meet(&rc, peer);
	peer_await(peer);
	rc_close(&rc);
}

/* --- signals --- */

static unsigned own_threads; /* a sanitizer may have one, too */

static void check_mask(pid_t tid)
{
	char path[64], name[32] = "";
	/* KILL and STOP cannot be blocked, 32 and 33 are libc's own. */
	const unsigned long long open = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGKILL - 1) | 1ull <<
			(SIGSTOP - 1);
	const unsigned long long libc = 1ull << 31 | 1ull << 32;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	FILE *file = fopen(path, "re");
	need(file != NULL && fgets(name, sizeof(name), file) != NULL);
	fclose(file);
	if (strcmp(name, "softverbs\n") != 0)
		return;
	own_threads++;
	/* A thread that is being born blocks everything for a moment. */
	for (uint64_t end = harness_now_ms() + 2000;;) {
		unsigned long long blocked = status_mask(getpid(), tid, "SigBlk:") | libc;

		if (blocked == ~open)
			return;
		if (harness_now_ms() > end)
			harness_fail(__FILE__, __LINE__, "thread %d blocks %#llx and not %#llx", tid, blocked, ~open);
	}
}

static _Atomic int handled_here, handled_elsewhere;
static pthread_t main_thread;

static void on_alarm(int sig)
{
	if (pthread_equal(pthread_self(), main_thread))
		handled_here++;
	else
		handled_elsewhere++;
}

static void signal_mask(void)
{
	struct rc a, b;

	rc_pair(&a, &b, NULL, NULL);
	need(other_threads(check_mask) >= 1);
	need_equal(own_threads, 1);
	rc_pair_close(&a, &b);
}

static void alarm_handler(void)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	struct peer peer = peer_start(target);
	struct rc rc;

	main_thread = pthread_self();
	sigaction(SIGALRM, &action, NULL);
	rc_open(&rc, &(struct rc_options){ .channel = true });
	const struct rc_address remote = rc_meet(&rc, &peer);
	setitimer(ITIMER_REAL, &often, NULL);
	/* SA_RESTART: a blocking call goes on, and every handler runs in a thread of the program. */
	for (int i = 0; i < 300; i++) {
		struct ibv_cq *cq;
		void *context;

		need_equal(ibv_req_notify_cq(rc.send_cq, 0), 0);
		need_equal(rc_post(&rc, (unsigned)i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 8192, &remote, 0), 0);
		need_equal(ibv_get_cq_event(rc.channel, &cq, &context), 0);
		need(cq == rc.send_cq && context == &rc);
		ibv_ack_cq_events(cq, 1);
		cq_expect(rc.send_cq, (unsigned)i, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	}
	/* With the main thread deaf the signal waits: no thread of ours takes it. */
	sigset_t alarm_only;
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
	write_many(&rc, &remote, 500, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
	need(handled_here > 0);
	need_equal(handled_elsewhere, 0);
	peer_tell(&peer);
	peer_join(&peer);
	rc_close(&rc);
}

/* --- loading --- */

static void load_and_unload(void)
{
	Dl_info info;

	need(dladdr((void *)(uintptr_t)ibv_get_device_list, &info) != 0);
	/* From a process that does not link it. */
	for (int round = 0; round < 5; round++) {
		void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL);

		need(library != NULL);
		struct ibv_context *context = rc_device_open();
		need(dlclose(library) == 0);
		need_equal(ibv_close_device(context), 0);
	}
	/* Its flags say that it stays (the thread runs in its code). */
	char command[600];
	snprintf(command, sizeof(command), "readelf -d '%s' 2>/dev/null | grep -q NODELETE", info.dli_fname);
	if (system("command -v readelf >/dev/null") == 0)
		need_equal(system(command), 0);
}

/* --- cancellation --- */

static struct rc cancel_a, cancel_b;
static struct rc_address cancel_remote;
static _Atomic unsigned cancel_rounds;

static void *cancelled_poll(void *unused)
{
	struct ibv_wc wc[4];

	for (;;) {
		cancel_rounds++;
		ibv_poll_cq(cancel_a.send_cq, 4, wc);
		pthread_testcancel();
	}
	return NULL;
}

static void *cancelled_post(void *unused)
{
	for (uint64_t i = 0;; i++) {
		cancel_rounds++;
		rc_post(&cancel_a, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 16384, &cancel_remote, 0);
		struct ibv_wc wc[4];
		ibv_poll_cq(cancel_a.send_cq, 4, wc);
		pthread_testcancel();
	}
	return NULL;
}

static void *cancelled_event(void *unused)
{
	struct ibv_cq *cq;
	void *context;

	cancel_rounds++;
	ibv_get_cq_event(cancel_a.channel, &cq, &context);
	return NULL;
}

static void *cancelled_async(void *unused)
{
	struct ibv_async_event event;

	cancel_rounds++;
	ibv_get_async_event(cancel_a.context, &event);
	return NULL;
}

static void *cancelled_control(void *unused)
{
	for (;;) {
		cancel_rounds++;
		struct ibv_context *context = rc_device_open();
		ibv_close_device(context);
		pthread_testcancel();
	}
	return NULL;
}

static void cancellation(void)
{
	static void *(*const victims[])(void *) = { cancelled_poll, cancelled_post, cancelled_event, cancelled_async,
			cancelled_control };

	if (HAS_ASAN)
		harness_skip("AddressSanitizer does not follow the unwinding of a cancelled thread");
	rc_pair(&cancel_a, &cancel_b, &(struct rc_options){ .channel = true, .cqe = 4096 }, NULL);
	cancel_remote = rc_address_of(&cancel_b);
	for (unsigned v = 0; v < sizeof(victims) / sizeof(victims[0]); v++)
		for (unsigned round = 0; round < 30; round++) {
			pthread_t thread;
			void *result;
			unsigned start = cancel_rounds;

			need_equal(pthread_create(&thread, NULL, victims[v], NULL), 0);
			while (cancel_rounds - start < 1 + round % 7)
				if (v == 2 || v == 3)
					break;
				else
					sched_yield();
			need_equal(pthread_cancel(thread), 0);
			need_equal(pthread_join(thread, &result), 0);
			need(result == PTHREAD_CANCELED);
		}
	/* Nobody left with a lock: everything still works. */
	const uint64_t last = 1ull << 40;
	struct ibv_wc wc;
	int err;
	while ((err = rc_post(&cancel_a, last, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 64, &cancel_remote, 0)) == ENOMEM)
		need(cq_wait(cancel_a.send_cq).status == IBV_WC_SUCCESS);
	need_equal(err, 0);
	do
		wc = cq_wait(cancel_a.send_cq);
	while (wc.wr_id != last && wc.status == IBV_WC_SUCCESS);
	need_equal(wc.status, IBV_WC_SUCCESS);
	struct ibv_context *context = rc_device_open();
	need_equal(ibv_close_device(context), 0);
	rc_pair_close(&cancel_a, &cancel_b);
}

/* --- fork --- */

/* In a child: everything inherited answers, nothing moves, nothing hangs; then a device of its own works. */
static void child_of_fork(struct rc *inherited, const struct rc_address *to_target)
{
	struct ibv_port_attr port;
	struct ibv_device_attr device;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_wc wc;
	uint32_t parent_slot = inherited->qp->qp_num >> 16;

	need_equal(ibv_query_port(inherited->context, 1, &port), 0);
	need_equal(ibv_query_device(inherited->context, &device), 0);
	need_equal(ibv_query_qp(inherited->qp, &attr, IBV_QP_STATE, &init), 0);
	need_equal(ibv_poll_cq(inherited->send_cq, 1, &wc), -EIO);
	need_equal(ibv_req_notify_cq(inherited->send_cq, 0), EIO);
	need_equal(rc_post(inherited, 1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 16, to_target, 0), EIO);
	need_equal(rc_receive(inherited, 1, 0, 16), EIO);
	need_errno(ibv_alloc_pd(inherited->context), EIO);
	need_errno(ibv_create_cq(inherited->context, 1, NULL, NULL, 0), EIO);
	need_equal(rc_to_error(inherited), EIO);

	struct rc a, b;
	rc_pair(&a, &b, NULL, NULL);
	need(a.qp->qp_num >> 16 != parent_slot);
	memset(a.buf, 0x5c, 100);
	const struct rc_address to_b = rc_address_of(&b);
	need_equal(rc_post(&a, 5, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 100, &to_b, 0), 0);
	cq_expect(a.send_cq, 5, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	need(b.buf[99] == 0x5c);
	rc_pair_close(&a, &b);
	rc_close(inherited);
}

static void join_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		need(errno == EINTR);
	need_equal(status, 0);
}

static void fork_idle(void)
{
	struct peer peer = peer_start(target);
	struct rc rc;

	rc_open(&rc, &(struct rc_options){ .channel = true });
	const struct rc_address remote = rc_meet(&rc, &peer);
	write_many(&rc, &remote, 10, NULL);
	pid_t pid = fork();
	need(pid >= 0);
	if (pid == 0) {
		child_of_fork(&rc, &remote);
		_exit(0);
	}
	write_many(&rc, &remote, 500, NULL);
	join_child(pid);
	/* The child destroyed its copies: the parent's are untouched. */
	write_many(&rc, &remote, 100, NULL);
	peer_tell(&peer);
	peer_join(&peer);
	rc_close(&rc);
}

static struct rc busy;
static struct rc_address busy_remote;
static _Atomic bool busy_stop;

static void *busy_thread(void *unused)
{
	return (void *)(uintptr_t)write_many(&busy, &busy_remote, 1u << 30, &busy_stop);
}

static void *listing_thread(void *unused)
{
	while (!busy_stop) {
		struct ibv_context *context = rc_device_open();
		struct ibv_pd *pd = ibv_alloc_pd(context);
		static char memory[4096];
		struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);

		need(mr != NULL);
		need_equal(ibv_dereg_mr(mr), 0);
		need_equal(ibv_dealloc_pd(pd), 0);
		need_equal(ibv_close_device(context), 0);
	}
	return NULL;
}

static void fork_while_busy(void)
{
	pthread_t writer, lister;
	void *count;

	if (HAS_TSAN)
		harness_skip("ThreadSanitizer gives no promise for threads in the child of a threaded process");
	struct peer peer = peer_start(target);

	rc_open(&busy, NULL);
	busy_remote = rc_meet(&busy, &peer);
	need_equal(pthread_create(&writer, NULL, busy_thread, NULL), 0);
	need_equal(pthread_create(&lister, NULL, listing_thread, NULL), 0);
	for (int round = 0; round < 10; round++) {
		pid_t pid = fork();

		need(pid >= 0);
		if (pid == 0) {
			struct rc a, b;

			rc_pair(&a, &b, NULL, NULL);
			const struct rc_address to_b = rc_address_of(&b);
			write_many(&a, &to_b, 20, NULL);
			rc_pair_close(&a, &b);
			rc_close(&busy);
			_exit(0);
		}
		join_child(pid);
	}
	busy_stop = true;
	pthread_join(writer, &count);
	pthread_join(lister, NULL);
	need(count != NULL);
	peer_tell(&peer);
	peer_join(&peer);
	rc_close(&busy);
}

/* --- the broker --- */

static void broker_apart(void)
{
	int marker[2];
	char path[96], link[256], ours[256];
	struct rlimit files;

	need(pipe(marker) == 0); /* not close-on-exec */
	int high = fcntl(marker[0], F_DUPFD, 200);
	need(high >= 200);
	need(getrlimit(RLIMIT_NOFILE, &files) == 0);
	/* A broker of our own making: none of an earlier case may be there. */
	pid_t before = broker_pid();
	if (before != 0)
		kill(before, SIGKILL);
	struct ibv_context *context = rc_device_open();
	pid_t broker = broker_pid();
	need(broker > 0);

	snprintf(path, sizeof(path), "/proc/%d/stat", broker);
	FILE *file = fopen(path, "re");
	int ppid = -1;
	need(file != NULL && fscanf(file, "%*d %*s %*c %d", &ppid) == 1);
	fclose(file);
	need(ppid != getpid() && ppid != getppid());
	need(getsid(broker) != getsid(0) && getpgid(broker) != getpgrp());
	need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", marker[0]);
	memset(ours, 0, sizeof(ours));
	need(readlink(path, ours, sizeof(ours) - 1) > 0);
	snprintf(path, sizeof(path), "/proc/%d/fd", broker);
	DIR *dir = opendir(path);
	if (dir != NULL) { /* a broker may keep its descriptors private */
		const struct dirent *entry;

		while ((entry = readdir(dir)) != NULL) {
			char name[400];

			snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
			memset(link, 0, sizeof(link));
			if (readlink(name, link, sizeof(link) - 1) > 0 && strcmp(link, ours) == 0)
				harness_fail(__FILE__, __LINE__, "the broker holds a pipe of the program (%s)", link);
		}
		closedir(dir);
	}
	/* The other way to see it: when we close the writing end, the reader finds the end of file at once. */
	close(marker[1]);
	char byte;
	need(fd_is_readable(high, 0) || read(high, &byte, 1) == 0);
	need_equal(ibv_close_device(context), 0);
}

static void late_target(struct peer *peer)
{
	peer_await(peer); /* nothing of ours exists before */
	target(peer);
}

static void broker_killed(void)
{
	struct peer early = peer_start(target), late = peer_start(late_target);
	pthread_t writer;
	void *count;
	struct rc second;

	rc_open(&busy, NULL);
	busy_remote = rc_meet(&busy, &early);
	need_equal(pthread_create(&writer, NULL, busy_thread, NULL), 0);
	sleep_ms(50);
	pid_t first = broker_pid();
	need(first > 0 && kill(first, SIGKILL) == 0);
	/* A process that comes afterwards finds a broker and us. */
	peer_tell(&late);
	rc_open(&second, &(struct rc_options){ .context = busy.context });
	const struct rc_address to_late = rc_meet(&second, &late);
	write_many(&second, &to_late, 100, NULL);
	pid_t now = broker_pid();
	need(now > 0 && now != first);
	busy_stop = true;
	pthread_join(writer, &count);
	need(count != NULL);
	write_many(&busy, &busy_remote, 100, NULL);
	peer_tell(&late);
	peer_join(&late);
	peer_tell(&early);
	peer_join(&early);
	rc_close(&second);
	rc_close(&busy);
}

/* --- ends --- */

static void answers_and_exits(struct peer *peer)
{
	struct rc rc;

	rc_open(&rc, NULL);
	need_equal(rc_to_init(&rc), 0);
	need_equal(rc_receive(&rc, 1, 0, 4096), 0);
	rc_meet(&rc, peer);
	cq_expect(rc.recv_cq, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	exit(0); /* nothing destroyed, nothing closed */
}

static void exit_pushes_acks(void)
{
	struct peer peer = peer_start(answers_and_exits);
	struct rc rc;

	rc_open(&rc, &(struct rc_options){ .timeout = 8, .retry = 1 });
	rc_meet(&rc, &peer);
	need_equal(rc_post(&rc, 9, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 3000, NULL, 0), 0);
	cq_expect(rc.send_cq, 9, IBV_WC_SUCCESS, IBV_WC_SEND);
	peer_join(&peer);
	rc_close(&rc);
}

static void forks_and_waits(struct peer *peer)
{
	struct rc rc;
	pid_t child;

	rc_open(&rc, NULL);
	child = fork(); /* lives on, with a copy of every descriptor */
	need(child >= 0);
	if (child == 0)
		for (;;)
			pause();
	peer_send(peer, &child, sizeof(child));
	rc_meet(&rc, peer);
	for (;;)
		pause();
}

static void peer_killed(void)
{
	struct peer victim = peer_start(forks_and_waits), survivor = peer_start(target);
	struct rc to_victim, to_survivor;
	pid_t child;

	rc_open(&to_victim, &(struct rc_options){ .timeout = 10, .retry = 3 });
	peer_receive(&victim, &child, sizeof(child));
	struct rc_address victim_at = rc_meet(&to_victim, &victim);
	rc_open(&to_survivor, &(struct rc_options){ .context = to_victim.context });
	struct rc_address survivor_at = rc_meet(&to_survivor, &survivor);
	write_many(&to_victim, &victim_at, 10, NULL);
	peer_kill(&victim);
	uint64_t start = harness_now_ms();
	need_equal(rc_receive(&to_victim, 3, 0, 64), 0);
	need_equal(rc_post(&to_victim, 1, IBV_WR_RDMA_WRITE, 0, 0, 8192, &victim_at, 0), 0); /* unsignaled: an error is told */
	need_equal(rc_post(&to_victim, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, 100, NULL, 0), 0);
	struct ibv_wc wc = cq_wait(to_victim.send_cq);
	need_equal(wc.wr_id, 1);
	need_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	need_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	need_equal(wc.qp_num, to_victim.qp->qp_num);
	cq_expect(to_victim.send_cq, 2, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
	cq_expect(to_victim.recv_cq, 3, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
	/* 4 tries of 4 x 4.2 ms, and the machine is busy. */
	need(harness_now_ms() - start < 1500);
	write_many(&to_survivor, &survivor_at, 200, NULL);

	/* Posted after the death, to a QP that is made after it: its packets go nowhere, and its timers say so. */
	struct rc late;
	rc_open(&late, &(struct rc_options){ .context = to_victim.context, .timeout = 8, .retry = 1 });
	rc_connect(&late, &victim_at);
	need_equal(rc_post(&late, 4, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 100, &victim_at, 0), 0);
	cq_expect(late.send_cq, 4, IBV_WC_RETRY_EXC_ERR, IBV_WC_RDMA_WRITE);
	rc_close(&late);

	kill(child, SIGKILL);
	peer_tell(&survivor);
	peer_join(&survivor);
	rc_close(&to_survivor);
	rc_close(&to_victim);
}

static void nothing_left(void)
{
	/* 300 deaths in a row are more than there are slots: whatever stays behind runs out. */
	if (!harness_is_long())
		harness_skip("long form only (SOFTVERBS_LONG=1)");
	for (unsigned i = 0; i < (HAS_ASAN || HAS_TSAN ? 20 : 300); i++) {
		pid_t pid = fork();

		need(pid >= 0);
		if (pid == 0) {
			struct rc a, b;

			rc_pair(&a, &b, &(struct rc_options){ .size = 4096 }, &(struct rc_options){ .size = 4096 });
			raise(SIGKILL);
		}
		int status;
		need(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}

static void peer_stopped(void)
{
	struct peer peer = peer_start(target);
	struct rc rc;
	int status;

	if (harness_is_wire())
		harness_skip("a stopped process does not answer on the wire, as with any host");
	rc_open(&rc, &(struct rc_options){ .timeout = 8, .retry = 1 });
	const struct rc_address remote = rc_meet(&rc, &peer);
	write_many(&rc, &remote, 10, NULL);
	need(kill(peer.pid, SIGSTOP) == 0);
	need(waitpid(peer.pid, &status, WUNTRACED) == peer.pid && WIFSTOPPED(status));
	for (unsigned i = 0; i < 20; i++)
		need_equal(rc_post(&rc, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 32768, &remote, 0), 0);
	/* Long enough for hundreds of retries, if they were charged. */
	cq_expect_none(rc.send_cq, harness_is_long() ? 10000 : 3000);
	need(kill(peer.pid, SIGCONT) == 0);
	for (unsigned i = 0; i < 20; i++)
		cq_expect(rc.send_cq, i, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	peer_tell(&peer);
	peer_join(&peer);
	rc_close(&rc);
}

/* --- memory --- */

static void no_memlock(void)
{
	struct rlimit none = { 0, 0 };
	const size_t size = 256u << 20;

	need_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	struct rc a, b;
	rc_pair(&a, &b, NULL, NULL);
	void *big = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	need(big != MAP_FAILED);
	struct ibv_mr *mr = ibv_reg_mr(a.pd, big, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(mr != NULL);
	need_equal(ibv_dereg_mr(mr), 0);
	munmap(big, size);
	const struct rc_address to_b = rc_address_of(&b);
	write_many(&a, &to_b, 10, NULL);
	rc_pair_close(&a, &b);
}

static const struct harness_case cases[] = {
	{ "signal_mask", "the progress thread blocks every signal but SIGSEGV and SIGBUS", signal_mask },
	{ "alarm_handler", "handlers run in the program's threads alone, and blocking calls restart", alarm_handler },
	{ "load_and_unload", "dlclose leaves the library in place", load_and_unload },
	{ "cancellation", "a cancelled thread leaves no lock behind", cancellation },
	{ "fork_idle", "a child uses inherited objects for control calls, its own device for data, and the parent goes on",
			fork_idle },
	{ "fork_while_busy", "forks amid posting, polling and opening", fork_while_busy },
	{ "broker_apart", "the broker is no child of the program and holds none of its descriptors", broker_apart },
	{ "broker_killed", "transfers go on without a broker, and a newcomer connects afterwards", broker_killed },
	{ "exit_pushes_acks", "the requester completes though the responder exits at once", exit_pushes_acks },
	{ "peer_killed", "kill -9 of a peer with a live child is RETRY_EXC; the others go on", peer_killed },
	{ "nothing_left", "dead processes leave nothing in the broker", nothing_left },
	{ "peer_stopped", "a stopped peer on this host costs no retries", peer_stopped },
	{ "no_memlock", "registration does not count against RLIMIT_MEMLOCK", no_memlock },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
