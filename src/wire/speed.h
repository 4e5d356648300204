/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The width and speed of a port, as codes of the specification and as text. Functions of their arguments; none fails. */
#ifndef WIRE_SPEED_H
#define WIRE_SPEED_H

#include <stdint.h>

#define WIRE_SPEED_TEXT 48

struct wire_speed {
	uint8_t width, speed; /* values of active_width and active_speed */
};

/* How Linux says the speed of an Ethernet interface in InfiniBand's terms; 0: an interface that knows none, such as lo. */
struct wire_speed wire_speed_of_ethernet(uint32_t mbps);
/* "40 Gb/sec (4X FDR10)", as sysfs has it. */
void wire_speed_text(struct wire_speed speed, char out[WIRE_SPEED_TEXT]);

#endif
