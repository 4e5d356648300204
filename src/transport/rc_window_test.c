/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "transport/rc_window.h"

/* A round trip in which the whole window was used. */
static void round_trip(struct rc_window *w)
{
	uint32_t out = w->packets;

	for (uint32_t left = out; left; left--)
		rc_window_acked(w, 1, left < w->packets ? w->packets : left);
}

static void starts_with_half_a_socket_buffer(void **state)
{
	static const struct { uint32_t mtu, packets; } cases[] = { { 256, 64 }, { 512, 64 }, { 1024, 64 }, { 2048, 32 }, { 4096, 16 } };
	struct rc_window w;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rc_window_init(&w, cases[i].mtu, false);
		assert_int_equal(w.packets, cases[i].packets);
	}
}

static void doubles_until_the_first_loss(void **state)
{
	struct rc_window w;

	rc_window_init(&w, 4096, false);
	round_trip(&w);
	assert_in_range(w.packets, 31, 33);
	for (int i = 0; i < 20; i++)
		round_trip(&w);
	assert_int_equal(w.packets, RC_WINDOW_MAX);
}

static void one_loss_halves_once_per_round(void **state)
{
	struct rc_window w;

	rc_window_init(&w, 1024, false);
	assert_true(rc_window_lost(&w, 40));
	assert_int_equal(w.packets, 32);
	assert_false(rc_window_lost(&w, 40));
	rc_window_acked(&w, 39, 40);
	assert_false(rc_window_lost(&w, 40));
	rc_window_acked(&w, 1, 1);
	assert_true(rc_window_lost(&w, 32));
	assert_int_equal(w.packets, 16);
	for (int i = 0; i < 10; i++) {
		rc_window_acked(&w, 64, 1);
		rc_window_lost(&w, 1);
	}
	assert_int_equal(w.packets, RC_WINDOW_MIN);
}

static void grows_slowly_after_loss_and_carefully_near_it(void **state)
{
	struct rc_window w;
	uint32_t rounds = 0;

	rc_window_init(&w, 1024, false);
	rc_window_lost(&w, 0);
	round_trip(&w);
	assert_int_equal(w.packets, 33);
	for (; w.packets < 48; rounds++)
		round_trip(&w);
	assert_in_range(rounds, 14, 16);
	for (rounds = 0; w.packets == 48; rounds++)
		round_trip(&w);
	assert_in_range(rounds, 7, 9);
}

static void idle_windows_do_not_grow(void **state)
{
	struct rc_window w;

	rc_window_init(&w, 1024, false);
	for (int i = 0; i < 1000; i++)
		rc_window_acked(&w, 1, 31);
	assert_int_equal(w.packets, 64);
}

static void silence_falls_to_the_minimum_and_comes_back_fast(void **state)
{
	struct rc_window w;

	rc_window_init(&w, 1024, false);
	assert_true(rc_window_timeout(&w));
	assert_int_equal(w.packets, RC_WINDOW_MIN);
	assert_false(rc_window_timeout(&w));
	for (int i = 0; i < 4; i++)
		round_trip(&w);
	assert_int_equal(w.packets, 32);
}

static void lossless_has_one_size(void **state)
{
	struct rc_window w;

	rc_window_init(&w, 1024, true);
	assert_false(rc_window_lost(&w, 100));
	assert_false(rc_window_timeout(&w));
	rc_window_acked(&w, 100, 100);
	assert_int_equal(w.packets, RC_WINDOW_NO_LIMIT);
	assert_true(RC_WINDOW_NO_LIMIT < 1 << 22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_with_half_a_socket_buffer),
		cmocka_unit_test(doubles_until_the_first_loss),
		cmocka_unit_test(one_loss_halves_once_per_round),
		cmocka_unit_test(grows_slowly_after_loss_and_carefully_near_it),
		cmocka_unit_test(idle_windows_do_not_grow),
		cmocka_unit_test(silence_falls_to_the_minimum_and_comes_back_fast),
		cmocka_unit_test(lossless_has_one_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
