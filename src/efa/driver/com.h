/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver's end of registers and admin queue.
 *
 * A command takes a context, writes its entry, rings, and waits for the answer of that context: on the interrupt, or, when
 * polling, by looking now and then. An answer that does not come, or comes without its interrupt, means that the adapter cannot be
 * trusted: the queue stops running, and every later command ends at once with BASE_ERR_NODEV until efa_com_start() after a reset.
 *
 * Errors of commands: BASE_ERR_NODEV (not running), BASE_ERR_TIMEDOUT (no answer in time), BASE_ERR_NOMEM (the adapter has no
 * more), BASE_ERR_UNSUPPORTED, BASE_ERR_INVAL (anything else that the adapter refused).
 * Threads: the function's lock, which a wait may give back: commands of several threads are under way at once.
 */
#ifndef EFA_DRIVER_COM_H
#define EFA_DRIVER_COM_H

#include <stdbool.h>
#include <stdint.h>

#include "efa/abi/admin.h"
#include "efa/abi/regs.h"
#include "efa/bus/bus.h"
#include "efa/driver/host.h"
#include "efa/driver/memory.h"

enum efa_com_context_state { EFA_COM_FREE, EFA_COM_SUBMITTED, EFA_COM_DONE };

struct efa_com_context {
	enum efa_com_context_state state;
	uint16_t id, extended;
	uint8_t status;
	uint8_t entry[EFA_ADMIN_ENTRY_BYTES]; /* the answer */
};

struct efa_com_stats {
	uint64_t submitted, completed, failed; /* failed: by the adapter's word */
	uint64_t no_completion;
	uint64_t strays;                       /* answers to no command under way */
	uint64_t mmio_timeouts;
};

struct efa_com {
	struct efa_bus_function function;
	struct efa_driver_host host;
	struct efa_driver_memory answer;       /* of register reads */
	struct efa_driver_memory sq, cq, aenq;
	uint16_t mmio_seq;
	bool running, polling;
	uint16_t sq_producer, cq_consumer, aenq_consumer;
	struct efa_com_context contexts[EFA_AQ_DEPTH];
	uint64_t admin_timeout;                /* nanoseconds */
	uint8_t dma_width;
	uint32_t last_extended;                /* of the last command that was refused: the byte that was wrong */
	struct efa_com_stats stats;
};

/* Where register reads are answered. BASE_ERR_NOMEM. */
int efa_com_init(struct efa_com *com, struct efa_bus_function function, struct efa_driver_host host);
void efa_com_fini(struct efa_com *com);

/* EFA_MMIO_BAD: no answer within 50 ms, or one of another register. */
uint32_t efa_com_read(struct efa_com *com, uint16_t reg);
void efa_com_write(struct efa_com *com, uint16_t reg, uint32_t value);
/*
 * BASE_ERR_NODEV: the adapter is not ready, or does not answer; BASE_ERR_INVAL: it cannot be reset; BASE_ERR_TIMEDOUT: the reset does
 * not begin, or does not end, in the time that it said.
 */
int efa_com_reset(struct efa_com *com, enum efa_abi_reset_reason reason);
/* BASE_ERR_UNSUPPORTED: too old; BASE_ERR_INVAL: a width of addresses that cannot be. */
int efa_com_check_version(struct efa_com *com);

/* Rings, masked; the queue runs. BASE_ERR_NODEV: not ready; BASE_ERR_NOMEM. */
int efa_com_start(struct efa_com *com);
/* The adapter was reset: nothing is written any more. */
void efa_com_stop(struct efa_com *com);
/* Commands wait for interrupts from now on, or look for themselves. */
void efa_com_set_polling(struct efa_com *com, bool polling);

/*
 * One command: `entry` has everything but id and phase (flags may be set). *answer, if not NULL, gets the answer's 64 bytes on
 * success.
 */
int efa_com_execute(struct efa_com *com, const uint8_t *entry, uint8_t *answer);
/* Takes the answers that are there: on the management interrupt, before the events. */
void efa_com_take_answers(struct efa_com *com);

#endif
