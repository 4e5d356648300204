/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A field of a message, as a row of a table: where it lies in the bytes, and where in the struct. Numbers are of up to 64 bits,
 * most significant bit first, at any bit; a number may be split over several rows (ECE's vendor id in the REP is). Byte strings
 * are whole bytes.
 */
#ifndef CM_FIELD_H
#define CM_FIELD_H

#include <stddef.h>
#include <stdint.h>

struct cm_field {
	const char *name;
	uint16_t bit;    /* of the message, from its first byte's most significant on */
	uint16_t width;  /* in bits: 1..64, or for byte strings any multiple of 8 */
	uint16_t offset; /* of the member */
	uint8_t size;    /* of the member, a number of 1, 2, 4 or 8 bytes; 0: a byte string */
	uint8_t shift;   /* the field is the member's bits [shift, shift + width) */
};

/* The messages' structs are members of a zeroed union, so that split numbers are put together by or-ing. */
void cm_field_decode(const struct cm_field *fields, size_t count, const uint8_t *bytes, void *out);
/* `bytes` are zero before; bits of a number beyond its field are cut off. */
void cm_field_encode(const struct cm_field *fields, size_t count, uint8_t *bytes, const void *in);

#endif
