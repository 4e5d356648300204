/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* softverbs bench: bases and figures in rounds, medians, side by side. */
#include "cli/bench/bench.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/place.h"
#include "cli/print.h"

static const char bench_help[] =
	"Measures what this machine can do (bases), then what Debian's perftest programs see over softverbs (figures), in\n"
	"rounds, and prints the medians side by side with their ratio and its goal. Takes about five minutes.\n"
	"\n"
	"    --runs N        rounds, of which the median is taken (5)\n"
	"    --device NAME   the device for the figures (sv_lo)\n"
	"    --only GLOB     only rows whose key matches, and the bases they are held against; --list shows the keys\n"
	"    --list          the keys\n"
	"    --json          everything, each single run included, as JSON\n"
	"\n"
	"Bandwidth is in MiB/s (perftest calls it MB/sec), latency in microseconds one way.\n"
	"\n"
	"Examples\n"
	"    softverbs bench\n"
	"    softverbs bench --only 'shm-*' --runs 3\n"
	"    softverbs bench --json > figures.json\n";

struct bench_row {
	const char *key, *text;
	enum bench_unit unit;
	/* A base has these two ... */
	bool (*base)(size_t argument, double *out);
	size_t argument;
	/* ... and a figure this. */
	struct bench_perftest test;
};

