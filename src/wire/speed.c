/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/speed.h"

#include <stdio.h>

enum { WIDTH_1X = 1, WIDTH_4X = 2, SPEED_SDR = 1, SPEED_DDR = 2, SPEED_QDR = 4, SPEED_FDR10 = 8, SPEED_EDR = 32 };

/* The first row that is fast enough. */
static const struct {
	uint32_t mbps;
	struct wire_speed speed;
} ethernet[] = {
	{0, {WIDTH_1X, SPEED_QDR}},	  {1000, {WIDTH_1X, SPEED_SDR}},   {10000, {WIDTH_1X, SPEED_FDR10}},
	{20000, {WIDTH_4X, SPEED_DDR}},	  {25000, {WIDTH_1X, SPEED_EDR}},  {40000, {WIDTH_4X, SPEED_FDR10}},
	{UINT32_MAX, {WIDTH_4X, SPEED_EDR}},
};

/* Of one lane. */
static const struct {
	uint8_t speed;
	uint16_t tenths; /* of a Gb/s, as Linux counts them */
	const char *name;
} speeds[] = {
	{SPEED_SDR, 25, "SDR"}, {SPEED_DDR, 50, "DDR"}, {SPEED_QDR, 100, "QDR"}, {SPEED_FDR10, 100, "FDR10"}, {SPEED_EDR, 250, "EDR"},
};

struct wire_speed wire_speed_of_ethernet(uint32_t mbps)
{
	unsigned row = 0;

	while (mbps > ethernet[row].mbps)
		row++;
	return ethernet[row].speed;
}

void wire_speed_text(struct wire_speed speed, char out[WIRE_SPEED_TEXT])
{
	unsigned lanes = speed.width == WIDTH_4X ? 4 : 1;

	for (unsigned i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		unsigned tenths = speeds[i].tenths * lanes;

		if (speeds[i].speed != speed.speed)
			continue;
		snprintf(out, WIRE_SPEED_TEXT, "%u%s Gb/sec (%uX %s)", tenths / 10, tenths % 10 != 0 ? ".5" : "", lanes, speeds[i].name);
		return;
	}
	snprintf(out, WIRE_SPEED_TEXT, "%u Gb/sec (%uX)", lanes, lanes);
}
