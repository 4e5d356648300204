/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every decoder of connection management: any bytes decode or are refused, and what decodes is written as it was read. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "cm/ip_header.h"
#include "cm/message.h"

static void message(const uint8_t *data, size_t size)
{
	struct cm_message first, second;
	uint8_t mad[CM_MAD_BYTES], again[CM_MAD_BYTES];

	if (cm_message_decode(&first, data, size))
		return;
	assert(size == CM_MAD_BYTES);
	cm_message_encode(mad, &first);
	assert(cm_message_decode(&second, mad, sizeof(mad)) == 0 && memcmp(&first, &second, sizeof(first)) == 0);
	cm_message_encode(again, &second);
	assert(memcmp(mad, again, sizeof(mad)) == 0);
	assert(cm_message_ece(&first).vendor <= 0xffffff);
	assert(cm_message_name(first.kind)[0] != '?');
}

static void ip_header(const uint8_t *data, size_t size)
{
	struct cm_ip_header first, second;
	uint8_t bytes[CM_IP_HEADER_BYTES];

	if (cm_ip_header_decode(&first, data, size) < 0)
		return;
	assert(cm_ip_is_valid(&first.source.ip) && cm_ip_is_valid(&first.destination));
	cm_ip_header_encode(bytes, &first);
	assert(cm_ip_header_decode(&second, bytes, sizeof(bytes)) == CM_IP_HEADER_BYTES);
	assert(cm_ip_equal(&first.source.ip, &second.source.ip) && cm_ip_equal(&first.destination, &second.destination));
	assert(first.source.port == second.source.port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t mad[CM_MAD_BYTES] = { 1, 7, 2, 3 };

	message(data, size);
	ip_header(data, size);
	if (size < 2 || size > sizeof(mad) - 15)
		return 0;
	/* The same bytes behind a header that is right. */
	mad[17] = (uint8_t)(CM_REQ + data[0] % CM_MESSAGE_KINDS);
	memcpy(mad + 20, data + 1, size - 1 < sizeof(mad) - 20 ? size - 1 : sizeof(mad) - 20);
	message(mad, sizeof(mad));
	return 0;
}
