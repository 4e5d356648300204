/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * softverbs doctor: what on this host is slow or forbidden, and the remedy.
 *
 * A check gathers facts and adds its findings to the report; where the two can be told apart, the judgement is a function of its
 * own, so that tests need no broken host. Checks change nothing and start nothing, the broker included. What they read of the
 * kernel's files they read below the report's `root`.
 *
 * A report that runs out of memory keeps what it has and says so at the end. One thread.
 */
#ifndef CLI_DOCTOR_DOCTOR_H
#define CLI_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum doctor_verdict {
	DOCTOR_OK,
	DOCTOR_NOTE,   /* works; slower, or not everywhere */
	DOCTOR_PROBLEM /* something does not work here */
};

#define DOCTOR_TEXT_MAX 400

struct doctor_finding {
	enum doctor_verdict verdict;
	const char *check;	      /* a word or two, the same for every verdict; a literal */
	char found[DOCTOR_TEXT_MAX];  /* what is the case */
	char remedy[DOCTOR_TEXT_MAX]; /* what to do; empty for most that are OK */
};

struct doctor_report {
	const char *root; /* "" on a real host */
	struct doctor_finding *findings;
	unsigned count;
	bool out_of_memory;
};

void doctor_report_init(struct doctor_report *report, const char *root);
void doctor_report_fini(struct doctor_report *report);
/* Adds a finding without a remedy, and the remedy of the newest one. */
void doctor_add(struct doctor_report *report, enum doctor_verdict verdict, const char *check, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void doctor_remedy(struct doctor_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* How many findings have this verdict. */
unsigned doctor_count(const struct doctor_report *report, enum doctor_verdict verdict);
const char *doctor_verdict_text(enum doctor_verdict verdict);

/* The first number in the file below the root. False: no such file, or none in it. */
bool doctor_number(const struct doctor_report *report, const char *path, long long *out);

/* --- host.c: limits and permissions of this host --- */

/* What softverbsd asks for, for each socket of port 4791 (GROUP_RCVBUF of the broker). */
#define DOCTOR_BUFFER_BYTES (16u << 20)

/* `name` is "rmem" or "wmem"; `got` what the kernel granted of DOCTOR_BUFFER_BYTES, 0: nothing could be asked. */
void doctor_judge_buffer(struct doctor_report *report, const char *name, uint64_t got);
void doctor_check_buffers(struct doctor_report *report);
/* What a UDP socket gets of DOCTOR_BUFFER_BYTES, as one counts it who asks; 0: no socket. */
uint64_t doctor_buffer_granted(bool receive);
/* Packets that the kernel dropped because a socket's buffer was full; granted: bytes, 0 unknown. */
void doctor_judge_drops(struct doctor_report *report, uint64_t drops, const char *program, unsigned pid, uint64_t granted);
void doctor_check_memlock(struct doctor_report *report);
void doctor_check_files(struct doctor_report *report);
void doctor_judge_files(struct doctor_report *report, uint64_t soft, uint64_t hard);
void doctor_check_flight(struct doctor_report *report);
/* error: of an attempt to send a descriptor over a UNIX socket; 0 succeeded. */
void doctor_judge_flight(struct doctor_report *report, int error);
void doctor_check_ptrace(struct doctor_report *report);
void doctor_check_namespaces(struct doctor_report *report);
/* error: of an attempt to make a user and network namespace; 0 succeeded. */
void doctor_judge_namespaces(struct doctor_report *report, int error);
void doctor_check_interfaces(struct doctor_report *report);
void doctor_check_cpus(struct doctor_report *report);

/* --- kernel.c: what the running kernel can do --- */

void doctor_check_kernel(struct doctor_report *report);

/* --- port.c: UDP port 4791 --- */

enum doctor_port { DOCTOR_PORT_FREE, DOCTOR_PORT_TAKEN, DOCTOR_PORT_FORBIDDEN };

/* Who has the port, as far as this user may see. */
struct doctor_holder {
	bool listed;   /* by the kernel among the UDP sockets; rxe's are not */
	uid_t uid;
	pid_t pid;     /* 0: not visible */
	char command[16];
	bool rxe;      /* the module is loaded */
};

/* Looks below the root: the tables of sockets, and the descriptors of processes. */
void doctor_port_holder(const struct doctor_report *report, struct doctor_holder *out);
/* ours: -1 no broker of this user runs; 0 it runs without the wire, for that reason; 1 the port is its own. */
void doctor_judge_port(struct doctor_report *report, enum doctor_port state, int ours, const char *reason,
		       const struct doctor_holder *holder, uid_t self);
void doctor_check_port(struct doctor_report *report, int ours, const char *reason);

/* --- program.c --- */

/* Will this executable load our libraries? Set-user-ID, DT_RPATH, static. */
void doctor_check_program(struct doctor_report *report, const char *path);

/* --- ours.c: what belongs to softverbs --- */

/* Our directory of libraries; how programs find it, and which do not. */
void doctor_check_libraries(struct doctor_report *report);
/* The same for a given directory. */
void doctor_judge_libraries(struct doctor_report *report, const char *directory);
/* The broker, and with it the port and what running programs lost. */
void doctor_check_broker(struct doctor_report *report);

#endif
