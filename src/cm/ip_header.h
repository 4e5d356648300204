/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The header that the RDMA IP CM service puts in front of the private data of REQ and SIDR_REQ (annex A11): who calls whom, as IP
 * addresses. The destination port stands in the service id only. Pure functions: any thread.
 */
#ifndef CM_IP_HEADER_H
#define CM_IP_HEADER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cm/address.h"
#include "cm/message.h"

enum {
	CM_IP_HEADER_BYTES = 36,
	CM_USER_ROOM_REQ = CM_ROOM_REQ - CM_IP_HEADER_BYTES,           /* 56 */
	CM_USER_ROOM_SIDR_REQ = CM_ROOM_SIDR_REQ - CM_IP_HEADER_BYTES, /* 180 */
};

struct cm_ip_header {
	struct cm_address source;
	struct cm_ip destination;
};

/*
 * Bytes used, CM_IP_HEADER_BYTES. BASE_ERR_TRUNCATED; BASE_ERR_UNSUPPORTED: a major or minor version other than 0;
 * BASE_ERR_MALFORMED: an IP version that is none. Scopes are 0.
 */
ssize_t cm_ip_header_decode(struct cm_ip_header *out, const uint8_t *buf, size_t len);
/* Writes CM_IP_HEADER_BYTES; both addresses are valid and of one family. */
void cm_ip_header_encode(uint8_t *buf, const struct cm_ip_header *in);

/* The service id of a port in a port space (enum cm_space), and back: 0 for a service id that is of no space. */
static inline uint64_t cm_service_id(uint32_t space, uint16_t port)
{
	return (uint64_t)space << 16 | port;
}

static inline uint32_t cm_service_space(uint64_t service_id)
{
	return service_id >> 32 ? 0 : (uint32_t)(service_id >> 16);
}

#endif