static const struct bench_row rows[] = {
	{"memcpy-64k", "memcpy, 64 KiB", BENCH_MIBS, bench_base_memcpy, 64 * BENCH_KIB, {0}},
	{"memcpy-1m", "memcpy, 1 MiB", BENCH_MIBS, bench_base_memcpy, BENCH_MIB, {0}},
	{"tcp", "one TCP stream, 1 MiB", BENCH_MIBS, bench_base_tcp, BENCH_MIB, {0}},
	{"ring", "bare ring exchange", BENCH_USEC, bench_base_ring, 0, {0}},
	{"udp-gso-4096", "bare UDP GSO/GRO pair, 4096", BENCH_MIBS, bench_base_gso, 4096, {0}},
	{"udp-gso-1024", "bare UDP GSO/GRO pair, 1024", BENCH_MIBS, bench_base_gso, 1024, {0}},
	{"udp-busy", "bare busy UDP exchange", BENCH_USEC, bench_base_udp_busy, 0, {0}},
	{"udp-sleep", "bare UDP, sleeping receiver", BENCH_USEC, bench_base_udp_sleep, 0, {0}},
/* clang-format off */
#define BW(key, text, program, size, iterations, mtu, wire) \
	{ key, text, BENCH_MIBS, NULL, 0, { program, size, iterations, mtu, BENCH_MIBS, wire } }
#define LAT(key, text, program, iterations, wire) \
	{ key, text, BENCH_USEC, NULL, 0, { program, "8", iterations, NULL, BENCH_USEC, wire } }
#define RATE(key, text, program, size, iterations, wire, connection) \
	{ key, text, BENCH_MSGS, NULL, 0, { program, size, iterations, NULL, BENCH_MSGS, wire, connection } }
#define FIGURES(link, wire, many, few, lat) \
	BW(link "-write-64k", link " ib_write_bw 64 KiB, MTU 4096", "ib_write_bw", "65536", many, "4096", wire), \
	BW(link "-write-1m", link " ib_write_bw 1 MiB, MTU 4096", "ib_write_bw", "1048576", few, "4096", wire), \
	BW(link "-write-1m-mtu1024", link " ib_write_bw 1 MiB, MTU 1024", "ib_write_bw", "1048576", few, "1024", wire), \
	BW(link "-send-64k", link " ib_send_bw 64 KiB", "ib_send_bw", "65536", many, "4096", wire), \
	BW(link "-send-1m", link " ib_send_bw 1 MiB", "ib_send_bw", "1048576", few, "4096", wire), \
	LAT(link "-send-lat", link " ib_send_lat 8 B", "ib_send_lat", lat, wire), \
	LAT(link "-write-lat", link " ib_write_lat 8 B", "ib_write_lat", lat, wire), \
	BW(link "-read-64k", link " ib_read_bw 64 KiB", "ib_read_bw", "65536", many, "4096", wire), \
	BW(link "-read-1m", link " ib_read_bw 1 MiB", "ib_read_bw", "1048576", few, "4096", wire), \
	LAT(link "-read-lat", link " ib_read_lat 8 B", "ib_read_lat", lat, wire), \
	LAT(link "-atomic-lat", link " ib_atomic_lat, fetch and add", "ib_atomic_lat", lat, wire), \
	RATE(link "-rate", link " ib_write_bw 8 B, message rate", "ib_write_bw", "8", "200000", wire, NULL), \
	RATE(link "-atomic-rate", link " ib_atomic_bw, message rate", "ib_atomic_bw", "8", many "0", wire, NULL), \
	RATE(link "-ud-rate", link " ib_send_bw UD 64 B, message rate", "ib_send_bw", "64", many "0", wire, "UD")
	/* clang-format on */
	FIGURES("shm", false, "20000", "2000", "20000"),
	FIGURES("wire", true, "10000", "1000", "5000"),
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/*
 * What is held against what. goal 0: no goal, for information. For latencies the ratio shall be at most the goal, else
 * at least.
 */
static const struct comparison {
	const char *figure, *base;
	double goal;
} comparisons[] = {
	{"shm-write-64k", "memcpy-64k", 0},
	{"shm-write-64k", "tcp", 0},
	{"shm-write-1m", "tcp", 1.5},
	{"shm-write-1m", "memcpy-1m", 0.4},
	{"shm-write-1m-mtu1024", "tcp", 1.0},
	{"shm-send-64k", "memcpy-64k", 0},
	{"shm-send-1m", "memcpy-1m", 0},
	{"shm-send-lat", "ring", 2.0},
	{"shm-write-lat", "ring", 0},
	{"shm-read-64k", "memcpy-64k", 0},
	{"shm-read-1m", "memcpy-1m", 0},
	{"shm-read-lat", "ring", 0},
	{"shm-atomic-lat", "ring", 0},
	{"shm-rate", NULL, 0},
	{"shm-atomic-rate", NULL, 0},
	{"shm-ud-rate", NULL, 0},
	{"wire-write-64k", "udp-gso-4096", 0},
	{"wire-write-1m", "udp-gso-4096", 0.7},
	{"wire-write-1m-mtu1024", "udp-gso-1024", 0},
	{"wire-send-64k", "udp-gso-4096", 0},
	{"wire-send-1m", "udp-gso-4096", 0},
	{"wire-send-lat", "udp-busy", 1.5},
	{"wire-write-lat", "udp-sleep", 1.5},
	{"wire-read-64k", "udp-gso-4096", 0},
	{"wire-read-1m", "udp-gso-4096", 0},
	{"wire-read-lat", "udp-sleep", 0},
	{"wire-atomic-lat", "udp-sleep", 0},
	{"wire-rate", NULL, 0},
	{"wire-atomic-rate", NULL, 0},
	{"wire-ud-rate", NULL, 0},
};
#define COMPARISONS (sizeof(comparisons) / sizeof(comparisons[0]))

struct measured {
	bool wanted;
	unsigned count, failed;
	double runs[BENCH_RUNS_MAX], sorted[BENCH_RUNS_MAX];
	double median; /* NAN: nothing measured */
};

static size_t row_find(const char *key)
{
	size_t i = 0;

	while (i < ROWS && strcmp(rows[i].key, key) != 0)
		i++;
	return i;
}

static bool goal_is_met(const struct comparison *c, double ratio)
{
	return rows[row_find(c->figure)].unit == BENCH_USEC ? ratio <= c->goal : ratio >= c->goal;
}

static void choose(struct measured *m, const char *glob)
{
	for (size_t i = 0; i < ROWS; i++)
		if (fnmatch(glob, rows[i].key, 0) == 0)
			m[i].wanted = true;
	for (size_t c = 0; c < COMPARISONS; c++)
		if (comparisons[c].base != NULL && m[row_find(comparisons[c].figure)].wanted)
			m[row_find(comparisons[c].base)].wanted = true;
}

/* Rounds over all rows rather than all runs of a row in turn: a slow minute of the machine then touches base and figure alike. */
static void measure(struct measured *m, unsigned runs, const char *device)
{
	bool progress = isatty(STDERR_FILENO);

	for (unsigned run = 0; run < runs; run++)
		for (size_t i = 0; i < ROWS; i++) {
			double value;

			if (!m[i].wanted || m[i].failed > 0)
				continue;
			if (progress)
				fprintf(stderr, "\r    round %u of %u: %s\033[K", run + 1, runs, rows[i].text);
			bool ok = rows[i].base != NULL ? rows[i].base(rows[i].argument, &value)
						       : bench_perftest_run(&rows[i].test, device, &value);

			if (ok)
				m[i].runs[m[i].count++] = value;
			else
				m[i].failed++; /* once is enough: it has said why */
		}
	if (progress)
		fprintf(stderr, "\r\033[K");
	for (size_t i = 0; i < ROWS; i++) {
		memcpy(m[i].sorted, m[i].runs, sizeof(m[i].runs));
		m[i].median = m[i].count > 0 ? bench_median(m[i].sorted, m[i].count) : NAN;
	}
}

static const char *value_text(char *out, size_t bytes, size_t row, const struct measured *m)
{
	if (isnan(m[row].median))
		snprintf(out, bytes, "failed");
	else
		snprintf(out, bytes, rows[row].unit == BENCH_MIBS ? "%.0f %s" : "%.2f %s", m[row].median,
			 bench_unit_text(rows[row].unit));
	return out;
}

static bool report(const struct measured *m, unsigned runs)
{
	static const struct print_column columns[] = {
		{"FIGURE", PRINT_LEFT}, {"SOFTVERBS", PRINT_RIGHT}, {"BASE", PRINT_LEFT}, {"VALUE", PRINT_RIGHT},
		{"RATIO", PRINT_RIGHT}, {"GOAL", PRINT_LEFT},	    {NULL, PRINT_LEFT},
	};
	struct print_table *table = print_table_create(columns);
	char a[32], b[32];

	if (table == NULL)
		return false;
	for (size_t i = 0; i < COMPARISONS; i++) {
		const struct comparison *c = &comparisons[i];
		size_t figure = row_find(c->figure), base = c->base != NULL ? row_find(c->base) : ROWS;

		if (!m[figure].wanted)
			continue;
		print_table_row(table);
		print_table_cell(table, NULL, "%s", rows[figure].text);
		print_table_cell(table, isnan(m[figure].median) ? print_red() : print_bold(), "%s",
				 value_text(a, sizeof(a), figure, m));
		if (base == ROWS)
			continue;
		print_table_cell(table, NULL, "%s", rows[base].text);
		print_table_cell(table, NULL, "%s", value_text(b, sizeof(b), base, m));
		double ratio = m[figure].median / m[base].median;
		if (isnan(ratio))
			continue;
		print_table_cell(table, NULL, "%.2f", ratio);
		if (c->goal > 0)
			print_table_cell(table, goal_is_met(c, ratio) ? print_green() : print_red(), "%s %.2g, %s",
					 rows[figure].unit == BENCH_USEC ? "at most" : "at least", c->goal,
					 goal_is_met(c, ratio) ? "met" : "missed");
	}
	for (size_t i = 0; i < ROWS; i++) { /* bases that nothing was held against */
		bool used = rows[i].base == NULL || !m[i].wanted;

		for (size_t c = 0; c < COMPARISONS && !used; c++)
			used = comparisons[c].base != NULL && row_find(comparisons[c].base) == i &&
			       m[row_find(comparisons[c].figure)].wanted;
		if (used)
			continue;
		print_table_row(table);
		print_table_cell(table, NULL, "(base only)");
		print_table_cell(table, NULL, "%s", "");
		print_table_cell(table, NULL, "%s", rows[i].text);
		print_table_cell(table, NULL, "%s", value_text(a, sizeof(a), i, m));
	}
	print_table_out(table);
	print_table_destroy(table);
	printf("\nMedians of %u. One way in microseconds, half the median round trip; MiB/s as perftest's MB/sec.\n", runs);
	return true;
}

static bool report_json(const struct measured *m, unsigned runs, const char *device)
{
	json_t *measures = json_object(), *ratios = json_array();
	struct utsname host;

	for (size_t i = 0; i < ROWS; i++) {
		if (!m[i].wanted)
			continue;
		json_t *values = json_array();

		for (unsigned r = 0; r < m[i].count; r++)
			json_array_append_new(values, json_real(m[i].runs[r]));
		json_object_set_new(measures, rows[i].key,
				    json_pack("{s:s, s:s, s:b, s:o, s:o}", "text", rows[i].text, "unit",
					      bench_unit_text(rows[i].unit), "base", rows[i].base != NULL, "median",
					      isnan(m[i].median) ? json_null() : json_real(m[i].median), "runs", values));
	}
	for (size_t i = 0; i < COMPARISONS; i++) {
		const struct comparison *c = &comparisons[i];

		if (c->base == NULL || !m[row_find(c->figure)].wanted)
			continue;
		double ratio = m[row_find(c->figure)].median / m[row_find(c->base)].median;

		if (isnan(ratio))
			continue;
		json_t *entry = json_pack("{s:s, s:s, s:f}", "figure", c->figure, "base", c->base, "ratio", ratio);
		if (c->goal > 0) {
			json_object_set_new(entry, "goal", json_real(c->goal));
			json_object_set_new(entry, "met", json_boolean(goal_is_met(c, ratio)));
		}
		json_array_append_new(ratios, entry);
	}
	uname(&host);
	json_t *all = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:o, s:o}", "softverbs", SOFTVERBS_VERSION, "kernel",
				host.release, "machine", host.machine, "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
				"rounds", (json_int_t)runs, "device", device, "measures", measures, "ratios", ratios);
	bool ok =
		all != NULL && json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0 && putchar('\n') == '\n';

	json_decref(all);
	return ok;
}

