/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A verbs program for both ends of a wire: the same file runs over softverbs and, in a guest, over the distribution's libibverbs
 * and rxe. Each scenario is one exchange with known contents; both ends fail (exit status 1) unless all went as told here.
 *
 * Shared by the peer_*.c files. Single-threaded; whatever fails ends the program with the line, so nothing returns an error.
 */
#ifndef TESTS_INTEROP_PEER_H
#define TESTS_INTEROP_PEER_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_BUFFER 65536u
#define PEER_SLOT 8192u /* receive n is at slot n % 8 */
#define PEER_RECEIVES 16
#define PEER_QKEY 0x11223344u
#define PEER_WAIT_MS 60000

#define must(condition) \
	do { \
		if (!(condition)) \
			peer_die(__FILE__, __LINE__, #condition); \
	} while (0)
void peer_die(const char *file, int line, const char *what) __attribute__((noreturn));
void peer_skip(const char *why) __attribute__((noreturn)); /* exit status 77 */

/* What one end tells the other about a queue pair. */
struct peer_end {
	uint32_t qpn, psn, key, key_read_only;
	uint64_t address;
	union ibv_gid gid;
	bool is_rxe; /* some answers depend on who gives them */
};

struct peer {
	bool is_client;
	enum ibv_mtu mtu;
	const char *server;  /* its address, at the client */
	const char *port;
	unsigned long count; /* of messages, for bulk */
	uint32_t depth;      /* queue depths of new QPs */
	int line;            /* TCP, beside the traffic */
	uint8_t gid_index;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr, *mr_read_only;
	uint8_t *buffer;
	struct peer_end here, there;
};

/* What a scenario may change of a connection; peer_connect_default for the rest. */
struct peer_connection {
	uint32_t receive_psn; /* that we expect */
	unsigned access;
	uint8_t rnr_timer, rnr_retry, retry, timeout;
};

/* Byte i of every payload. */
static inline uint8_t peer_pattern(size_t i)
{
	return (uint8_t)(i + i / 251);
}

/* Sends the one and waits for the other's. */
void peer_swap(struct peer *peer, const void *mine, void *theirs, size_t len);
void peer_meet(struct peer *peer);

void peer_qp_create(struct peer *peer, enum ibv_qp_type type); /* and tells the other end */
struct peer_connection peer_connection_default(const struct peer *peer);
void peer_qp_connect(struct peer *peer, struct peer_connection connection); /* to RTS */
void peer_qp_destroy(struct peer *peer);
struct ibv_ah_attr peer_path(const struct peer *peer);

void peer_receive(struct peer *peer, unsigned n);
struct ibv_wc peer_completion(struct peer *peer);
struct ibv_wc peer_completion_of(struct peer *peer, uint64_t wr_id, enum ibv_wc_status status);

struct peer_operation {
	const char *words;
	enum ibv_wr_opcode opcode;
	uint32_t len;
	uint32_t at; /* in the server's buffer */
	uint64_t compare_add, swap;
	unsigned flags;
};
void peer_post(struct peer *peer, const struct peer_operation *operation, unsigned n, uint32_t key);
bool peer_takes_receive(enum ibv_wr_opcode opcode);
bool peer_has_immediate(enum ibv_wr_opcode opcode);

/* The scenarios. */
void peer_run_rc(struct peer *peer);
void peer_run_invalidate(struct peer *peer);
void peer_run_uc(struct peer *peer);
void peer_run_ud(struct peer *peer);
void peer_run_errors(struct peer *peer);
void peer_run_bulk(struct peer *peer);
void peer_run_cm(struct peer *peer);

#endif
