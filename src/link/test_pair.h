/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For tests and benchmarks of src/link/: what the broker and two processes would make, in one process. Both ends use
 * the same mapping, so that ThreadSanitizer sees one memory; whoever detaches second unmaps nothing.
 */
#ifndef LINK_TEST_PAIR_H
#define LINK_TEST_PAIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc/pair.h"
#include "link/link.h"
#include "wire/opcode.h"

struct test_end {
	_Alignas(128) struct link *link; /* two threads use the two ends: no line in common */
	struct link_counters counters;
	struct ipc_wake *wake;
	int eventfd;
	uint8_t slot;
};

struct test_pair {
	struct ipc_pair_header *header;
	struct test_end end[2];
};

static inline void *test_map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

static inline struct ipc_wake *test_wake_make(void)
{
	struct ipc_wake *wake = test_map(IPC_WAKE_BYTES);

	wake->magic = IPC_WAKE_MAGIC;
	wake->version = IPC_WAKE_VERSION;
	return wake;
}

static inline struct ipc_pair_header *test_header_make(uint8_t low, uint8_t high, uint64_t generation)
{
	struct ipc_pair_header *header = test_map(IPC_PAIR_BYTES);

	header->magic = IPC_PAIR_MAGIC;
	header->version = IPC_PAIR_VERSION;
	header->generation = generation;
	header->slot[0] = low;
	header->slot[1] = high;
	return header;
}

/* `more` has what is not the same for all: sockets and hooks. */
static inline void test_end_make_with(struct test_end *end, uint8_t slot, const struct link_config *more)
{
	struct link_config config = *more;

	memset(end, 0, sizeof(*end));
	end->slot = slot;
	end->wake = test_wake_make();
	end->eventfd = eventfd(0, EFD_CLOEXEC);
	config.slot = slot;
	config.wake_page = end->wake;
	config.counters = &end->counters;
	config.gso = true;
	config.own_eventfd = end->eventfd;
	end->link = link_create(&config);
	if (end->link == NULL)
		abort();
}

static inline void test_end_make(struct test_end *end, uint8_t slot, int udp_socket, struct link_hooks hooks)
{
	const struct link_config more = { .udp_socket = udp_socket, .hooks = hooks };

	test_end_make_with(end, slot, &more);
}

static inline void test_end_free(struct test_end *end)
{
	link_destroy(end->link);
	munmap(end->wake, IPC_WAKE_BYTES);
	close(end->eventfd);
}

/* Ends 0 and 1 have slots `low` < `high`. */
static inline void test_pair_make(struct test_pair *pair, uint8_t low, uint8_t high)
{
	struct link_hooks none = {0};

	pair->header = test_header_make(low, high, 77);
	test_end_make(&pair->end[0], low, -1, none);
	test_end_make(&pair->end[1], high, -1, none);
	for (int i = 0; i < 2; i++)
		if (link_shm_attach(pair->end[i].link, i == 0 ? high : low, 77, pair->header, i == 0, pair->end[1 - i].wake,
				    dup(pair->end[1 - i].eventfd)) != 0)
			abort();
}

static inline void test_pair_free(struct test_pair *pair)
{
	/* Both links unmap the same pages; the wake pages go with the first. */
	link_destroy(pair->end[0].link);
	link_destroy(pair->end[1].link);
	close(pair->end[0].eventfd);
	close(pair->end[1].eventfd);
}

static inline struct link_path test_path(uint8_t from, uint8_t to)
{
	return (struct link_path){
		.kind = LINK_SHM,
		.gid_type = WIRE_GID_ROCE_V2,
		.sgid = {{[10] = 0xff, 0xff, 127, 0, 0, from}},
		.dgid = {{[10] = 0xff, 0xff, 127, 0, 0, to}},
		.ifindex = 1,
		.dest_ifindex = 2,
		.qpn = (uint32_t)from << 16 | 0x11,
		.dest_qpn = (uint32_t)to << 16 | 0x22,
		.traffic_class = 8,
		.hop_limit = 64,
	};
}

static inline struct transport_run test_run(uint8_t opcode, const uint8_t *payload, uint32_t len, uint32_t psn,
		uint32_t dest_qpn)
{
	return (struct transport_run){
		.head = {.bth = {.opcode = opcode, .pkey = 0xffff, .dest_qpn = dest_qpn, .psn = psn},
			 .payload = payload,
			 .payload_len = len,
			 .op = wire_opcode_find(opcode)},
		.packets = 1,
		.last_opcode = opcode,
		.mtu = 4096,
	};
}

#endif
