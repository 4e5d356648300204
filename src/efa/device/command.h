/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One admin command under way, and who does it: a row per opcode. A handler reads `in`, writes `out` and answers an admin status;
 * when that is EFA_ADMIN_ILLEGAL, `extended` names the byte of the entry that was wrong.
 */
#ifndef EFA_DEVICE_COMMAND_H
#define EFA_DEVICE_COMMAND_H

#include <stdint.h>

#include "efa/abi/command.h"

struct efa_device;

struct efa_command {
	const uint8_t *entry; /* 64 bytes, a copy */
	struct efa_abi_aq_head head;
	uint16_t extended;
	union {
		struct efa_abi_create_qp create_qp;
		struct efa_abi_modify_qp modify_qp;
		struct efa_abi_qp_handle qp;
		struct efa_abi_create_ah create_ah;
		struct efa_abi_ah ah;
		struct efa_abi_reg_mr reg_mr;
		struct efa_abi_lkey lkey;
		struct efa_abi_create_cq create_cq;
		struct efa_abi_cq_idx cq;
		struct efa_abi_feature feature;
		struct efa_abi_get_stats get_stats;
		struct efa_abi_pd pd;
		struct efa_abi_uar uar;
		struct efa_abi_create_eq create_eq;
		struct efa_abi_eqn eq;
		struct efa_abi_alloc_mr alloc_mr;
	} in;
	union {
		struct efa_abi_create_qp_result create_qp;
		struct efa_abi_query_qp_result query_qp;
		struct efa_abi_ah ah;
		struct efa_abi_reg_mr_result reg_mr;
		struct efa_abi_create_cq_result create_cq;
		struct efa_abi_pd pd;
		struct efa_abi_uar uar;
		struct efa_abi_eqn eq;
	} out;
	uint8_t result[EFA_ACQ_RESULT_BYTES]; /* of features and statistics, which are no one structure */
};

static inline uint8_t efa_command_illegal(struct efa_command *c, uint16_t at)
{
	c->extended = at;
	return EFA_ADMIN_ILLEGAL;
}

/*
 * Does the command in `entry` and fills the completion's bytes from EFA_ACQ_RESULT_AT on. The status; *extended says more.
 */
uint8_t efa_command_execute(struct efa_device *device, const uint8_t *entry, uint8_t *completion, uint16_t *extended);

#endif
