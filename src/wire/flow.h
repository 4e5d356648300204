/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The UDP source port of RoCEv2 carries the entropy by which routers spread flows: 0xC000..0xFFFF, the same for all packets of a
 * QP (another path means another order, and that costs a NAK). Receivers ignore it.
 */
#ifndef WIRE_FLOW_H
#define WIRE_FLOW_H

#include <stdint.h>

#define WIRE_FLOW_LABEL_MASK 0xfffffu
#define WIRE_FLOW_PORT_MIN 0xc000u

/* The source port for a 20-bit flow label. */
static inline uint16_t wire_flow_port(uint32_t label)
{
	return (uint16_t)(((label & 0x3fff) ^ (label & 0xfc000) >> 14) | WIRE_FLOW_PORT_MIN);
}

/* The label of a connected QP whose address gives none. */
static inline uint32_t wire_flow_label(uint32_t local_qpn, uint32_t remote_qpn)
{
	uint64_t v = (uint64_t)local_qpn * remote_qpn;

	v ^= v >> 20;
	v ^= v >> 40;
	return (uint32_t)v & WIRE_FLOW_LABEL_MASK;
}

/* The source port of a QP that has no single peer. */
static inline uint16_t wire_flow_port_unconnected(uint32_t qpn)
{
	return (uint16_t)((qpn * 0x9e3779b1u) >> 18 | WIRE_FLOW_PORT_MIN);
}

#endif
