/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A descriptor that holds one token per queued event: readable exactly while there is one. Waiting takes a token; the queue
 * behind it belongs to the caller. Raising and lowering are no cancellation points, so that they may be done under a lock;
 * waiting is one.
 */
#ifndef HCA_EVENT_FD_H
#define HCA_EVENT_FD_H

/* The descriptor (close-on-exec), or BASE_ERR_NOMEM. */
int hca_event_fd_create(void);
void hca_event_fd_close(int fd);
void hca_event_fd_raise(int fd);
/* Takes a token back without waiting, if nobody else took it: for events that vanish with their object. */
void hca_event_fd_lower(int fd);
/* 0: a token was taken. BASE_ERR_AGAIN: the descriptor is O_NONBLOCK and none is there. BASE_ERR_IO: a signal came. */
int hca_event_fd_wait(int fd);

#endif
