/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/aeth.h"

uint32_t wire_syndrome_credits(uint8_t syndrome)
{
	static const uint16_t credits[] = {
		0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
		4096, 6144, 8192, 12288, 16384, 24576, 32768,
	};
	uint8_t code = wire_syndrome_value(syndrome);

	_Static_assert(sizeof(credits) / sizeof(credits[0]) == WIRE_CREDITS_UNLIMITED, "one count per code");
	return code == WIRE_CREDITS_UNLIMITED ? UINT32_MAX : credits[code];
}

const char *wire_syndrome_name(uint8_t syndrome)
{
	switch (wire_syndrome_classify(syndrome)) {
	case WIRE_SYNDROME_ACK:
		return "ACK";
	case WIRE_SYNDROME_RNR_NAK:
		return "RNR NAK";
	case WIRE_SYNDROME_NAK:
		break;
	case WIRE_SYNDROME_RESERVED:
	case WIRE_SYNDROME_INVALID:
		return "reserved syndrome";
	}
	switch (syndrome) {
	case WIRE_NAK_PSN_SEQUENCE:
		return "NAK PSN sequence";
	case WIRE_NAK_INVALID_REQUEST:
		return "NAK invalid request";
	case WIRE_NAK_REMOTE_ACCESS:
		return "NAK remote access";
	case WIRE_NAK_REMOTE_OPERATION:
		return "NAK remote operation";
	case WIRE_NAK_INVALID_RD_REQUEST:
		return "NAK invalid RD request";
	}
	return "NAK reserved code";
}
