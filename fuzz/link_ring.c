/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The consumer of a shared-memory ring against memory that a hostile producer wrote. The input is a program for that
 * producer: 4 bytes say where in the ring to write (in units of 4 bytes), how far to move the tail (in lines) and how
 * many bytes follow. Between the steps, the consumer takes what is there; whatever it hands out must be a valid run
 * inside of the ring or of its own copy.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "link/ring.h"

static uint8_t *bytes;
static volatile uint8_t sum; /* so that the bytes are really read */

static void consume(struct link_ring_consumer *c)
{
	struct link_rx rx;

	while (link_ring_peek(c, &rx) == 1) {
		if (!link_run_is_valid(&rx.run))
			abort();
		/* The sanitizer says whether these bytes exist. */
		for (uint32_t i = 0; i < rx.run.head.payload_len; i += 61)
			sum = sum ^ rx.run.head.payload[i];
		if (rx.run.head.payload_len > 0)
			sum = sum ^ rx.run.head.payload[rx.run.head.payload_len - 1];
		if (link_ring_pop(c))
			link_ring_take_want(c);
	}
	link_ring_is_ready(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ipc_pair_ring words;
	struct link_ring_consumer c;
	uint32_t at = 0;

	if (bytes == NULL)
		bytes = malloc(LINK_RING_BYTES);
	if (bytes == NULL)
		return 0;
	memset(bytes, 0, 4096);
	memset(bytes + LINK_RING_BYTES - 20480, 0, 20480);
	memset(&words, 0, sizeof(words));
	/* The first byte chooses where the ring begins: at its start, or a little before its end. */
	if (size < 1)
		return 0;
	words.producer.index = data[0] & 1 ? LINK_RING_BYTES - (data[0] >> 1) * LINK_RING_LINE : 0;
	at = (uint32_t)words.producer.index & (LINK_RING_BYTES - 1);
	link_ring_consumer_init(&c, bytes, (struct link_ring_words){&words.producer.index, &words.producer.want_room,
			&words.consumer.index},
				words.producer.index);
	data++;
	size--;
	while (size >= 4) {
		uint32_t offset = data[0] * 4u, lines = data[1], length = data[2], flags = data[3];

		data += 4;
		size -= 4;
		if (length > size)
			length = (uint32_t)size;
		/* Mostly where the next entry begins. */
		for (uint32_t i = 0; i < length; i++)
			bytes[(at + offset + i) & (LINK_RING_BYTES - 1)] = data[i];
		data += length;
		size -= length;
		atomic_fetch_add(&words.producer.index, lines * (flags & 0x80 ? flags : LINK_RING_LINE));
		words.producer.want_room = flags & 1;
		at = (uint32_t)words.producer.index & (LINK_RING_BYTES - 1);
		if (flags & 2)
			consume(&c);
	}
	consume(&c);
	return 0;
}
