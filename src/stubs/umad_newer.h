/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Public functions of libibumad newer than our oldest headers (44). Structures stay opaque. */
#ifndef STUBS_UMAD_NEWER_H
#define STUBS_UMAD_NEWER_H

#include <stddef.h>
#include <stdint.h>

struct umad_ca_pair;

int umad_open_smi_port(const char *ca_name, int portnum);
/* The number of pairs found, or a negative errno. */
int umad_get_smi_gsi_pairs(struct umad_ca_pair *pairs, size_t max);
int umad_get_smi_gsi_pair_by_ca_name(const char *ca_name, uint8_t portnum, struct umad_ca_pair *pair);

#endif
