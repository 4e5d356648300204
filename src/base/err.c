/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

static const struct {
	int errno_value;
	const char *text;
} rows[] = {
	[-BASE_OK] = { 0, "ok" },
	[-BASE_ERR_INVAL] = { EINVAL, "invalid argument" },
	[-BASE_ERR_NOMEM] = { ENOMEM, "out of memory or ids" },
	[-BASE_ERR_AGAIN] = { EAGAIN, "try again" },
	[-BASE_ERR_TRUNCATED] = { EPROTO, "truncated" },
	[-BASE_ERR_MALFORMED] = { EPROTO, "malformed" },
	[-BASE_ERR_KEY] = { EACCES, "key does not grant this" },
	[-BASE_ERR_RANGE] = { ERANGE, "out of range" },
	[-BASE_ERR_FAULT] = { EFAULT, "memory is not there" },
	[-BASE_ERR_BUSY] = { EBUSY, "still in use" },
	[-BASE_ERR_UNSUPPORTED] = { EOPNOTSUPP, "not supported" },
	[-BASE_ERR_PERM] = { EPERM, "not permitted" },
	[-BASE_ERR_NODEV] = { ENODEV, "no such device" },
	[-BASE_ERR_TIMEDOUT] = { ETIMEDOUT, "timed out" },
	[-BASE_ERR_UNREACH] = { EHOSTUNREACH, "unreachable" },
	[-BASE_ERR_EXISTS] = { EADDRINUSE, "already in use" },
	[-BASE_ERR_NOENT] = { ENOENT, "no such entry" },
	[-BASE_ERR_GONE] = { ECONNRESET, "peer is gone" },
	[-BASE_ERR_IO] = { EIO, "input/output error" },
	[-BASE_ERR_NOADDR] = { EADDRNOTAVAIL, "address not available" },
};
static_assert(sizeof(rows) / sizeof(rows[0]) == BASE_ERR_COUNT, "every code has a row");

int base_err_to_errno(int err)
{
	return err <= 0 && err > -BASE_ERR_COUNT ? rows[-err].errno_value : EIO;
}

int base_err_from_errno(int errno_value)
{
	for (int i = 0; i < BASE_ERR_COUNT; i++)
		if (rows[i].errno_value == errno_value)
			return -i;
	if (errno_value == EACCES)
		return BASE_ERR_PERM;
	if (errno_value == ENETUNREACH)
		return BASE_ERR_UNREACH;
	if (errno_value == EPIPE || errno_value == ECONNREFUSED || errno_value == ENOTCONN)
		return BASE_ERR_GONE;
	if (errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOBUFS)
		return BASE_ERR_NOMEM;
	return BASE_ERR_IO;
}

const char *base_err_text(int err)
{
	return err <= 0 && err > -BASE_ERR_COUNT ? rows[-err].text : "unknown error";
}
