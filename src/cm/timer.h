/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One timer for each id, in a heap of slots ordered by deadline. For the files of src/cm alone. */
#ifndef CM_TIMER_H
#define CM_TIMER_H

#include <stdint.h>

struct cm;
struct cm_id;

/* Sets or moves the timer to cm->now + after_ns. */
void cm_timer_set(struct cm *cm, struct cm_id *id, uint64_t after_ns);
/* Nothing happens if there is none. */
void cm_timer_clear(struct cm *cm, struct cm_id *id);

#endif
