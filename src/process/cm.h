/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The RDMA connection manager, which lives in the broker, as this process speaks to it: the commands and events of the kernel's
 * ucma interface, in the layouts of <rdma/rdma_user_cm.h>, over the connection to the broker. This is what librdmacm calls
 * across the border of its library, under the version SOFTVERBS_PRIVATE of libibverbs.so.1.
 *
 * What differs from a write() to /dev/infiniband/rdma_cm: the address in a command's `response` field is ignored, the answer
 * goes to the buffer of the call; the bytes that `optval` of SET_OPTION points to follow the command; GET_EVENT and
 * MIGRATE_ID do not exist, events come by themselves and are sorted into channels by the library.
 *
 * When the broker dies, the next one is told what the last one asked to be kept of each id, and the calls that had no answer
 * yet are made again. Thread-safe.
 */
#ifndef PROCESS_CM_H
#define PROCESS_CM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/process.h"

#define PROCESS_PRIVATE_EXPORT __attribute__((visibility("default")))

/*
 * The process, with an engine that handles what the broker sends: made at the first call, kept for ever; in a fork child the
 * child's own. 0 or the negative errno value of process_engine_get().
 */
PROCESS_PRIVATE_EXPORT int process_cm_get(struct process **out);
/* The name of the device with this index (`ibdev_index` of answers), cut to size. -ERANGE: there is none. */
PROCESS_PRIVATE_EXPORT int process_cm_device_name(struct process *process, unsigned device, char *name, size_t size);

/*
 * One command, header included, `len` bytes; waits for its answer, at most `size` bytes of which are stored. Returns how many,
 * or the negative errno value that the command ended with; -ENODEV in a fork child that inherited the process, or when no
 * broker takes this process back; -ETIMEDOUT after 30 s without a broker. Never call it from an event.
 */
PROCESS_PRIVATE_EXPORT ssize_t process_cm_call(struct process *process, const void *command, size_t len, void *response, size_t size);

/*
 * Where events go (struct rdma_ucm_event_resp, borrowed): called by one thread at a time, in order, without a lock. Events
 * before the first listener are lost; there is one listener, for the life of the process.
 */
PROCESS_PRIVATE_EXPORT void process_cm_listen(struct process *process, void (*event)(void *context, const void *bytes, size_t len),
					      void *context);

#endif
