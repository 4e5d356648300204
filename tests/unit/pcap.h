/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads classic pcap files (either byte order, micro- or nanoseconds, Ethernet) for tests. Anything odd about the file is an
 * error with a message on standard error; there is no partial result.
 */
#ifndef TESTS_UNIT_PCAP_H
#define TESTS_UNIT_PCAP_H

#include <stddef.h>
#include <stdint.h>

struct pcap_frame {
	const uint8_t *bytes; /* in the file's image */
	size_t len;           /* captured bytes */
	size_t original_len;  /* on the wire */
	uint64_t time_ns;
};

struct pcap_file {
	uint8_t *image;
	struct pcap_frame *frames;
	size_t count;
};

/* 0, or -1 with *out empty. */
int pcap_file_init(struct pcap_file *out, const char *path);
void pcap_file_fini(struct pcap_file *file);

#endif
