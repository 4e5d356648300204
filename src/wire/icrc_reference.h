/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A second ICRC, for tests to judge the first: a shift register that takes one bit at a time, over a whole Ethernet frame that it
 * takes apart itself. It shares nothing with the rest of this folder, not even a header, is slow, and is no part of the library.
 */
#ifndef WIRE_ICRC_REFERENCE_H
#define WIRE_ICRC_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The four bytes that the ICRC of this frame should be, and where in the frame it stands. False if the frame is not RoCE or its
 * lengths do not fit it.
 */
bool icrc_reference(const uint8_t *frame, size_t len, uint8_t expected[4], size_t *icrc_at);

#endif
