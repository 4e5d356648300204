/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* REJ: ours, and the peer's (12.6.7, 12.9.8.3). */
#include <string.h>

#include "cm/cm_internal.h"

static void fill(struct cm_rej *rej, uint16_t reason, const uint8_t *info, uint8_t info_len)
{
	rej->reason = reason;
	rej->info_len = info_len;
	if (info_len)
		memcpy(rej->info, info, info_len);
}

static void count(struct cm *cm, uint16_t reason)
{
	if (reason < CM_REJECT_REASONS)
		cm->stats.rejected[reason]++;
}

void cm_rej_send(struct cm *cm, struct cm_id *id, uint16_t reason, const uint8_t *info, uint8_t info_len,
		 const uint8_t *private_data, uint32_t private_len)
{
	struct cm_message rej;

	memset(&rej, 0, sizeof(rej));
	rej.kind = CM_REJ;
	rej.tid = id->tid;
	rej.rej.local_id = id->local_id;
	rej.rej.remote_id = id->remote_id;
	rej.rej.about = id->state == CM_MRA_REQ_SENT ? CM_ABOUT_REQ : id->state == CM_MRA_REP_SENT ? CM_ABOUT_REP : CM_ABOUT_OTHER;
	fill(&rej.rej, reason, info, info_len);
	if (private_len)
		memcpy(rej.rej.private_data, private_data, private_len);
	count(cm, reason);
	cm_owe_message(cm, id, &rej, 0, 0);
}

void cm_rej_answer(struct cm *cm, const struct cm_path *from, const struct cm_message *message, uint16_t reason,
		   const uint8_t *info, uint8_t info_len)
{
	bool rep = message->kind == CM_REP;
	struct cm_message rej;

	memset(&rej, 0, sizeof(rej));
	rej.kind = CM_REJ;
	rej.tid = message->tid;
	/* Our id is 0 for a REQ: we have none. Linux copies bytes 4..7 of the REQ there, which hold ECE's vendor id now. */
	rej.rej.local_id = rep ? message->rep.remote_id : 0;
	rej.rej.remote_id = rep ? message->rep.local_id : message->req.local_id;
	rej.rej.about = rep ? CM_ABOUT_REP : CM_ABOUT_REQ;
	fill(&rej.rej, reason, info, info_len);
	count(cm, reason);
	cm_answer(cm, from, &rej);
}

int cm_reject(struct cm *cm, uint64_t now, struct cm_ref ref, uint16_t reason, const uint8_t *private_data, uint32_t private_len)
{
	struct cm_id *id = cm_id_find(cm, ref);
	struct cm_accept data = { .private_data = private_data, .private_len = private_len };

	if (id == NULL)
		return BASE_ERR_NOENT;
	if (reason == 0 || reason >= CM_REJECT_REASONS ||
	    private_len > (id->state == CM_SIDR_REQ_RCVD ? (uint32_t)CM_ROOM_SIDR_REP : (uint32_t)CM_ROOM_REJ))
		return BASE_ERR_INVAL;
	switch ((enum cm_state)id->state) {
	case CM_SIDR_REQ_RCVD:
		cm->now = now;
		cm_id_taken(cm, id);
		cm_sidr_rep_send(cm, id, CM_SIDR_REJECT, &data);
		break;
	case CM_REQ_SENT:
	case CM_MRA_REQ_RCVD:
	case CM_MRA_REQ_SENT:
	case CM_MRA_REP_SENT:
		cm->now = now;
		cm_id_taken(cm, id);
		cm_rej_send(cm, id, reason, NULL, 0, private_data, private_len);
		cm_id_reset(cm, id);
		break;
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
		cm->now = now;
		cm_rej_send(cm, id, reason, NULL, 0, private_data, private_len);
		cm_id_timewait(cm, id);
		break;
	case CM_IDLE:
	case CM_LISTEN:
	case CM_SIDR_REQ_SENT:
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
	case CM_DREQ_RCVD:
	case CM_TIMEWAIT:
	case CM_STATES:
		return BASE_ERR_INVAL;
	}
	cm_output_settle(cm);
	return 0;
}

/* ---- the peer's ---- */

/* Whom it means. The sender's own id is not to be trusted when it refuses a REQ: see cm_rej_answer(). */
static struct cm_id *rejected(const struct cm *cm, const struct cm_rej *rej)
{
	if (rej->reason == CM_REJ_TIMEOUT)
		return rej->info_len < 8 ? NULL : cm_id_by_remote(cm, rej->local_id, wire_be64_load(rej->info));
	return cm_id_by_local(cm, rej->remote_id, rej->about == CM_ABOUT_REQ ? 0 : rej->local_id);
}

static void tell(struct cm *cm, struct cm_id *id, const struct cm_rej *rej)
{
	memcpy(id->rej_data, rej->private_data, CM_ROOM_REJ);
	memcpy(id->rej_info, rej->info, CM_ARI_BYTES);
	id->rej_info_len = rej->info_len < CM_ARI_BYTES ? rej->info_len : CM_ARI_BYTES;
	cm_tell(cm, id, CM_EVENT_REJECTED, rej->reason);
}

void cm_on_rej(struct cm *cm, const struct cm_path *from, const struct cm_message *message)
{
	const struct cm_rej *rej = &message->rej;
	struct cm_id *id = rejected(cm, rej);

	if (id == NULL || cm_id_is_datagram(id)) {
		cm_drop(cm, CM_DROP_NO_ID);
		return;
	}
	switch ((enum cm_state)id->state) {
	case CM_REQ_SENT:
	case CM_MRA_REQ_RCVD:
	case CM_MRA_REQ_SENT:
	case CM_REP_SENT:
	case CM_MRA_REP_RCVD:
		tell(cm, id, rej);
		if (rej->reason == CM_REJ_STALE_CONN)
			cm_id_timewait(cm, id);
		else
			cm_id_reset(cm, id);
		return;
	case CM_MRA_REP_SENT:
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
		tell(cm, id, rej);
		cm_id_timewait(cm, id);
		return;
	case CM_IDLE:
	case CM_LISTEN:
	case CM_SIDR_REQ_SENT:
	case CM_SIDR_REQ_RCVD:
	case CM_DREQ_RCVD:
	case CM_TIMEWAIT:
	case CM_STATES:
		break;
	}
	cm_drop(cm, CM_DROP_STATE);
}
