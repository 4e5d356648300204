/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of any shape to an XRC target with two SRQs. */
#include "fuzz/rc_respond.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_rc_respond(data, size, true);
}
