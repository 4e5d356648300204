/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void base_random_bytes(void *out, size_t len)
{
	uint8_t *at = out;

	while (len > 0) {
		ssize_t got = getrandom(at, len, 0);

		if (got < 0) {
			if (errno == EINTR)
				continue;
			abort();
		}
		at += got;
		len -= (size_t)got;
	}
}
