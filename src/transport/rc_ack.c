/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/rc_ack.h"

void rc_ack_owed(struct rc_ack *ack, uint64_t now, bool completes)
{
	ack->owed_at = now;
	ack->completes = completes;
}

void rc_ack_left(struct rc_ack *ack, uint64_t now, bool alone)
{
	if (alone && ack->alone)
		ack->answers = 0;
	ack->alone = alone;
	ack->alone_at = now;
}

void rc_ack_answered(struct rc_ack *ack, uint64_t now)
{
	/* One that took a held ACK along counts, too. */
	bool soon = rc_ack_waits(ack) || (ack->alone && now - ack->alone_at < RC_ACK_HOLD_NS);

	ack->alone = false;
	if (!soon)
		return;
	if (ack->answers < rc_ack_wanted(ack) + RC_ACK_PROVEN)
		ack->answers++;
}

void rc_ack_failed(struct rc_ack *ack)
{
	uint16_t wanted = 2 * rc_ack_wanted(ack);

	if (ack->answers >= rc_ack_wanted(ack) + RC_ACK_PROVEN)
		wanted = RC_ACK_ANSWERS;
	ack->answers = 0;
	ack->wanted = wanted < RC_ACK_ANSWERS_MAX ? wanted : RC_ACK_ANSWERS_MAX;
}
