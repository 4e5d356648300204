/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ACK Extended Transport Header and its syndrome: bits 7:5 say ACK, RNR NAK or NAK, bits 4:0 are the credit count code,
 * the RNR timer code (wire/timer.h) or the NAK code. Any byte is a legal argument of every helper.
 */
#ifndef WIRE_AETH_H
#define WIRE_AETH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/bytes.h"

#define WIRE_AETH_BYTES 4
#define WIRE_MSN_MASK 0xffffffu
#define WIRE_CREDITS_UNLIMITED 0x1fu /* credit code: the responder does not give credits */

struct wire_aeth {
	uint8_t syndrome;
	uint32_t msn; /* 24 bits */
};

enum wire_syndrome_class {
	WIRE_SYNDROME_ACK = 0,
	WIRE_SYNDROME_RNR_NAK = 1,
	WIRE_SYNDROME_RESERVED = 2,
	WIRE_SYNDROME_NAK = 3,
	WIRE_SYNDROME_INVALID = 4 /* bit 7 set: no meaning is assigned */
};

/* Whole syndromes, as sent. */
enum wire_syndrome {
	WIRE_ACK_UNLIMITED = 0x1f,
	WIRE_RNR_NAK = 0x20, /* or-ed with the timer code */
	WIRE_NAK_PSN_SEQUENCE = 0x60,
	WIRE_NAK_INVALID_REQUEST = 0x61,
	WIRE_NAK_REMOTE_ACCESS = 0x62,
	WIRE_NAK_REMOTE_OPERATION = 0x63,
	WIRE_NAK_INVALID_RD_REQUEST = 0x64
};

static inline ssize_t wire_aeth_decode(struct wire_aeth *out, const uint8_t *buf, size_t len)
{
	if (len < WIRE_AETH_BYTES)
		return BASE_ERR_TRUNCATED;
	out->syndrome = buf[0];
	out->msn = wire_be24_load(buf + 1);
	return WIRE_AETH_BYTES;
}

static inline size_t wire_aeth_encode(uint8_t *buf, const struct wire_aeth *in)
{
	wire_be32_store(buf, (uint32_t)in->syndrome << 24 | (in->msn & WIRE_MSN_MASK));
	return WIRE_AETH_BYTES;
}

static inline enum wire_syndrome_class wire_syndrome_classify(uint8_t syndrome)
{
	return syndrome & 0x80 ? WIRE_SYNDROME_INVALID : (enum wire_syndrome_class)(syndrome >> 5);
}

static inline bool wire_syndrome_is_ack(uint8_t syndrome)
{
	return (syndrome & 0xe0) == 0;
}

static inline bool wire_syndrome_is_rnr(uint8_t syndrome)
{
	return (syndrome & 0xe0) == WIRE_RNR_NAK;
}

static inline bool wire_syndrome_is_nak(uint8_t syndrome)
{
	return (syndrome & 0xe0) == WIRE_NAK_PSN_SEQUENCE;
}

/* The low five bits: credit code, RNR timer code or NAK code. */
static inline uint8_t wire_syndrome_value(uint8_t syndrome)
{
	return syndrome & 0x1f;
}

static inline uint8_t wire_syndrome_rnr(uint8_t timer_code)
{
	return (uint8_t)(WIRE_RNR_NAK | (timer_code & 0x1f));
}

/* Messages that a credit code 0..30 permits beyond the MSN; UINT32_MAX for 31, no limit. */
uint32_t wire_syndrome_credits(uint8_t syndrome);
/* A short name for traces, never NULL: "ACK", "RNR NAK", "NAK PSN sequence", ... */
const char *wire_syndrome_name(uint8_t syndrome);

#endif
