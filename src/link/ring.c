/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/ring.h"

#include <string.h>

#include "base/err.h"
#include "wire/mtu.h"

#define MASK ((uint64_t)LINK_RING_BYTES - 1)
#define PREFETCH_LINES 3

/* Bits 3:0 of the first byte. */
enum entry_kind { ENTRY_PATH = 1, ENTRY_SAME = 2, ENTRY_WRAP = 3 };

/* Offsets in the entry line. */
enum {
	AT_KIND = 0,
	AT_PACKETS = 1,
	AT_LAST_OPCODE = 2,
	AT_MTU = 3,
	AT_LENGTH = 4,
	AT_CLASS = 6,
	AT_HOPS = 7,
	AT_WORD = 8, /* AETH, ImmDt or IETH: no run has two of them */
	AT_BTH = 12,
	AT_INSIDE = 24, /* ENTRY_SAME */
	AT_IFINDEX = 24, /* ENTRY_PATH */
	AT_DEST_IFINDEX = 28,
	AT_SGID = 32,
	AT_DGID = 48,
};
static_assert(AT_DGID + WIRE_GID_BYTES == LINK_RING_LINE, "the line is full");
static_assert(AT_BTH + WIRE_BTH_BYTES == AT_INSIDE, "no gap");
static_assert(LINK_RING_PAYLOAD_MAX <= UINT16_MAX && LINK_RING_PACKETS_MAX <= UINT8_MAX, "fields are wide enough");

#define INSIDE_BYTES (LINK_RING_LINE - AT_INSIDE)
/* The extended headers that do not fit into AT_WORD. */
#define LONG_HAS (WIRE_HAS_DETH | WIRE_HAS_XRCETH | WIRE_HAS_FETH | WIRE_HAS_RETH | WIRE_HAS_ATOMICETH | WIRE_HAS_ATOMICACKETH)
static_assert(WIRE_XRCETH_BYTES + WIRE_ATOMICETH_BYTES <= INSIDE_BYTES &&
	      WIRE_XRCETH_BYTES + WIRE_FETH_BYTES + WIRE_RETH_BYTES <= INSIDE_BYTES &&
	      WIRE_XRCETH_BYTES + WIRE_ATOMICETH_BYTES <= LINK_RING_TRAILER_MAX, "the longest there are");

static inline uint32_t long_bytes(uint32_t has)
{
	if ((has & LONG_HAS) == 0)
		return 0;
	return (has & WIRE_HAS_DETH ? WIRE_DETH_BYTES : 0) + (has & WIRE_HAS_XRCETH ? WIRE_XRCETH_BYTES : 0) +
	       (has & WIRE_HAS_FETH ? WIRE_FETH_BYTES : 0) + (has & WIRE_HAS_RETH ? WIRE_RETH_BYTES : 0) +
	       (has & WIRE_HAS_ATOMICETH ? WIRE_ATOMICETH_BYTES : 0) +
	       (has & WIRE_HAS_ATOMICACKETH ? WIRE_ATOMICACKETH_BYTES : 0);
}

/* Where the parts of an entry lie; both sides derive it from the line. */
struct layout {
	uint32_t headers, payload, bytes;
};

static inline struct layout layout_of(enum entry_kind kind, uint32_t payload_len, uint32_t has)
{
	uint32_t headers = long_bytes(has);

	if (kind == ENTRY_SAME && headers + payload_len <= INSIDE_BYTES)
		return (struct layout){AT_INSIDE, AT_INSIDE + headers, LINK_RING_LINE};
	if (kind == ENTRY_SAME)
		return (struct layout){AT_INSIDE, LINK_RING_LINE,
				       (2 * LINK_RING_LINE - 1 + payload_len) & ~(LINK_RING_LINE - 1)};
	payload_len = (payload_len + 7) & ~7u;
	return (struct layout){LINK_RING_LINE + payload_len, LINK_RING_LINE,
			       (2 * LINK_RING_LINE - 1 + payload_len + headers) & ~(LINK_RING_LINE - 1)};
}

