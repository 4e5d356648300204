/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that goes away under its registration: a completion error on either side; and signals that are the program's own. */
#include "harness.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum unmapped_what { UNMAPPED, PROTECTED, TRUNCATED };

static void *vanish(enum unmapped_what how, struct ibv_pd *pd, struct ibv_mr **mr, size_t size)
{
	int fd = -1;
	void *at;

	if (how == TRUNCATED) {
		fd = memfd_create("test", MFD_CLOEXEC);
		need(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	} else {
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	need(at != MAP_FAILED);
	memset(at, 1, size);
	*mr = ibv_reg_mr(pd, at, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(*mr != NULL);
	if (how == UNMAPPED)
		need_equal(munmap(at, size), 0);
	else if (how == PROTECTED)
		need_equal(mprotect(at, size, PROT_NONE), 0);
	else
		need_equal(ftruncate(fd, 0), 0);
	if (fd >= 0)
		close(fd);
	return at;
}

static _Atomic int faults_seen;

static void on_fault(int sig)
{
	faults_seen++;
	_exit(3);
}

static void memory_gone(bool handler_first)
{
	int rounds = 0;
	struct sigaction action = { .sa_handler = on_fault };

	if (handler_first) {
		sigaction(SIGSEGV, &action, NULL);
		sigaction(SIGBUS, &action, NULL);
	}
	/* ThreadSanitizer maps things of its own, and at times just where ours was. */
	for (enum unmapped_what how = HAS_TSAN ? PROTECTED : UNMAPPED; how <= TRUNCATED; how++) {
		struct rc a, b;
		struct ibv_mr *gone;
		struct ibv_send_wr *bad;

		/* The requester's own memory: a local error, nothing on the way. */
		rc_pair(&a, &b, NULL, NULL);
		if (!handler_first && rounds++ == 0) { /* after us: the guard must notice */
			sigaction(SIGSEGV, &action, NULL);
			sigaction(SIGBUS, &action, NULL);
		}
		void *at = vanish(how, a.pd, &gone, 65536);
		struct ibv_sge sge = { (uintptr_t)at, 65536, gone->lkey };
		struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
					  .wr.rdma = { (uintptr_t)b.buf, b.mr->rkey } };
		need_equal(ibv_post_send(a.qp, &wr, &bad), 0);
		struct ibv_wc wc = cq_wait(a.send_cq);
		need_equal(wc.status, IBV_WC_LOC_PROT_ERR);
		need_equal(wc.qp_num, a.qp->qp_num);
		need_equal(wc.opcode, IBV_WC_RDMA_WRITE);
		need_equal(ibv_dereg_mr(gone), 0);
		rc_pair_close(&a, &b);

		/* The target of a WRITE. */
		rc_pair(&a, &b, NULL, NULL);
		at = vanish(how, b.pd, &gone, 65536);
		const struct rc_address target_at = { .addr = (uintptr_t)at, .rkey = gone->rkey };
		need_equal(rc_post(&a, 2, IBV_WR_RDMA_WRITE, 0, 0, 60000, &target_at, 0), 0);
		wc = cq_wait(a.send_cq);
		need_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
		need_equal(wc.opcode, IBV_WC_RDMA_WRITE);
		need_equal(ibv_dereg_mr(gone), 0);
		rc_pair_close(&a, &b);

		/* A posted receive. */
		rc_pair(&a, &b, NULL, NULL);
		at = vanish(how, b.pd, &gone, 65536);
		struct ibv_sge into = { (uintptr_t)at, 65536, gone->lkey };
		struct ibv_recv_wr recv = { .wr_id = 3, .sg_list = &into, .num_sge = 1 }, *bad_recv;
		need_equal(ibv_post_recv(b.qp, &recv, &bad_recv), 0);
		need_equal(rc_post(&a, 4, IBV_WR_SEND, 0, 0, 60000, NULL, 0), 0);
		wc = cq_wait(a.send_cq);
		need_equal(wc.status, IBV_WC_REM_OP_ERR);
		wc = cq_wait(b.recv_cq);
		need_equal(wc.wr_id, 3);
		need_equal(wc.status, IBV_WC_LOC_PROT_ERR);
		need_equal(ibv_dereg_mr(gone), 0);
		rc_pair_close(&a, &b);
	}
	need_equal(faults_seen, 0);
}

static void memory_gone_plain(void)
{
	memory_gone(true);
}

static void memory_gone_handler_later(void)
{
	memory_gone(false);
}

/* The program's own faults still reach the program. */
static void own_handler(int sig, siginfo_t *info, void *context)
{
	faults_seen++;
	_exit(info->si_addr == (void *)8 ? 0 : 4);
}

static void own_faults(void)
{
	struct sigaction action = { .sa_sigaction = own_handler, .sa_flags = SA_SIGINFO };
	struct rc a, b;

	sigaction(SIGSEGV, &action, NULL);
	rc_pair(&a, &b, NULL, NULL);
	const struct rc_address to_b = rc_address_of(&b);
	for (unsigned i = 0; i < 10; i++) {
		need_equal(rc_post(&a, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0, 32768, &to_b, 0), 0);
		cq_expect(a.send_cq, i, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	}
	volatile uintptr_t nowhere = 8;
	*(volatile int *)nowhere = 1;
	harness_fail(__FILE__, __LINE__, "a write to address 8 went through");
}

static const struct harness_case cases[] = {
	{ "memory_gone", "memory that went away is a completion error on either side, never a signal", memory_gone_plain },
	{ "memory_gone_handler_later", "the same when the program took the signals after us", memory_gone_handler_later },
	{ "own_faults", "the program's own faults reach its own handler", own_faults },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
