/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of this edge: each begins with (or contains) the public struct, and points to the adapter's object. struct
 * ibv_* go no further
 * down than here. For src/verbs and the edges above it that were handed a context.
 */
#ifndef VERBS_CONTEXT_H
#define VERBS_CONTEXT_H

#include <infiniband/verbs.h>

#include "hca/device.h"
#include "process/engine.h"

/* One per interface, made when first listed, kept until the process ends: programs hold pointers into freed lists. */
struct verbs_device {
	struct ibv_device ibv; /* first: a pointer to it is one to us */
	unsigned index;        /* in the netdev table */
	uint64_t node_guid;    /* host order */
	struct hca_device *hca; /* made at first open, of the engine `engine`; NULL: there is none, or its interface went */
	struct process_engine *engine;
	uint32_t ifindex;        /* that `hca` was made for */
	uint64_t gid_generation; /* of its GIDs, as contexts know them */
};

struct verbs_context_object {
	struct hca_context *hca;
	uint32_t *sharers; /* how many of us `hca` has, by import; guarded by the list's lock in context.c */
	struct verbs_device *device;
	struct process_engine *engine;
	bool owns_async_fd; /* a copy, of an imported one */
	struct verbs_context_object *next; /* of all open ones; guarded by the list's lock in context.c */
	struct verbs_context ex; /* its last member is the public context */
};

static inline struct verbs_device *verbs_device_of(struct ibv_device *device)
{
	return (struct verbs_device *)(void *)device;
}

static inline struct verbs_context_object *verbs_context_of(struct ibv_context *context)
{
	return (struct verbs_context_object *)(void *)((char *)context - offsetof(struct verbs_context_object, ex.context));
}

/*
 * True in a fork child that inherited the context: it serves control calls only. Queries answer, destroying succeeds (and
 * frees nothing that
 * a thread of the parent may have held locked at the fork), everything else is EIO, as with a device that was taken away.
 */
static inline bool verbs_is_inherited(struct ibv_context *context)
{
	return process_is_foreign(verbs_context_of(context)->engine->process);
}

/* NULL and errno EIO. */
void *verbs_null_inherited(void);
/* Registers the fork handlers of this folder, once. */
void verbs_fork_prepare_once(void);
/* device.c: around a fork. */
void verbs_devices_lock(void);
void verbs_devices_unlock(void);

/* Fills the slots of the operations table and of the extension that the inlines of verbs.h call. */
void verbs_context_fill_ops(struct verbs_context *ex);

/* Sets errno for a negative code and returns NULL, or -1: the two conventions of calls that do not return an errno value. */
void *verbs_null(int err);
int verbs_minus_one(int err);

/* The translated ibv_ah_attr. */
void verbs_ah_attr_in(struct hca_ah_attr *out, const struct ibv_ah_attr *in);
void verbs_ah_attr_out(struct ibv_ah_attr *out, const struct hca_ah_attr *in);

#endif