bool link_run_is_valid(const struct transport_run *run)
{
	const struct wire_opcode *first = wire_opcode_find(run->head.bth.opcode), *last = wire_opcode_find(run->last_opcode);
	const uint16_t places = WIRE_ROLE_FIRST | WIRE_ROLE_MIDDLE | WIRE_ROLE_LAST | WIRE_ROLE_ONLY;
	uint32_t len = run->head.payload_len, before;

	if (first == NULL || last == NULL || run->packets == 0 || run->packets > LINK_RING_PACKETS_MAX ||
			len > LINK_RING_PAYLOAD_MAX)
		return false;
	if (run->packets == 1)
		return first == last && len <= WIRE_MTU_BYTES_MAX;
	if (run->mtu == 0 || wire_mtu_bytes(wire_mtu_code(run->mtu)) != run->mtu)
		return false;
	/* The same kind of message, from its FIRST or MIDDLE on, up to a MIDDLE or LAST. */
	if (first->transport != last->transport || (first->role & ~places) != (last->role & ~places))
		return false;
	if ((first->role & (WIRE_ROLE_FIRST | WIRE_ROLE_MIDDLE)) == 0 ||
			(last->role & (WIRE_ROLE_MIDDLE | WIRE_ROLE_LAST)) == 0)
		return false;
	before = (run->packets - 1u) * run->mtu;
	if (last->role & WIRE_ROLE_MIDDLE)
		return len == before + run->mtu;
	return len > before && len <= before + run->mtu;
}

static uint32_t run_has(const struct transport_run *run)
{
	return (uint32_t)wire_opcode_table[run->head.bth.opcode].has | wire_opcode_table[run->last_opcode].has;
}

/* --- producer ------------------------------------------------------------------------------------------------------------ */

void link_ring_producer_init(struct link_ring_producer *p, uint8_t *bytes, struct link_ring_words words, uint64_t start)
{
	*p = (struct link_ring_producer){.bytes = bytes, .words = words, .tail = start, .published = start, .head = start};
}

/* Fills skip and room from what is free by the head that we know. */
static bool room_find(struct link_ring_producer *p)
{
	uint32_t free_bytes = LINK_RING_BYTES - (uint32_t)(p->tail - p->head);
	uint32_t to_end = LINK_RING_BYTES - (uint32_t)(p->tail & MASK);

	p->room = 0;
	p->skip = to_end < LINK_RING_ENTRY_MAX ? to_end : 0;
	if (free_bytes < p->skip + LINK_RING_OVERHEAD + LINK_RING_PAYLOAD_MIN)
		return false;
	free_bytes -= p->skip + LINK_RING_OVERHEAD;
	p->room = free_bytes < LINK_RING_PAYLOAD_MAX ? free_bytes & ~(LINK_RING_LINE - 1) : LINK_RING_PAYLOAD_MAX;
	return true;
}

/* False: the consumer's index is nonsense. */
static bool head_refresh(struct link_ring_producer *p)
{
	uint64_t head = atomic_load_explicit(p->words.head, memory_order_acquire);

	/* It lies between what we knew and what was published; nobody can have consumed more. */
	if (head - p->head > p->published - p->head || head % LINK_RING_LINE != 0) {
		p->broken = true;
		return false;
	}
	p->head = head;
	return true;
}

int link_ring_reserve(struct link_ring_producer *p, struct transport_room *room)
{
	if (p->broken)
		return BASE_ERR_MALFORMED;
	if (!room_find(p) || p->room < LINK_RING_PAYLOAD_MAX) {
		if (!head_refresh(p))
			return BASE_ERR_MALFORMED;
		if (!room_find(p))
			return BASE_ERR_AGAIN;
	}
	*room = (struct transport_room){
		.buf = p->bytes + ((p->tail + p->skip) & MASK) + LINK_RING_LINE,
		.bytes = p->room,
		.packets = LINK_RING_PACKETS_MAX,
		.framed = false,
	};
	return 0;
}

