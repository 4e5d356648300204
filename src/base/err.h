/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one error enum of the project. Inside, a function returns 0 (or a count) or one of these negative codes; errno, -1 and
 * NULL exist only at the ABI edge, where base_err_to_errno() translates.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum base_err {
	BASE_OK = 0,
	BASE_ERR_INVAL = -1,      /* an argument is outside what the interface allows              EINVAL */
	BASE_ERR_NOMEM = -2,      /* memory, ids or table slots are used up                        ENOMEM */
	BASE_ERR_AGAIN = -3,      /* nothing there now, or no room now: try again after an event   EAGAIN */
	BASE_ERR_TRUNCATED = -4,  /* a packet or message ends before its format does               EPROTO */
	BASE_ERR_MALFORMED = -5,  /* a packet or message breaks its format                         EPROTO */
	BASE_ERR_KEY = -6,        /* lkey/rkey unknown, stale, of another PD, or lacks the right   EACCES */
	BASE_ERR_RANGE = -7,      /* outside of the memory region or table                         ERANGE */
	BASE_ERR_FAULT = -8,      /* the memory behind a valid region went away                    EFAULT */
	BASE_ERR_BUSY = -9,       /* still in use                                                  EBUSY */
	BASE_ERR_UNSUPPORTED = -10, /* a software adapter cannot do this, or not yet               EOPNOTSUPP */
	BASE_ERR_PERM = -11,      /* not permitted                                                 EPERM */
	BASE_ERR_NODEV = -12,     /* no such device or no broker                                   ENODEV */
	BASE_ERR_TIMEDOUT = -13,  /* no answer in time                                             ETIMEDOUT */
	BASE_ERR_UNREACH = -14,   /* no route or no neighbour                                      EHOSTUNREACH */
	BASE_ERR_EXISTS = -15,    /* name, address or port already taken                           EADDRINUSE */
	BASE_ERR_NOENT = -16,     /* no such entry                                                 ENOENT */
	BASE_ERR_GONE = -17,      /* the peer (process, broker, ring) is gone                      ECONNRESET */
	BASE_ERR_IO = -18,        /* a system call failed in a way nobody expected                 EIO */
	BASE_ERR_NOADDR = -19,    /* the address cannot be had: another one holds all of them          EADDRNOTAVAIL */
	BASE_ERR_COUNT = 20       /* one past the largest code, negated */
};

/* The positive errno value a code becomes at the ABI edge; 0 for BASE_OK, EIO for a code that is none of ours. */
int base_err_to_errno(int err);
/* The code for an errno value that a system call left: the nearest one above, BASE_ERR_IO when none fits. */
int base_err_from_errno(int errno_value);
/* A short lower-case text for logs, never NULL. */
const char *base_err_text(int err);

#endif
