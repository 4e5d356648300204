/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dma/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

/* The query call on /proc/PID/maps, newer than the headers we build with. */
struct maps_query {
	uint64_t size, flags, address;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, name_size, build_id_size;
	uint64_t name_address, build_id_address;
};
#define MAPS_QUERY _IOWR('f', 17, struct maps_query)
enum { MAPS_READABLE = 1, MAPS_WRITABLE = 2 };

static int check_query(int fd, uint64_t addr, uint64_t end, bool write, bool *unknown)
{
	*unknown = false;
	while (addr < end) {
		struct maps_query query = { .size = sizeof(query), .address = addr };

		if (ioctl(fd, MAPS_QUERY, &query) != 0) {
			*unknown = errno != ENOENT;
			return BASE_ERR_FAULT;
		}
		if (!(query.vma_flags & MAPS_READABLE) || (write && !(query.vma_flags & MAPS_WRITABLE)))
			return BASE_ERR_FAULT;
		addr = query.vma_end;
	}
	return 0;
}

/* One line's "START-END RWXP": false when it does not look like that. */
static bool parse_line(const char *line, uint64_t *start, uint64_t *end, char rights[2])
{
	uint64_t *const ends[2] = { start, end };

	for (int i = 0; i < 2; i++) {
		uint64_t value = 0;
		int digits = 0;

		for (;; line++, digits++) {
			char c = *line;

			if (c >= '0' && c <= '9')
				value = value << 4 | (uint64_t)(c - '0');
			else if (c >= 'a' && c <= 'f')
				value = value << 4 | (uint64_t)(c - 'a' + 10);
			else
				break;
		}
		if (digits == 0 || *line != (i == 0 ? '-' : ' '))
			return false;
		line++;
		*ends[i] = value;
	}
	if (line[0] == 0 || line[1] == 0)
		return false;
	rights[0] = line[0];
	rights[1] = line[1];
	return true;
}

static int check_text(int fd, uint64_t addr, uint64_t end, bool write)
{
	char buf[16384];
	size_t have = 0;

	for (;;) {
		ssize_t got = read(fd, buf + have, sizeof(buf) - 1 - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return BASE_ERR_FAULT;
		have += (size_t)got;
		buf[have] = 0;
		char *line = buf, *stop;
		while ((stop = strchr(line, '\n')) != NULL) {
			uint64_t start, line_end;
			char rights[2];

			*stop = 0;
			if (parse_line(line, &start, &line_end, rights) && line_end > addr) {
				if (start > addr || rights[0] != 'r' || (write && rights[1] != 'w'))
					return BASE_ERR_FAULT;
				addr = line_end;
				if (addr >= end)
					return 0;
			}
			line = stop + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == sizeof(buf) - 1)
			return BASE_ERR_FAULT; /* a line longer than any the kernel writes */
	}
}

static int check_mincore(uint64_t addr, uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned char present[256];

	for (addr &= ~(page - 1); addr < end;) {
		uint64_t len = end - addr < page * sizeof(present) ? end - addr : page * sizeof(present);

		if (mincore((void *)(uintptr_t)addr, len, present) != 0 && errno == ENOMEM)
			return BASE_ERR_FAULT;
		addr += len;
	}
	return 0;
}

static int check(uint64_t addr, uint64_t len, bool write, bool query)
{
	uint64_t end = addr + len;
	bool unknown = true;
	int err = 0, cancel;

	if (len == 0)
		return 0;
	if (end < addr)
		return BASE_ERR_FAULT;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = check_mincore(addr, end);
	} else {
		if (query)
			err = check_query(fd, addr, end, write, &unknown);
		if (!query || (err != 0 && unknown))
			err = check_text(fd, addr, end, write);
		close(fd);
	}
	pthread_setcancelstate(cancel, NULL);
	return err;
}

int dma_maps_check(uint64_t addr, uint64_t len, bool write)
{
	return check(addr, len, write, true);
}

int dma_maps_check_text(uint64_t addr, uint64_t len, bool write)
{
	return check(addr, len, write, false);
}

uint64_t dma_maps_page_size(uint64_t addr)
{
	struct maps_query query = { .size = sizeof(query), .address = addr };
	int cancel;
	bool found = false;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		found = ioctl(fd, MAPS_QUERY, &query) == 0;
		close(fd);
	}
	pthread_setcancelstate(cancel, NULL);
	return found ? query.vma_page_size : 0;
}
