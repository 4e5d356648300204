/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Limits, timeouts and retries of the CM engine. Times are codes of the specification: 4.096 us * 2^code, which Linux rounds to
 * 2^(code - 8) ms, and so do we (wire_timer_cm_ns()).
 */
#ifndef CM_CONFIG_H
#define CM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CM_IDS_MAX = 1 << 20,
	CM_TIMEOUT_CODE_MAX = 31,
	CM_RETRIES_MAX = 15, /* four bits in the REQ */
};

struct cm_config {
	uint32_t ids;                 /* 1..CM_IDS_MAX, of all owners, listeners, half-open ones and those in timewait included */
	uint32_t ids_per_owner;       /* 1..ids */
	uint32_t backlog;             /* 1..ids: default and upper limit of a listener's backlog */
	uint32_t answers;             /* 1..65536: answers of no id (REJ 8, DREP) that may wait to be pulled; more are dropped */
	uint16_t first_port, last_port; /* free ports, both included, first not 0 */
	uint32_t tid_high;            /* bits 63:32 of the transaction ids: Linux's agent number. 0 is legal */
	uint8_t response_timeout;     /* code; how soon both sides shall answer: in the REQ, and between two SIDR_REQs */
	uint8_t max_retries;          /* 0..CM_RETRIES_MAX retransmissions: in the REQ, and of SIDR_REQ */
	uint8_t mra_timeout;          /* code; service timeout in our MRAs */
	uint8_t timewait_min;         /* code; a timewait is no shorter. 0: as the QP's timeout says */
	uint8_t timewait_max;         /* code; and no longer. 31: no limit */
};

/* As Linux 6.1: 4 s, 15 retries, MRA 65 s, 65,536 ids. */
extern const struct cm_config cm_config_linux;
/* For tests: the same with 64 ms, 7 retries, MRA 1 s, timewait at most 64 ms. A path's life_time should then be 8. */
extern const struct cm_config cm_config_fast;

bool cm_config_is_valid(const struct cm_config *config);

#endif
