/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/bus/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { ROOM_FIRST = 64, SPLITS = 3 }; /* a change makes at most three segments more */

void efa_bus_map_init(struct efa_bus_map *map)
{
	memset(map, 0, sizeof(*map));
}

void efa_bus_map_fini(struct efa_bus_map *map)
{
	free(map->segments);
	efa_bus_map_init(map);
}

/* The first segment that ends beyond addr. */
static uint32_t find(const struct efa_bus_map *map, uint64_t addr)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->segments[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int make_room(struct efa_bus_map *map, uint32_t more)
{
	uint32_t room = map->room == 0 ? ROOM_FIRST : map->room;
	struct efa_bus_segment *segments;

	while (room < map->count + more)
		room *= 2;
	if (room == map->room)
		return 0;
	segments = realloc(map->segments, room * sizeof(*segments));
	if (segments == NULL)
		return BASE_ERR_NOMEM;
	map->segments = segments;
	map->room = room;
	return 0;
}

static void insert(struct efa_bus_map *map, uint32_t at, struct efa_bus_segment segment)
{
	memmove(&map->segments[at + 1], &map->segments[at], (map->count - at) * sizeof(segment));
	map->segments[at] = segment;
	map->count++;
}

/* A border at addr, if a segment spans it. */
static void split(struct efa_bus_map *map, uint64_t addr)
{
	uint32_t i = find(map, addr);

	if (i < map->count && map->segments[i].start < addr) {
		struct efa_bus_segment left = map->segments[i];

		left.end = addr;
		map->segments[i].start = addr;
		insert(map, i, left);
	}
}

/* Segments without a mapping go, neighbours that say the same become one; from the one before `at` up to beyond `end`. */
static void tidy(struct efa_bus_map *map, uint32_t at, uint64_t end)
{
	uint32_t from = at > 0 ? at - 1 : 0, to = from, kept = from;

	while (to < map->count && map->segments[to].start <= end) {
		struct efa_bus_segment *s = &map->segments[to++], *before = kept > from ? &map->segments[kept - 1] : NULL;

		if (s->readers == 0 && s->writers == 0)
			continue;
		if (before != NULL && before->end == s->start && before->readers == s->readers && before->writers == s->writers)
			before->end = s->end;
		else
			map->segments[kept++] = *s;
	}
	memmove(&map->segments[kept], &map->segments[to], (map->count - to) * sizeof(map->segments[0]));
	map->count -= to - kept;
	map->last = 0;
}

int efa_bus_map_add(struct efa_bus_map *map, uint64_t start, uint64_t end, bool readable, bool writable)
{
	uint64_t at = start;
	uint32_t i = find(map, start), holes = 1;

	for (uint32_t k = i; k < map->count && map->segments[k].start < end; k++)
		holes++;
	if (make_room(map, holes + SPLITS) != 0)
		return BASE_ERR_NOMEM;
	split(map, start);
	split(map, end);
	for (i = find(map, start); at < end; i++) {
		bool there = i < map->count && map->segments[i].start < end;

		if (!there || map->segments[i].start > at) {
			struct efa_bus_segment hole = { .start = at, .end = there ? map->segments[i].start : end };

			insert(map, i, hole);
		}
		map->segments[i].readers += readable;
		map->segments[i].writers += writable;
		at = map->segments[i].end;
	}
	tidy(map, find(map, start), end);
	return 0;
}

int efa_bus_map_remove(struct efa_bus_map *map, uint64_t start, uint64_t end, bool readable, bool writable)
{
	if ((readable && !efa_bus_map_has(map, start, end, false)) || (writable && !efa_bus_map_has(map, start, end, true)))
		return BASE_ERR_NOENT;
	if (make_room(map, SPLITS) != 0)
		return BASE_ERR_NOMEM;
	split(map, start);
	split(map, end);
	for (uint32_t i = find(map, start); i < map->count && map->segments[i].start < end; i++) {
		map->segments[i].readers -= readable;
		map->segments[i].writers -= writable;
	}
	tidy(map, find(map, start), end);
	return 0;
}

static bool covers(const struct efa_bus_segment *s, uint64_t addr, bool write)
{
	return s->start <= addr && addr < s->end && (write ? s->writers : s->readers) > 0;
}

bool efa_bus_map_has(struct efa_bus_map *map, uint64_t start, uint64_t end, bool write)
{
	uint32_t i = map->last;

	if (start >= end)
		return start == end;
	if (i >= map->count || !covers(&map->segments[i], start, write))
		i = find(map, start);
	map->last = i;
	for (; i < map->count && covers(&map->segments[i], start, write); i++) {
		if (map->segments[i].end >= end)
			return true;
		start = map->segments[i].end;
	}
	return false;
}
