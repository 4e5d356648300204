/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects by their public handle, so that a second context of the same device file can name them: ibv_import_pd, _mr, _dm.
 *
 * For the files that make and end such objects, and for the fork handlers. An object that there was no memory to note cannot be
 * imported, and nothing else. Threads: any; the lock is a leaf.
 */
#ifndef VERBS_IMPORT_H
#define VERBS_IMPORT_H

#include <stdint.h>

#include "hca/device.h"

enum verbs_handle_kind { VERBS_HANDLE_PD, VERBS_HANDLE_MR, VERBS_HANDLE_DM };

void verbs_handle_add(enum verbs_handle_kind kind, uint32_t number, const struct hca_context *context, void *object);
/* Nothing when it was not noted. */
void verbs_handle_remove(enum verbs_handle_kind kind, uint32_t number, const void *object);
/* Around a fork. */
void verbs_handles_lock(void);
void verbs_handles_unlock(void);

#endif
