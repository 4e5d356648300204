/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where our libraries lie, as seen from this executable: build/softverbs has them in build/lib, an installed
 * bin/softverbs in lib/softverbs.
 */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The directory with libibverbs.so.1. False when none of the places has it; `out` then names the places that were tried,
 * for the error line.
 */
bool place_libraries(char *out, size_t bytes);
/* Puts that directory in front of LD_LIBRARY_PATH of this process, for what it executes. False: said why on standard error. */
bool place_environment_set(void);
/* Looks `name` up as execvp(3) would. False when there is no such executable file. */
bool place_program(const char *name, char *out, size_t bytes);

#endif
