/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leans on: a CRC over a private copy of the payload, made by reading the memory once, always fits what is sent, whatever
 * the program does to its memory meanwhile.
 * Without it: READ responses from, and WRITEs out of, memory that changes (a counter, a ring index: legal and common) would
 * carry wrong ICRCs and be dropped by the peer. --wrong computes the CRC over the live memory and copies afterwards, as a
 * gathering sender does.
 */
#include "platform/probe.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAYLOAD 4096
#define UPDATE_NS 1000

static _Alignas(64) uint8_t memory[PAYLOAD];
static atomic_bool over;
static uint32_t crc_table[256];

static void crc_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = (c & 1) ? (c >> 1) ^ 0xedb88320u : c >> 1;
		crc_table[i] = c;
	}
}

__attribute__((noinline)) static uint32_t crc(const uint8_t *data, size_t len)
{
	uint32_t c = ~0u;

	for (size_t i = 0; i < len; i++)
		c = crc_table[(c ^ data[i]) & 0xff] ^ (c >> 8);
	return ~c;
}

__attribute__((noinline)) static void copy(uint8_t *to, const uint8_t *from, size_t len)
{
	memcpy(to, from, len);
}

/* The program: a 64-bit counter in the middle of the region, counted up every microsecond. */
static void *program_run(void *unused)
{
	_Atomic uint64_t *counter = (_Atomic uint64_t *)(void *)(memory + PAYLOAD / 2);
	uint64_t next = base_clock_now();

	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		if (base_clock_now() < next)
			continue;
		atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
		next += UPDATE_NS;
	}
	return unused;
}

int main(int argc, char **argv)
{
	uint64_t packets = 0, bad = 0, changed = 0, before = 0, until, value;
	static _Alignas(64) uint8_t packet[PAYLOAD];
	pthread_t program;

	probe_begin(argc, argv);
	if (PROBE_TSAN)
		SKIP("the reader races on purpose");
	if (probe_cpus() < 2)
		SKIP("one CPU hardly changes memory under a reader");
	crc_init();
	SETUP(crc((const uint8_t *)"123456789", 9) == 0xcbf43926u);
	until = base_clock_now() + (probe.long_form ? 30 * BASE_SEC : 300 * BASE_MSEC);
	SETUP(pthread_create(&program, NULL, program_run, NULL) == 0);
	while (base_clock_now() < until) {
		uint32_t sent;

		if (probe.wrong) {
			sent = crc(memory, PAYLOAD);
			copy(packet, memory, PAYLOAD);
		} else {
			copy(packet, memory, PAYLOAD);
			sent = crc(packet, PAYLOAD);
		}
		__asm__ volatile("" : : "r"(packet) : "memory"); /* the wire: the compiler may not carry a CRC across */
		memcpy(&value, packet + PAYLOAD / 2, sizeof(value));
		changed += value != before;
		before = value;
		packets++;
		bad += crc(packet, PAYLOAD) != sent;
	}
	atomic_store(&over, true);
	pthread_join(program, NULL);
	printf("%llu packets, memory changed between %llu of them, %llu with a wrong CRC\n", (unsigned long long)packets,
		(unsigned long long)changed, (unsigned long long)bad);
	EXPECT(bad == 0, "%llu of %llu packets have a wrong CRC", (unsigned long long)bad, (unsigned long long)packets);
	if (changed < 20)
		SKIP("the memory hardly changed: the machine is too busy to tell");
	if (probe.wrong)
		SKIP("the wrong order was not caught in its time");
	return PROBE_PASS;
}
