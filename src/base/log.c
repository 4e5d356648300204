/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool base_log_explains(void)
{
	static _Atomic int answer = -1; /* asked of the environment once; every thread computes the same value */
	int known = atomic_load_explicit(&answer, memory_order_relaxed);

	if (known < 0) {
		const char *value = secure_getenv("SOFTVERBS_DEBUG");

		known = value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
		atomic_store_explicit(&answer, known, memory_order_relaxed);
	}
	return known != 0;
}

void base_log(enum base_log_level level, const char *format, ...)
{
	static const char *const words[] = { [BASE_LOG_ERROR] = "", [BASE_LOG_WARNING] = "warning: ", [BASE_LOG_EXPLAIN] =
			"debug: " };
	int saved = errno;
	char line[1024];
	va_list args;
	int at = snprintf(line, sizeof(line), "softverbs: %s", words[level]);

	va_start(args, format);
	int more = vsnprintf(line + at, sizeof(line) - (size_t)at - 1, format, args);
	va_end(args);
	size_t len = (size_t)at + (more > 0 ? (size_t)more : 0);
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	/* One write: lines of several threads and processes do not mix. A closed standard error is not our problem. */
	/* Not write(3), a cancellation point: callers hold locks. */
	(void)syscall(SYS_write, STDERR_FILENO, line, len);
	errno = saved;
}
