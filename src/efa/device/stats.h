/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an adapter counts: what GET_STATS answers, in its order, and what only its owner sees. */
#ifndef EFA_DEVICE_STATS_H
#define EFA_DEVICE_STATS_H

#include <stdint.h>

#include "efa/abi/feature.h"

enum { EFA_BASIC_TX_BYTES, EFA_BASIC_TX_PKTS, EFA_BASIC_RX_BYTES, EFA_BASIC_RX_PKTS, EFA_BASIC_RX_DROPS, EFA_BASIC_QKEY_VIOL };
enum { EFA_MESSAGES_SEND_BYTES, EFA_MESSAGES_SEND_WRS, EFA_MESSAGES_RECV_BYTES, EFA_MESSAGES_RECV_WRS };
enum { EFA_READ_WRS, EFA_READ_BYTES, EFA_READ_WR_ERR, EFA_READ_RESP_BYTES };
enum { EFA_WRITE_WRS, EFA_WRITE_BYTES, EFA_WRITE_WR_ERR, EFA_WRITE_RECV_BYTES };
enum { EFA_NETWORK_RETRANS_BYTES, EFA_NETWORK_RETRANS_PKTS, EFA_NETWORK_TIMEOUTS, EFA_NETWORK_UNRESPONSIVE, EFA_NETWORK_IMPAIRED };

struct efa_device_stats {
	uint64_t answered[EFA_STATS_TYPES][EFA_STATS_MAX]; /* GET_STATS; the engine counts the network's */
	/* A driver that breaks the rules, or a host that stopped answering. */
	uint64_t bad_stores;      /* stores to no register, or while they mean nothing */
	uint64_t bad_doorbells;   /* of a queue, out of its range */
	uint64_t stale_doorbells; /* to a slot that is no object's any more */
	uint64_t bad_commands;    /* phase, reserved bits, a command id twice */
	uint64_t dma_errors;
	uint64_t fatal_errors;
	uint64_t aenq_dropped;    /* the ring was full */
	uint64_t cq_overruns;
	uint64_t resets;
	uint32_t reset_reason;    /* of the last one */
};

#endif
