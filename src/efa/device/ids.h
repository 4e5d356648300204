/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Numbers of objects: never used ones first, then the one that has been free longest. A number may have been its owner's (a
 * UAR's): it then stays his until he is gone, because his old mappings still reach what it stands for; meanwhile only he gets
 * it again.
 *
 * Threads: the adapter's lock. No allocation after init.
 */
#ifndef EFA_DEVICE_IDS_H
#define EFA_DEVICE_IDS_H

#include <stdint.h>

#define EFA_IDS_NONE UINT32_MAX
/* So many freed numbers an owner collects before he gets one of them again. */
enum { EFA_IDS_KEPT = 16 };

struct efa_ids_list {
	uint32_t head, tail, count;
};

struct efa_ids {
	uint32_t limit, fresh, owners;
	uint32_t *next;
	struct efa_ids_list free;
	struct efa_ids_list *kept; /* of each owner */
};

/* owners: how many there may be, 0 for numbers that are nobody's. BASE_ERR_NOMEM. */
int efa_ids_init(struct efa_ids *ids, uint32_t limit, uint32_t owners);
void efa_ids_fini(struct efa_ids *ids);
/* As after init. */
void efa_ids_clear(struct efa_ids *ids);
/* EFA_IDS_NONE: all are taken, or other owners' still. */
uint32_t efa_ids_take(struct efa_ids *ids, uint32_t owner);
void efa_ids_give(struct efa_ids *ids, uint32_t id, uint32_t owner);
/* It was taken and nothing was made of it. */
void efa_ids_return(struct efa_ids *ids, uint32_t id);
/* The owner is gone: what was kept for him is free. */
void efa_ids_release(struct efa_ids *ids, uint32_t owner);

#endif
