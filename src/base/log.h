/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Diagnostics for people. Errors and warnings go to standard error at once, one line each, with the prefix "softverbs:".
 * Explanations (why a call was refused) are printed only when SOFTVERBS_DEBUG is set to anything but "0" or the empty string.
 * The function that first knows what went wrong logs it, once; nobody above does. Not for the data path. Thread-safe.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum base_log_level { BASE_LOG_ERROR, BASE_LOG_WARNING, BASE_LOG_EXPLAIN };

bool base_log_explains(void);
void base_log(enum base_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define base_error(...) base_log(BASE_LOG_ERROR, __VA_ARGS__)
#define base_warn(...) base_log(BASE_LOG_WARNING, __VA_ARGS__)
#define base_explain(...) do { if (base_log_explains()) base_log(BASE_LOG_EXPLAIN, __VA_ARGS__); } while (0)

#endif