static void long_encode(uint8_t *at, uint32_t has, const struct wire_packet *head)
{
	if (has & WIRE_HAS_DETH)
		at += wire_deth_encode(at, &head->deth);
	if (has & WIRE_HAS_XRCETH)
		at += wire_xrceth_encode(at, &(struct wire_xrceth){.srqn = head->xrc_srqn});
	if (has & WIRE_HAS_FETH)
		at += wire_feth_encode(at, &head->feth);
	if (has & WIRE_HAS_RETH)
		at += wire_reth_encode(at, &head->reth);
	if (has & WIRE_HAS_ATOMICETH)
		at += wire_atomiceth_encode(at, &head->atomic);
	if (has & WIRE_HAS_ATOMICACKETH)
		wire_atomicacketh_encode(at, &(struct wire_atomicacketh){.original = head->atomic_ack});
}

/* Takes the lines of the next small entries away from the consumer while there is time, not when they are written. */
static inline void prefetch_for_write(const struct link_ring_producer *p)
{
#if defined(__x86_64__)
	for (uint32_t i = 0; i < PREFETCH_LINES; i++)
		__asm__ volatile("prefetchw %0" : : "m"(p->bytes[(p->tail + i * LINK_RING_LINE) & MASK]));
#else
	for (uint32_t i = 0; i < PREFETCH_LINES; i++)
		__builtin_prefetch(&p->bytes[(p->tail + i * LINK_RING_LINE) & MASK], 1);
#endif
}

void link_ring_publish(struct link_ring_producer *p)
{
	if (p->tail == p->published)
		return;
	atomic_store_explicit(p->words.tail, p->tail, memory_order_release);
	p->published = p->tail;
	prefetch_for_write(p);
}

/* Has the path changed since the last entry? Remembers it. */
static bool path_is_new(struct link_ring_path *last, const struct link_path *path)
{
	if (wire_gid_equal(&last->dgid, &path->dgid) && wire_gid_equal(&last->sgid, &path->sgid) &&
			last->ifindex == path->ifindex &&
	    last->dest_ifindex == path->dest_ifindex)
		return false;
	*last = (struct link_ring_path){path->sgid, path->dgid, path->ifindex, path->dest_ifindex};
	return true;
}

static void path_encode(uint8_t *at, const struct link_ring_path *path)
{
	memcpy(at + AT_IFINDEX, &path->ifindex, 4);
	memcpy(at + AT_DEST_IFINDEX, &path->dest_ifindex, 4);
	memcpy(at + AT_SGID, path->sgid.raw, WIRE_GID_BYTES);
	memcpy(at + AT_DGID, path->dgid.raw, WIRE_GID_BYTES);
}

static void path_decode(struct link_ring_path *path, const uint8_t *at)
{
	memcpy(&path->ifindex, at + AT_IFINDEX, 4);
	memcpy(&path->dest_ifindex, at + AT_DEST_IFINDEX, 4);
	memcpy(path->sgid.raw, at + AT_SGID, WIRE_GID_BYTES);
	memcpy(path->dgid.raw, at + AT_DGID, WIRE_GID_BYTES);
}

static void line_encode(uint8_t *at, enum entry_kind kind, uint32_t has, const struct link_path *path,
		const struct transport_run *run)
{
	const struct wire_packet *head = &run->head;
	uint16_t len = (uint16_t)head->payload_len;

	at[AT_KIND] = (uint8_t)(kind | path->gid_type << 4);
	at[AT_PACKETS] = (uint8_t)run->packets;
	at[AT_LAST_OPCODE] = run->last_opcode;
	at[AT_MTU] = (uint8_t)wire_mtu_code(run->mtu);
	memcpy(at + AT_LENGTH, &len, sizeof(len));
	at[AT_CLASS] = path->traffic_class;
	at[AT_HOPS] = path->hop_limit;
	if (has & WIRE_HAS_AETH)
		wire_aeth_encode(at + AT_WORD, &head->aeth);
	else if (has & WIRE_HAS_IMMDT)
		wire_raw32_store(at + AT_WORD, head->imm);
	else if (has & WIRE_HAS_IETH)
		wire_be32_store(at + AT_WORD, head->inv_rkey);
	wire_bth_encode(at + AT_BTH, &head->bth);
}

