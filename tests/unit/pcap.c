/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pcap.h"

#include <byteswap.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_USEC 0xa1b2c3d4u
#define MAGIC_NSEC 0xa1b23c4du
#define FILE_HEADER 24
#define FRAME_HEADER 16
#define LINKTYPE_ETHERNET 1

static uint32_t word(const uint8_t *p, bool swapped)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return swapped ? bswap_32(v) : v;
}

static uint8_t *read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *image = NULL;
	long len;

	if (f == NULL)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (len = ftell(f)) > 0) {
		rewind(f);
		image = malloc((size_t)len);
		*size = (size_t)len;
		if (image != NULL && fread(image, 1, *size, f) != *size) {
			free(image);
			image = NULL;
		}
	}
	fclose(f);
	return image;
}

static int fail(struct pcap_file *out, const char *path, const char *why)
{
	fprintf(stderr, "%s: %s\n", path, why);
	pcap_file_fini(out);
	return -1;
}

int pcap_file_init(struct pcap_file *out, const char *path)
{
	size_t size = 0, room = 0, at;
	bool swapped;
	uint32_t magic, unit;

	*out = (struct pcap_file){0};
	out->image = read_all(path, &size);
	if (out->image == NULL)
		return fail(out, path, "cannot be read");
	if (size < FILE_HEADER)
		return fail(out, path, "shorter than a pcap header");
	magic = word(out->image, false);
	swapped = magic == bswap_32(MAGIC_USEC) || magic == bswap_32(MAGIC_NSEC);
	magic = word(out->image, swapped);
	if (magic != MAGIC_USEC && magic != MAGIC_NSEC)
		return fail(out, path, "not a classic pcap file");
	if (word(out->image + 20, swapped) != LINKTYPE_ETHERNET)
		return fail(out, path, "not Ethernet");
	unit = magic == MAGIC_NSEC ? 1 : 1000;
	for (at = FILE_HEADER; at < size; out->count++) {
		const uint8_t *h = out->image + at;
		struct pcap_frame *f;

		if (out->count == room) {
			room = room == 0 ? 64 : 2 * room;
			f = realloc(out->frames, room * sizeof(*f));
			if (f == NULL)
				return fail(out, path, "no memory");
			out->frames = f;
		}
		if (size - at < FRAME_HEADER || size - at - FRAME_HEADER < word(h + 8, swapped))
			return fail(out, path, "ends within a frame");
		f = &out->frames[out->count];
		f->bytes = h + FRAME_HEADER;
		f->len = word(h + 8, swapped);
		f->original_len = word(h + 12, swapped);
		f->time_ns = word(h, swapped) * 1000000000ull + (uint64_t)word(h + 4, swapped) * unit;
		at += FRAME_HEADER + f->len;
	}
	return 0;
}

void pcap_file_fini(struct pcap_file *file)
{
	free(file->image);
	free(file->frames);
	*file = (struct pcap_file){0};
}
