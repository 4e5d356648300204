/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reader's side: looks into the memfd of another process, whatever that process wrote there. Nothing read is trusted: the
 * format is checked once at open, every index and string again at each use, and all reading is by pread(2), so that a file cut
 * off meanwhile is an error and no signal. Holes are skipped, not filled.
 *
 * Errors: BASE_ERR_*; outputs only on success. Ownership: export_reader_open() borrows the descriptor until close. Threads:
 * any, one at a time per reader.
 */
#ifndef EXPORT_READER_H
#define EXPORT_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "export/layout.h"

struct export_reader; /* opaque */

/* BASE_ERR_MALFORMED: no export, or tables outside of the file; BASE_ERR_UNSUPPORTED: another version; BASE_ERR_NOMEM. */
int export_reader_open(int fd, struct export_reader **out);
void export_reader_close(struct export_reader *reader);

uint32_t export_reader_pid(const struct export_reader *reader);
uint32_t export_reader_slot(const struct export_reader *reader);
/* The program's name, always terminated. */
const char *export_reader_program(const struct export_reader *reader);

struct export_group_view {
	char kind[EXPORT_NAME_BYTES], instance[EXPORT_NAME_BYTES];
	uint32_t count;
	uint32_t first_name, first_value; /* checked against the tables */
};
/* Group `index`, from 0 on. BASE_ERR_NOENT: past the last; BASE_ERR_AGAIN: not in use; BASE_ERR_MALFORMED: it lies. */
int export_reader_group(const struct export_reader *reader, uint32_t index, struct export_group_view *out);
/* The name and value of counter `i` of a group. BASE_ERR_RANGE. */
int export_reader_counter(const struct export_reader *reader, const struct export_group_view *group, uint32_t i,
			  char name[EXPORT_NAME_BYTES], uint64_t *value);

struct export_qp_view {
	uint32_t qpn, dest_qpn, type, state, pd, access, rq_psn, sq_psn, port, link_kind, mtu;
	uint64_t counters[EXPORT_QP_COUNTERS];
};
/* The next QP in use at or after *index, which is moved past it. BASE_ERR_NOENT: none left. */
int export_reader_qp_next(const struct export_reader *reader, uint32_t *index, struct export_qp_view *out);
/* How many MRs are registered, and their bytes. Walks the table. */
void export_reader_mrs(const struct export_reader *reader, uint32_t *count, uint64_t *bytes);

#endif
