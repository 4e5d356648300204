/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event queues and asynchronous events of a driver: made at probe, handled on interrupts. Threads: the function's lock. */
#ifndef EFA_DRIVER_EQ_H
#define EFA_DRIVER_EQ_H

struct efa_driver;

/* As many as are wanted and there are; each armed. Errors of commands; what was made is freed by efa_driver_eqs_free(). */
int efa_driver_eqs_create(struct efa_driver *driver);
/* Tells the adapter; the memory stays until it is sure to be left alone. */
void efa_driver_eqs_destroy(struct efa_driver *driver);
void efa_driver_eqs_free(struct efa_driver *driver);

#endif
