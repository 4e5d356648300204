/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Verbs programs as tests. A test program is a table of cases; each case runs in a process of its own (so it has a slot of
 * its own and may
 * die in any way), as an ordinary user, in a network namespace of its own where that is permitted. A case that has not ended
 * after its
 * time is killed with all it started and has failed.
 *
 * Only public headers and libibverbs are used here: this is what a foreign program sees.
 */
#ifndef TESTS_VERBS_HARNESS_H
#define TESTS_VERBS_HARNESS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Which sanitizer the test is built with. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#ifndef HAS_TSAN
#define HAS_TSAN 0
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif

struct harness_case {
	const char *name;
	const char *goal; /* one line */
	void (*run)(void);
};

/*
 * Before harness_main(): cases will change interfaces by harness_ip(). Without root, and without a namespace of their own, those
 * that do are skipped.
 */
void harness_wants_interfaces(void);
/* `ip` with these arguments, by root, in the namespace of the cases: must end with 0. One thread at a time. */
void harness_ip(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Another host: a namespace without a program, at the end of a pair: sva here is 10.97.0.1 and 02:00:00:00:00:01, svb there is
 * 10.97.0.2 and 02:00:00:00:00:02. Whom ARP does not find it gives up after 150 ms. And `ip` there.
 */
void harness_other_host_make(void);
void harness_other_ip(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whether it did. */
bool harness_ip_can(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Arguments: names of cases to run, all without. Exit code for main(): 77 when every case that ran was skipped. */
int harness_main(int argc, char **argv, const struct harness_case *cases, size_t count);

/* Ends the case (the process) at once. */
void harness_fail(const char *file, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
void harness_skip(const char *why) __attribute__((noreturn));

#define need(condition) \
	do { \
		if (!(condition)) \
			harness_fail(__FILE__, __LINE__, "%s", #condition); \
	} while (0)
/* Both are evaluated once and printed when they differ. */
#define need_equal(is, should_be) \
	do { \
		long long is_ = (long long)(is), should_ = (long long)(should_be); \
		if (is_ != should_) \
			harness_fail(__FILE__, __LINE__, "%s is %lld, not %s (%lld)", #is, is_, #should_be, should_); \
	} while (0)
#define need_errno(call, number) \
	do { \
		errno = 0; \
		if ((call) != NULL) \
			harness_fail(__FILE__, __LINE__, "%s succeeded", #call); \
		need_equal(errno, number); \
	} while (0)

bool harness_is_wire(void);  /* SOFTVERBS_LOCAL=wire */
bool harness_is_long(void);  /* SOFTVERBS_LONG=1: the long forms */
bool harness_is_full(void);  /* that, or SOFTVERBS_CHECK=full: forms that take no more than half a minute */
uint64_t harness_now_ms(void);

/* Another process. Start it before the first use of verbs in this one. */
struct peer {
	pid_t pid; /* 0 in the peer itself */
	int fd;    /* the two talk in messages */
};
struct peer peer_start(void (*run)(struct peer *));
void peer_send(const struct peer *peer, const void *data, size_t len);
void peer_receive(const struct peer *peer, void *data, size_t len); /* the case is killed long before it gives up */
/* A word from the other side, a rendezvous when both do it. */
void peer_tell(const struct peer *peer);
void peer_await(const struct peer *peer);
/* It must end by itself with 0. */
void peer_join(struct peer *peer);
void peer_kill(struct peer *peer);

enum { RC_QKEY = 0x11111111 };

/* One end of an RC connection, or of another type. Zeroes in the options mean the defaults. */
struct rc_options {
	enum ibv_qp_type type;          /* RC; UC, UD (whose Q_Key is RC_QKEY) */
	struct ibv_context *context;    /* NULL: opens one */
	struct ibv_pd *pd;              /* NULL: makes one */
	struct ibv_srq *srq;
	struct ibv_cq *cq;              /* for both directions; NULL: makes two */
	uint32_t send_wr, recv_wr, sge; /* 64, 64, 4 */
	uint32_t inline_max;
	uint32_t cqe;                   /* 256 */
	size_t size;                    /* of the buffer: 64 KiB */
	bool channel, sig_all;
	int qp_access, mr_access;       /* -1: none; 0: all */
	uint8_t timeout, retry, rnr_retry, min_rnr; /* 14, 7, 7, 1; 255 stands for 0 */
	enum ibv_mtu mtu;               /* 1024 */
	uint64_t send_ops;              /* with an ibv_qp_ex */
};

struct rc_address {
	union ibv_gid gid;
	uint32_t qpn, psn, rkey;
	uint64_t addr;
};

struct rc {
	struct rc_options o;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char *buf;
	int gid_index;
	union ibv_gid gid;
	struct ibv_ah *ah;  /* UD, once connected; its messages go to remote_qpn */
	uint32_t remote_qpn;
	bool own_context, own_pd;
};

struct ibv_context *rc_device_open(void);
struct ibv_context *rc_device_open_named(const char *name);
/* The index of the first RoCE v2 GID that is an IPv4 address: 127.0.0.1 of sv_lo. */
int rc_gid_find(struct ibv_context *context, union ibv_gid *gid);
void rc_open(struct rc *rc, const struct rc_options *options); /* NULL: defaults */
void rc_close(struct rc *rc);
struct rc_address rc_address_of(const struct rc *rc);
int rc_to_init(struct rc *rc);
int rc_to_rtr(struct rc *rc, const struct rc_address *remote);
int rc_to_rts(struct rc *rc);
int rc_to_reset(struct rc *rc);
int rc_to_error(struct rc *rc);
void rc_connect(struct rc *rc, const struct rc_address *remote);
/* Two ends in this process. The second shares the first's context unless its options say otherwise. */
void rc_pair(struct rc *a, struct rc *b, const struct rc_options *oa, const struct rc_options *ob);
void rc_pair_close(struct rc *a, struct rc *b);
/* Addresses exchanged with the peer, connected on both sides. */
struct rc_address rc_meet(struct rc *rc, const struct peer *peer);

/* Zeroes of buf[at, at + len): one WR. opcode and flags are the public ones; `remote` NULL for SEND. Returns ibv_post_send's
 * answer. */
int rc_post(struct rc *rc, uint64_t id, enum ibv_wr_opcode opcode, unsigned flags, size_t at, uint32_t len, const struct
		rc_address *remote,
	    uint64_t remote_at);
int rc_receive(struct rc *rc, uint64_t id, size_t at, uint32_t len);
/* The next completion, within 10 s. */
struct ibv_wc cq_wait(struct ibv_cq *cq);
void cq_expect(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status, enum ibv_wc_opcode opcode);
/* None arrives for this long. */
void cq_expect_none(struct ibv_cq *cq, unsigned ms);
bool fd_is_readable(int fd, int timeout_ms);

#endif