bool link_ring_commit(struct link_ring_producer *p, const struct link_path *path, const struct transport_run *run)
{
	const struct wire_packet *head = &run->head;
	enum entry_kind kind = ENTRY_SAME;
	struct layout layout;
	uint8_t *at;
	uint32_t has;

	if (p->room == 0 || head->payload_len > p->room || !link_run_is_valid(run))
		return false;
	if (p->skip != 0) {
		p->bytes[p->tail & MASK] = ENTRY_WRAP;
		p->tail += p->skip;
	}
	at = p->bytes + (p->tail & MASK);
	has = run_has(run);
	if (path_is_new(&p->last, path)) {
		kind = ENTRY_PATH;
		path_encode(at, &p->last);
	}
	line_encode(at, kind, has, path, run);
	layout = layout_of(kind, head->payload_len, has);
	if (has & LONG_HAS)
		long_encode(at + layout.headers, has, head);
	if (layout.payload != LINK_RING_LINE)
		memcpy(at + layout.payload, at + LINK_RING_LINE, head->payload_len);
	p->tail += layout.bytes;
	p->room = 0;
	/*
	 * A long transfer overlaps with the reader; small entries wait for the flush, so that the tail's line does
	 * not bounce.
	 */
	if (p->tail - p->published >= LINK_RING_PUBLISH_BYTES)
		link_ring_publish(p);
	return true;
}

bool link_ring_has_room(struct link_ring_producer *p)
{
	return p->broken || room_find(p) || !head_refresh(p) || room_find(p);
}

/* --- consumer ------------------------------------------------------------------------------------------------------------ */

void link_ring_consumer_init(struct link_ring_consumer *c, const uint8_t *bytes, struct link_ring_words words, uint64_t start)
{
	*c = (struct link_ring_consumer){.bytes = bytes, .words = words, .head = start, .released = start, .tail = start};
}

bool link_ring_is_ready(struct link_ring_consumer *c)
{
	if (c->head != c->tail)
		return true;
	if (c->broken)
		return false;
	return atomic_load_explicit(c->words.tail, memory_order_acquire) != c->tail;
}

static int broken(struct link_ring_consumer *c)
{
	c->broken = true;
	c->tail = c->head;
	c->entry = 0;
	return BASE_ERR_MALFORMED;
}

static void long_decode(struct wire_packet *head, uint32_t has, const uint8_t *at)
{
	struct wire_xrceth xrceth;
	struct wire_atomicacketh ack;

	if (has & WIRE_HAS_DETH)
		at += wire_deth_decode(&head->deth, at, WIRE_DETH_BYTES);
	if (has & WIRE_HAS_XRCETH) {
		at += wire_xrceth_decode(&xrceth, at, WIRE_XRCETH_BYTES);
		head->xrc_srqn = xrceth.srqn;
	}
	if (has & WIRE_HAS_FETH)
		at += wire_feth_decode(&head->feth, at, WIRE_FETH_BYTES);
	if (has & WIRE_HAS_RETH)
		at += wire_reth_decode(&head->reth, at, WIRE_RETH_BYTES);
	if (has & WIRE_HAS_ATOMICETH)
		at += wire_atomiceth_decode(&head->atomic, at, WIRE_ATOMICETH_BYTES);
	if (has & WIRE_HAS_ATOMICACKETH) {
		wire_atomicacketh_decode(&ack, at, WIRE_ATOMICACKETH_BYTES);
		head->atomic_ack = ack.original;
	}
}

/* `line` is our copy; nothing in it can change any more. False: broken. */
static bool line_decode(struct link_rx *out, const uint8_t line[LINK_RING_LINE])
{
	struct wire_packet *head = &out->run.head;
	uint16_t len;

	if (line[AT_MTU] > WIRE_MTU_CODE_MAX || line[AT_KIND] >> 4 > WIRE_GID_ROCE_V2)
		return false;
	wire_bth_decode(&head->bth, line + AT_BTH, WIRE_BTH_BYTES);
	memcpy(&len, line + AT_LENGTH, sizeof(len));
	head->payload_len = len;
	out->run.packets = line[AT_PACKETS];
	out->run.last_opcode = line[AT_LAST_OPCODE];
	out->run.mtu = wire_mtu_bytes(line[AT_MTU]);
	if (head->bth.tver != 0 || !link_run_is_valid(&out->run))
		return false;
	head->op = &wire_opcode_table[head->bth.opcode];
	if (run_has(&out->run) & WIRE_HAS_AETH)
		wire_aeth_decode(&head->aeth, line + AT_WORD, WIRE_AETH_BYTES);
	head->imm = wire_raw32_load(line + AT_WORD);
	head->inv_rkey = wire_be32_load(line + AT_WORD);
	out->gid_type = (enum wire_gid_type)(line[AT_KIND] >> 4);
	out->traffic_class = line[AT_CLASS];
	out->hop_limit = line[AT_HOPS];
	return true;
}

