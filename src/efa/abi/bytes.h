/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Little-endian loads and stores at any alignment: all that adapter and driver exchange is little-endian. The caller guarantees
 * that the bytes exist. All inline: the data path uses them.
 */
#ifndef EFA_ABI_BYTES_H
#define EFA_ABI_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t efa_abi_le16_load(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t efa_abi_le32_load(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t efa_abi_le64_load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void efa_abi_le16_store(uint8_t *p, uint16_t value)
{
	uint16_t v = htole16(value);

	memcpy(p, &v, sizeof(v));
}

static inline void efa_abi_le32_store(uint8_t *p, uint32_t value)
{
	uint32_t v = htole32(value);

	memcpy(p, &v, sizeof(v));
}

static inline void efa_abi_le64_store(uint8_t *p, uint64_t value)
{
	uint64_t v = htole64(value);

	memcpy(p, &v, sizeof(v));
}

#endif