static void list(void)
{
	for (size_t i = 0; i < ROWS; i++)
		printf("%-22s %s\n", rows[i].key, rows[i].text);
}

static int bench_run(int argc, char **argv)
{
	static const struct option options[] = {
		{"runs", required_argument, NULL, 'r'}, {"device", required_argument, NULL, 'd'},
		{"only", required_argument, NULL, 'o'}, {"list", no_argument, NULL, 'l'},
		{"json", no_argument, NULL, 'j'},	{0},
	};
	const char *device = "sv_lo", *only = "*";
	unsigned long runs = 5;
	bool json = false;
	char *end, path[4096];
	int option;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (option) {
		case 'r':
			errno = 0;
			runs = strtoul(optarg, &end, 10);
			if (errno != 0 || *end != '\0' || runs < 1 || runs > BENCH_RUNS_MAX)
				return cli_usage_error(&cli_bench, "--runs is a number from 1 to %d, not '%s'",
						       BENCH_RUNS_MAX, optarg);
			break;
		case 'd':
			device = optarg;
			break;
		case 'o':
			only = optarg;
			break;
		case 'l':
			list();
			return CLI_OK;
		case 'j':
			json = true;
			break;
		case ':':
			return cli_usage_error(&cli_bench, "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage_error(&cli_bench, "unknown option '%s'", argv[optind - 1]);
		}
	}
	if (optind < argc)
		return cli_usage_error(&cli_bench, "unexpected argument '%s'", argv[optind]);
	struct measured *m = calloc(ROWS, sizeof(*m));
	bool any = false, figures = false, failed = false;

	if (m == NULL)
		return cli_error("out of memory");
	choose(m, only);
	for (size_t i = 0; i < ROWS; i++) {
		any = any || m[i].wanted;
		figures = figures || (m[i].wanted && rows[i].base == NULL);
	}
	if (!any || (figures && (!place_environment_set() || !place_program("ib_write_bw", path, sizeof(path))))) {
		int status =
			!any ? cli_usage_error(&cli_bench, "no key matches '%s'; --list shows them", only)
			     : cli_error(
				       "the figures need ib_write_bw in PATH: install the package perftest, or --only one of the bases (--list)");
		free(m);
		return status;
	}
	measure(m, (unsigned)runs, device);
	bool out = json ? report_json(m, (unsigned)runs, device) : report(m, (unsigned)runs);
	for (size_t i = 0; i < ROWS; i++)
		failed = failed || m[i].failed > 0;
	free(m);
	return out && !failed ? CLI_OK : CLI_FAILED;
}

const struct cli_command cli_bench = {
	.name = "bench",
	.arguments = "[--runs N] [--device NAME] [--only GLOB] [--list] [--json]",
	.summary = "how fast it is here, beside what this machine can do",
	.help = bench_help,
	.run = bench_run,
};
