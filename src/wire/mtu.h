/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Path MTU codes, the numbers of enum ibv_mtu: 1 = 256 up to 5 = 4096 bytes. 0 stands for none.
 */
#ifndef WIRE_MTU_H
#define WIRE_MTU_H

#include <stdint.h>

#define WIRE_MTU_CODE_MIN 1
#define WIRE_MTU_CODE_MAX 5
#define WIRE_MTU_BYTES_MIN 256u
#define WIRE_MTU_BYTES_MAX 4096u
#define WIRE_MTU_PORT_OVERHEAD 80 /* what Linux's rxe sets aside for headers when it derives a port's MTU */
#define WIRE_MTU_CM_OVERHEAD 96   /* what connection management sets aside: GRH 40, UDP 8, BTH 12, ICRC 4, 28 + 4 more */

/* 0 for a code that is none. */
static inline uint32_t wire_mtu_bytes(int code)
{
	return code < WIRE_MTU_CODE_MIN || code > WIRE_MTU_CODE_MAX ? 0 : 128u << code;
}

/* The code of the largest MTU that fits into so many bytes, 0 if none does. */
static inline int wire_mtu_code(int64_t bytes)
{
	int code = WIRE_MTU_CODE_MAX;

	while (code > 0 && (int64_t)wire_mtu_bytes(code) > bytes)
		code--;
	return code;
}

/* A port's active MTU by its network device's, as rxe has it: never less than 256. */
static inline int wire_mtu_active(uint32_t netdev_mtu)
{
	int code = wire_mtu_code((int64_t)netdev_mtu - WIRE_MTU_PORT_OVERHEAD);

	return code == 0 ? WIRE_MTU_CODE_MIN : code;
}

/* The path MTU that connection management offers over a network device; 0 when it is too small for any. */
static inline int wire_mtu_cm(uint32_t netdev_mtu)
{
	return wire_mtu_code((int64_t)netdev_mtu - WIRE_MTU_CM_OVERHEAD);
}

#endif
