/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/bench/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "cli/bench/measure.h"

static const char bandwidth[] =
	"---------------------------------------------------------------------------------------\n"
	" Number of qps   : 1\t\tTransport type : IB\n"
	" Mtu             : 4096[B]\n"
	" 65536 bytes in a line that is no result\n"
	" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
	" 65536      5000             7612.32            7518.05\t\t     0.120289\n"
	"---------------------------------------------------------------------------------------\n";
static const char latency[] =
	" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   "
	"99.9% percentile[usec] \n"
	" 8       1000          0.82           19.60        0.86     \t       0.93        \t0.77   \t\t2.01    \t\t19.60  \n";

static bool about(double value, double wanted)
{
	return value > wanted - 1e-6 && value < wanted + 1e-6;
}

static void takes_the_column_of_the_unit(void **state)
{
	double value = -1;

	assert_true(bench_perftest_parse(bandwidth, "65536", BENCH_MIBS, &value) && about(value, 7518.05));
	assert_true(bench_perftest_parse(bandwidth, "65536", BENCH_MSGS, &value) && about(value, 0.120289));
	assert_true(bench_perftest_parse(latency, "8", BENCH_USEC, &value) && about(value, 0.86));
}

static void finds_nothing_where_nothing_is(void **state)
{
	double value = -1;

	assert_false(bench_perftest_parse("", "8", BENCH_USEC, &value));
	assert_false(bench_perftest_parse(bandwidth, "8", BENCH_MIBS, &value));
	assert_false(bench_perftest_parse(" 8 1000 0.0 0.0 0.00 0.0\n", "8", BENCH_USEC, &value));
	assert_false(bench_perftest_parse(" 8 1000 1.0", "8", BENCH_USEC, &value));
}

static void medians(void **state)
{
	double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2}, one[] = {7};
	uint64_t rounds[] = {4000, 1000, 2000};

	assert_true(about(bench_median(odd, 3), 5) && about(bench_median(even, 4), 2.5) && about(bench_median(one, 1), 7));
	assert_true(about(measure_one_way(rounds, 3), 1.0)); /* half of 2,000 ns, in us */
}

/* Each base gives a number, and no process of it is left. */
static void bases_measure(void **state)
{
	static const struct {
		const char *name;
		bool (*base)(size_t argument, double *out);
		size_t argument;
	} bases[] = {
		{"memcpy", bench_base_memcpy, BENCH_MIB}, {"tcp", bench_base_tcp, BENCH_MIB}, {"ring", bench_base_ring, 0},
		{"gso", bench_base_gso, 4096},		  {"busy", bench_base_udp_busy, 0},   {"sleep", bench_base_udp_sleep, 0},
	};

	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		double value = -1;

		if (!bases[i].base(bases[i].argument, &value) || value <= 0)
			fail_msg("%s: %f", bases[i].name, value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_column_of_the_unit),
		cmocka_unit_test(finds_nothing_where_nothing_is),
		cmocka_unit_test(medians),
		cmocka_unit_test(bases_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