/* Moves head to the next entry, over a wrap, and copies its line. 1, 0 (nothing there) or BASE_ERR_MALFORMED. */
static int line_fetch(struct link_ring_consumer *c)
{
	uint32_t at, to_end;

	for (;;) {
		if (c->head == c->tail) {
			uint64_t tail = atomic_load_explicit(c->words.tail, memory_order_acquire);

			if (tail == c->tail)
				return 0;
			if (tail - c->head > LINK_RING_BYTES || tail - c->released > LINK_RING_BYTES ||
					tail % LINK_RING_LINE != 0)
				return BASE_ERR_MALFORMED;
			c->tail = tail;
		}
		at = (uint32_t)(c->head & MASK);
		memcpy(c->line, c->bytes + at, LINK_RING_LINE);
		/* The copy is the truth from here on: the compiler must not go back to the ring for a second look. */
		__asm__ volatile("" : : "r"(c->line) : "memory");
		if ((c->line[AT_KIND] & 0xf) != ENTRY_WRAP)
			return 1;
		/* A wrap is never the last thing published, and never at the start: at most one in a round. */
		to_end = LINK_RING_BYTES - at;
		if (at == 0 || to_end >= c->tail - c->head)
			return BASE_ERR_MALFORMED;
		c->head += to_end;
	}
}

int link_ring_peek(struct link_ring_consumer *c, struct link_rx *out)
{
	uint8_t headers[LINK_RING_TRAILER_MAX];
	enum entry_kind kind;
	struct layout layout;
	const uint8_t *entry;
	uint32_t has;
	int got;

	if (c->broken)
		return BASE_ERR_MALFORMED;
	got = line_fetch(c);
	if (got == 0)
		return 0;
	kind = c->line[AT_KIND] & 0xf;
	if (got < 0 || (kind != ENTRY_PATH && kind != ENTRY_SAME) || !line_decode(out, c->line))
		return broken(c);
	has = run_has(&out->run);
	layout = layout_of(kind, out->run.head.payload_len, has);
	if (layout.bytes > c->tail - c->head || layout.bytes > LINK_RING_BYTES - (c->head & MASK))
		return broken(c);
	entry = c->bytes + (c->head & MASK);
	if (kind == ENTRY_PATH)
		path_decode(&c->last, c->line);
	out->sgid = c->last.sgid;
	out->dgid = c->last.dgid;
	out->ifindex = c->last.dest_ifindex;
	out->run.head.payload = layout.payload < LINK_RING_LINE ? c->line + layout.payload : entry + layout.payload;
	if ((has & LONG_HAS) && layout.headers < LINK_RING_LINE) {
		long_decode(&out->run.head, has, c->line + layout.headers);
	} else if (has & LONG_HAS) {
		memcpy(headers, entry + layout.headers, long_bytes(has));
		long_decode(&out->run.head, has, headers);
	}
	c->entry = layout.bytes;
	return 1;
}

bool link_ring_pop(struct link_ring_consumer *c)
{
	c->head += c->entry;
	c->entry = 0;
	if (c->head - c->released < LINK_RING_RELEASE_BYTES)
		return false;
	atomic_store_explicit(c->words.head, c->head, memory_order_release);
	c->released = c->head;
	return true;
}

bool link_ring_take_want(struct link_ring_consumer *c)
{
	link_fence();
	return atomic_load_explicit(c->words.want_room, memory_order_relaxed) != 0 &&
	       atomic_exchange_explicit(c->words.want_room, 0, memory_order_relaxed) != 0;
}
