/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/drop.h"

#include <assert.h>

const char *link_drop_name(enum link_drop drop)
{
	static const char *const names[] = {
		[LINK_DROP_NOWHERE] = "nowhere",
		[LINK_DROP_TRUNCATED] = "truncated",
		[LINK_DROP_MALFORMED] = "malformed",
		[LINK_DROP_ICRC] = "icrc",
		[LINK_DROP_RING] = "ring_broken",
		[LINK_DROP_STRAY] = "stray",
		[LINK_DROP_SEND_MTU] = "send_mtu",
		[LINK_DROP_SEND_FULL] = "send_full",
		[LINK_DROP_SEND_ERROR] = "send_error",
		[LINK_DROP_PEER_STALLED] = "peer_stalled",
		[LINK_DROP_FAULT] = "fault",
		[LINK_DROP_RECEIVE_FULL] = "receive_full",
		[LINK_DROP_ADDRESS] = "address",
	};

	static_assert(sizeof(names) / sizeof(names[0]) == LINK_DROPS, "a name for each");
	return (unsigned)drop < LINK_DROPS ? names[drop] : "unknown";
}
