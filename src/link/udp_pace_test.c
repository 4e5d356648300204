/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp_pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define RUN 8000u

/* Posts runs until one fills the burst. Returns how many. */
static unsigned fill(struct link_udp_pace *pace, uint64_t *now, uint64_t cost_ns)
{
	unsigned n = 1;

	while (!link_udp_pace_charge(pace, RUN, 2, cost_ns)) {
		*now += cost_ns;
		assert_int_equal(link_udp_pace_open(pace, *now), 0);
		assert_true(n++ < 100);
	}
	link_udp_pace_close(pace, cost_ns);
	return n;
}

static void bursts_have_pauses(void **state)
{
	struct link_udp_pace pace = {0};
	uint64_t now = 5000000000u, begun = now, end;

	assert_int_equal(link_udp_pace_open(&pace, now), 0);
	assert_in_range(fill(&pace, &now, 100), 8, 14);
	end = link_udp_pace_open(&pace, now);
	/* The work cost next to nothing: the least pause counts, about a nanosecond for a byte, from the burst's first packet. */
	assert_in_range(end - begun, LINK_UDP_PACE_BURST * 9 / 10, LINK_UDP_PACE_BURST * 12 / 10);
	assert_int_equal(link_udp_pace_open(&pace, end - 1), end);
	assert_int_equal(link_udp_pace_open(&pace, end), 0);
	assert_in_range(fill(&pace, &now, 100), 8, 14);
}

static void slow_machines_pause_longer(void **state)
{
	struct link_udp_pace pace = {0};
	uint64_t now = 1, begun = now;
	unsigned n;

	assert_int_equal(link_udp_pace_open(&pace, now), 0);
	n = fill(&pace, &now, 50000);
	assert_int_equal(link_udp_pace_open(&pace, now) - begun, LINK_UDP_PACE_FACTOR * (n + 1) * 50000u);
}

static void preemption_is_not_work(void **state)
{
	struct link_udp_pace pace = {0};

	assert_int_equal(link_udp_pace_open(&pace, 1), 0);
	while (!link_udp_pace_charge(&pace, 60000, 1, UINT64_MAX))
		;
	link_udp_pace_close(&pace, UINT64_MAX);
	assert_true(link_udp_pace_open(&pace, 1) <= 1 + LINK_UDP_PACE_FACTOR * 3ull * LINK_UDP_PACE_COST_MAX);
}

static void the_slow_never_wait(void **state)
{
	struct link_udp_pace pace = {0};
	uint64_t now = 1;

	for (int i = 0; i < 1000; i++, now += 10000) { /* 0.8 GB/s */
		assert_int_equal(link_udp_pace_open(&pace, now), 0);
		if (link_udp_pace_charge(&pace, RUN, 1, 1000))
			link_udp_pace_close(&pace, 1000);
	}
}

static void there_is_room_for_a_packet(void **state)
{
	struct link_udp_pace pace = {0};

	assert_int_equal(link_udp_pace_open(&pace, 1), 0);
	assert_int_equal(link_udp_pace_room(&pace, 60000), 60000);
	while (!link_udp_pace_charge(&pace, 4000, 1, 1))
		assert_in_range(link_udp_pace_room(&pace, 60000), LINK_UDP_PACE_ROOM_MIN, 60000);
}

static void small_packets_count_for_more(void **state)
{
	struct link_udp_pace pace = {0};
	unsigned n = 1;

	assert_int_equal(link_udp_pace_open(&pace, 1), 0);
	while (!link_udp_pace_charge(&pace, 64, 1, 1))
		n++;
	assert_in_range(n, 100, 212992 / (LINK_UDP_PACE_PACKET + 64)); /* a default buffer holds them */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bursts_have_pauses),
		cmocka_unit_test(slow_machines_pause_longer),
		cmocka_unit_test(preemption_is_not_work),
		cmocka_unit_test(the_slow_never_wait),
		cmocka_unit_test(there_is_room_for_a_packet),
		cmocka_unit_test(small_packets_count_for_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
