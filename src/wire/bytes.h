/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loads and stores of wire integers at any alignment. They are the only place where byte order is dealt with. The caller
 * guarantees that the bytes exist; nothing is checked here. All inline: this is the data path.
 */
#ifndef WIRE_BYTES_H
#define WIRE_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t wire_be16_load(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t wire_be24_load(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t wire_be32_load(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t wire_be64_load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline uint32_t wire_le32_load(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

/* The four bytes as they lie: a __be32 value, as imm_data is. */
static inline uint32_t wire_raw32_load(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void wire_be16_store(uint8_t *p, uint16_t value)
{
	uint16_t v = htobe16(value);

	memcpy(p, &v, sizeof(v));
}

/* Bits above 24 are cut off. */
static inline void wire_be24_store(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 16);
	p[1] = (uint8_t)(value >> 8);
	p[2] = (uint8_t)value;
}

static inline void wire_be32_store(uint8_t *p, uint32_t value)
{
	uint32_t v = htobe32(value);

	memcpy(p, &v, sizeof(v));
}

static inline void wire_be64_store(uint8_t *p, uint64_t value)
{
	uint64_t v = htobe64(value);

	memcpy(p, &v, sizeof(v));
}

static inline void wire_le32_store(uint8_t *p, uint32_t value)
{
	uint32_t v = htole32(value);

	memcpy(p, &v, sizeof(v));
}

static inline void wire_raw32_store(uint8_t *p, uint32_t value)
{
	memcpy(p, &value, sizeof(value));
}

#endif
