/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reaching the broker, and starting one when there is none.
 *
 * Of all processes that find no broker one starts it: the one that listens on the start name. The others connect to that name and
 * wait for the end of file, which comes when the starter is done or dead. The new broker is no child of the application (it comes
 * from a process that has already ended), has none of its descriptors except standard error until it is ready, default signal
 * dispositions, an empty signal mask and a session of its own. No SIGCHLD reaches the application.
 *
 * softverbsd is looked for at the configured path, else beside this library, else in lib/ beside this program, else in PATH.
 * Set-user-ID programs do not look in PATH.
 *
 * Errors: BASE_ERR_NODEV: none there, none found or it did not start (a line said why); BASE_ERR_PERM: the name belongs to
 * somebody else (a line said so); BASE_ERR_NOMEM, BASE_ERR_IO. Thread-safe.
 */
#ifndef IPC_START_H
#define IPC_START_H

#include <limits.h>
#include <stdbool.h>

/*
 * One attempt: connects, and starts a broker if none is there and nobody else is starting one. Waits for a starting broker, which
 * takes milliseconds, 5 s at most. BASE_ERR_AGAIN: another process is starting one; *wait_fd (owned by the caller) becomes
 * readable or hangs up when to try again. With `force` it does not wait for the other one, which may be stopped: two brokers that
 * start at the same time sort that out by their name.
 */
int ipc_broker_try(const char *configured, bool force, int *fd, int *wait_fd);
/* Attempts until one succeeds or `seconds` have passed at least. BASE_ERR_TIMEDOUT (a line said so). */
int ipc_broker_connect(const char *configured, unsigned seconds, int *fd);
/* Connects to a broker that is there: never starts one, never says anything. */
int ipc_broker_connect_running(int *fd);

/* Where softverbsd is. BASE_ERR_NOENT: nowhere (says nothing). */
int ipc_broker_find(const char *configured, char path[PATH_MAX]);

#endif
