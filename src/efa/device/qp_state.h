/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The states of queue pairs as data: which transitions MODIFY_QP may make, which of its attributes each needs and allows. P_Key and
 * port never reach the adapter. Pure functions; any thread.
 */
#ifndef EFA_DEVICE_QP_STATE_H
#define EFA_DEVICE_QP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/command.h"

/* Attributes are enum efa_abi_modify_mask; STATE itself is in neither set. False: there is no such transition. */
bool efa_qp_transition(enum efa_abi_qp_type type, uint32_t from, uint32_t to, uint32_t *required, uint32_t *optional);
/* May a queue pair in this state be given a message, and may it send? */
bool efa_qp_state_receives(uint32_t state);
bool efa_qp_state_sends(uint32_t state);

#endif
