/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The 40 bytes in front of every datagram in a receive buffer: the network header that it came with, made again from what the
 * link knows. Pure; any thread.
 */
#ifndef HCA_GRH_H
#define HCA_GRH_H

#include <stdint.h>

#include "link/link.h"

enum { HCA_GRH_BYTES = 40 };

/*
 * By GID type: v1 a GRH, v2 over IPv6 an IPv6 header, v2 over IPv4 20 zeroes and an IPv4 header with a right checksum (programs
 * tell the three apart by it).
 */
void hca_grh_build(uint8_t out[HCA_GRH_BYTES], const struct link_rx *rx);

#endif
