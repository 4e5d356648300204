/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* softverbs stat: what the adapters of running programs count, read from their exported tables without asking them. */
#include <fnmatch.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/observer.h"
#include "cli/print.h"

static const char stat_help[] =
	"Shows the RDMA programs of this user and the counters of their adapters. The programs are not asked and not slowed down.\n"
	"\n"
	"    --all     counters that are zero, too\n"
	"    --qps     each queue pair: number, peer, state, path MTU, next packet numbers, and its counters\n"
	"    --json    everything as JSON\n"
	"    GLOB      only counters whose name matches, e.g. 'drop_*'\n"
	"\n"
	"Examples\n"
	"    softverbs stat                    the programs, and what is not zero\n"
	"    softverbs stat --all '*drop*'     every cause for which packets are dropped\n"
	"    softverbs stat --qps              is my queue pair in RTS, and does it move?\n"
	"    watch -n 1 softverbs stat         live\n";

#define CLIENTS_MAX 255u

struct options {
	bool all, qps, json;
	const char *glob; /* NULL: every name */
};

static const char *state_text(uint32_t state) /* the numbers of enum ibv_qp_state */
{
	static const char *const texts[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return state < sizeof(texts) / sizeof(texts[0]) ? texts[state] : "?";
}

static const char *link_text(uint32_t kind) /* the numbers of enum link_kind */
{
	static const char *const texts[] = {"-", "shm", "udp", "raw"};

	return kind < sizeof(texts) / sizeof(texts[0]) ? texts[kind] : "?";
}

static bool is_wanted(const struct options *options, const char *name, uint64_t value)
{
	return (options->glob == NULL || fnmatch(options->glob, name, 0) == 0) && (value != 0 || options->all);
}

/* The group whose names are those of the QPs' counters. */
static bool qp_names(const struct export_reader *reader, struct export_group_view *out)
{
	for (uint32_t i = 0;; i++) {
		int err = export_reader_group(reader, i, out);

		if (err == BASE_ERR_NOENT)
			return false;
		if (err == BASE_OK && strcmp(out->kind, "qp") == 0)
			return true;
	}
}

static json_t *groups_json(const struct export_reader *reader, const struct options *options)
{
	json_t *groups = json_array();
	struct export_group_view group;
	char name[EXPORT_NAME_BYTES];
	uint64_t value;
	int err;

	for (uint32_t i = 0; (err = export_reader_group(reader, i, &group)) != BASE_ERR_NOENT; i++) {
		if (err != BASE_OK || strcmp(group.kind, "qp") == 0)
			continue;
		json_t *counters = json_object();

		for (uint32_t c = 0; c < group.count; c++)
			if (export_reader_counter(reader, &group, c, name, &value) == BASE_OK &&
			    (options->glob == NULL || fnmatch(options->glob, name, 0) == 0))
				json_object_set_new(counters, name, json_integer((json_int_t)value));
		json_array_append_new(groups, json_pack("{s:s, s:s, s:o}", "kind", group.kind, "instance", group.instance,
							"counters", counters));
	}
	return groups;
}

static json_t *qps_json(const struct export_reader *reader)
{
	json_t *qps = json_array();
	struct export_group_view names;
	struct export_qp_view qp;
	char name[EXPORT_NAME_BYTES];
	uint64_t unused;
	bool named = qp_names(reader, &names);

	for (uint32_t at = 0; export_reader_qp_next(reader, &at, &qp) == BASE_OK;) {
		json_t *counters = json_object();

		for (uint32_t c = 0; named && c < names.count && c < EXPORT_QP_COUNTERS; c++)
			if (export_reader_counter(reader, &names, c, name, &unused) == BASE_OK)
				json_object_set_new(counters, name, json_integer((json_int_t)qp.counters[c]));
		json_array_append_new(
			qps, json_pack("{s:I, s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:o}", "qpn", (json_int_t)qp.qpn, "dest_qpn",
				       (json_int_t)qp.dest_qpn, "type", (json_int_t)qp.type, "state", state_text(qp.state),
				       "link", link_text(qp.link_kind), "mtu", (json_int_t)qp.mtu, "rq_psn",
				       (json_int_t)qp.rq_psn, "sq_psn", (json_int_t)qp.sq_psn, "counters", counters));
	}
	return qps;
}

static json_t *client_json(const struct ipc_stat_client *client, const struct export_reader *reader,
			   const struct options *options)
{
	json_t *out =
		json_pack("{s:i, s:I, s:s, s:b, s:I}", "slot", (int)client->slot, "pid", (json_int_t)client->pid, "command",
			  client->command, "connected", client->connected, "pairs", (json_int_t)client->pairs);
	uint32_t regions;
	uint64_t bytes;

	if (reader == NULL)
		return out;
	export_reader_mrs(reader, &regions, &bytes);
	json_object_set_new(out, "memory_regions", json_integer(regions));
	json_object_set_new(out, "memory_bytes", json_integer((json_int_t)bytes));
	json_object_set_new(out, "groups", groups_json(reader, options));
	json_object_set_new(out, "queue_pairs", qps_json(reader));
	return out;
}

static void client_line(struct print_table *table, const struct ipc_stat_client *client, const struct export_reader *reader)
{
	struct export_qp_view qp;
	uint32_t regions = 0, qps = 0;
	uint64_t bytes = 0;

	print_table_row(table);
	print_table_cell(table, NULL, "%u", client->slot);
	print_table_cell(table, NULL, "%u", client->pid);
	print_table_cell(table, print_bold(), "%s", client->command);
	if (reader != NULL) {
		export_reader_mrs(reader, &regions, &bytes);
		for (uint32_t at = 0; export_reader_qp_next(reader, &at, &qp) == BASE_OK;)
			qps++;
		print_table_cell(table, NULL, "%u", qps);
		print_table_cell(table, NULL, "%u", regions);
		print_table_cell(table, NULL, "%.1f", (double)bytes / (1 << 20));
	} else {
		print_table_cell(table, NULL, "-");
		print_table_cell(table, NULL, "-");
		print_table_cell(table, NULL, "-");
	}
	print_table_cell(table, NULL, "%u", client->pairs);
	print_table_cell(table, client->connected ? NULL : print_yellow(), "%s",
			 client->connected ? "" : "not back since the broker was restarted");
}

static void counter_lines(struct print_table *table, const struct ipc_stat_client *client, const struct export_reader *reader,
			  const struct options *options)
{
	struct export_group_view group;
	char name[EXPORT_NAME_BYTES];
	uint64_t value;
	int err;

	for (uint32_t i = 0; (err = export_reader_group(reader, i, &group)) != BASE_ERR_NOENT; i++) {
		if (err != BASE_OK || strcmp(group.kind, "qp") == 0)
			continue;
		for (uint32_t c = 0; c < group.count; c++) {
			if (export_reader_counter(reader, &group, c, name, &value) != BASE_OK ||
			    !is_wanted(options, name, value))
				continue;
			print_table_row(table);
			print_table_cell(table, NULL, "%u", client->pid);
			print_table_cell(table, NULL, "%s", client->command);
			print_table_cell(table, NULL, "%s%s%s", group.kind, group.instance[0] != '\0' ? " " : "",
					 group.instance);
			print_table_cell(table, NULL, "%s", name);
			print_table_cell(table, NULL, "%llu", (unsigned long long)value);
		}
	}
}

static void qp_lines(struct print_table *table, const struct ipc_stat_client *client, const struct export_reader *reader,
		     const struct options *options)
{
	struct export_group_view names;
	struct export_qp_view qp;
	char name[EXPORT_NAME_BYTES];
	uint64_t unused;
	bool named = qp_names(reader, &names);

	for (uint32_t at = 0; export_reader_qp_next(reader, &at, &qp) == BASE_OK;) {
		char counters[512] = "";
		size_t used = 0;

		for (uint32_t c = 0; named && c < names.count && c < EXPORT_QP_COUNTERS && used < sizeof(counters); c++)
			if (export_reader_counter(reader, &names, c, name, &unused) == BASE_OK &&
			    is_wanted(options, name, qp.counters[c])) {
				int more = snprintf(counters + used, sizeof(counters) - used, "%s%s %llu",
						    used > 0 ? ", " : "", name, (unsigned long long)qp.counters[c]);
				used += more > 0 ? (size_t)more : 0;
			}
		print_table_row(table);
		print_table_cell(table, NULL, "%u", client->pid);
		print_table_cell(table, NULL, "0x%06x", qp.qpn);
		print_table_cell(table, NULL, "0x%06x", qp.dest_qpn);
		print_table_cell(table, NULL, "%s", state_text(qp.state));
		print_table_cell(table, NULL, "%s", link_text(qp.link_kind));
		print_table_cell(table, NULL, "%u", qp.mtu);
		print_table_cell(table, NULL, "%u", qp.sq_psn);
		print_table_cell(table, NULL, "%u", qp.rq_psn);
		print_table_cell(table, NULL, "%s", counters);
	}
}

static const struct print_column client_columns[] = {
	{"SLOT", PRINT_RIGHT}, {"PID", PRINT_RIGHT},   {"PROGRAM", PRINT_LEFT}, {"QPS", PRINT_RIGHT}, {"MRS", PRINT_RIGHT},
	{"MIB", PRINT_RIGHT},  {"PEERS", PRINT_RIGHT}, {"", PRINT_LEFT},	{NULL, PRINT_LEFT},
};
static const struct print_column counter_columns[] = {
	{"PID", PRINT_RIGHT},	 {"PROGRAM", PRINT_LEFT}, {"OF", PRINT_LEFT},
	{"COUNTER", PRINT_LEFT}, {"VALUE", PRINT_RIGHT},  {NULL, PRINT_LEFT},
};
static const struct print_column qp_columns[] = {
	{"PID", PRINT_RIGHT},	  {"QPN", PRINT_LEFT},	{"PEER", PRINT_LEFT},	 {"STATE", PRINT_LEFT},
	{"LINK", PRINT_LEFT},	  {"MTU", PRINT_RIGHT}, {"SQ PSN", PRINT_RIGHT}, {"RQ PSN", PRINT_RIGHT},
	{"COUNTERS", PRINT_LEFT}, {NULL, PRINT_LEFT},
};

/* The broker's own: QP 1 of the host, which connection management goes through. */
struct gsi_counter {
	const char *name;
	uint64_t value;
};
#define GSI_COUNTERS 6

static void gsi_counters(struct gsi_counter out[GSI_COUNTERS], const struct ipc_stat_gsi *gsi)
{
	const struct gsi_counter all[GSI_COUNTERS] = {
		{"sent", gsi->sent}, {"received", gsi->received}, {"send_errors", gsi->send_errors},
		{"drop_malformed", gsi->drop_malformed}, {"drop_icrc", gsi->drop_icrc}, {"drop_address", gsi->drop_address},
	};

	memcpy(out, all, sizeof(all));
}

static json_t *gsi_json(const struct ipc_stat_gsi *gsi)
{
	struct gsi_counter counters[GSI_COUNTERS];
	json_t *out = json_object();

	gsi_counters(counters, gsi);
	for (unsigned i = 0; i < GSI_COUNTERS; i++)
		json_object_set_new(out, counters[i].name, json_integer((json_int_t)counters[i].value));
	return out;
}

static void gsi_lines(struct print_table *table, const struct ipc_stat_summary *s, const struct options *options)
{
	struct gsi_counter counters[GSI_COUNTERS];

	gsi_counters(counters, &s->gsi);
	for (unsigned i = 0; i < GSI_COUNTERS; i++) {
		if (!is_wanted(options, counters[i].name, counters[i].value))
			continue;
		print_table_row(table);
		print_table_cell(table, NULL, "%u", s->pid);
		print_table_cell(table, NULL, "softverbsd");
		print_table_cell(table, NULL, "gsi");
		print_table_cell(table, NULL, "%s", counters[i].name);
		print_table_cell(table, NULL, "%llu", (unsigned long long)counters[i].value);
	}
}

struct tables {
	struct print_table *clients, *counters, *qps;
	json_t *json; /* array; NULL when not wanted */
};

static void client_add(struct tables *tables, struct observer *observer, const struct ipc_stat_client *client,
		       const struct options *options)
{
	struct observer_export export = {NULL, -1};

	/* Without: it ended just now, or was said already. */
	if (client->has_export)
		observer_export(observer, client->slot, &export);
	if (tables->json != NULL) {
		json_array_append_new(tables->json, client_json(client, export.reader, options));
	} else {
		client_line(tables->clients, client, export.reader);
		if (export.reader != NULL) {
			counter_lines(tables->counters, client, export.reader, options);
			qp_lines(tables->qps, client, export.reader, options);
		}
	}
	observer_export_close(&export);
}

static int print_json(struct tables *tables, const struct ipc_stat_summary *s)
{
	json_t *broker = s == NULL ? json_null()
				   : json_pack("{s:I, s:s, s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:{s:I, s:I, s:I, s:I}, s:o}", "pid",
					       (json_int_t)s->pid, "version", s->version, "wire", s->wire, "reason",
					       s->reason, "clients", (json_int_t)s->clients, "observers",
					       (json_int_t)s->observers, "pairs", (json_int_t)s->pairs, "free_slots",
					       (json_int_t)s->free_slots, "refused_messages", (json_int_t)s->refused_messages,
					       "strays", (json_int_t)s->strays, "uptime_seconds", (double)s->uptime_ns / 1e9,
					       "cm", "ids", (json_int_t)s->cm.ids, "connections", (json_int_t)s->cm.connections,
					       "listeners", (json_int_t)s->cm.listeners, "timewait", (json_int_t)s->cm.timewait,
					       "gsi", gsi_json(&s->gsi));
	json_t *all = json_pack("{s:o, s:O}", "broker", broker, "processes", tables->json);
	bool ok =
		all != NULL && json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0 && putchar('\n') == '\n';

	json_decref(all);
	return ok ? CLI_OK : CLI_FAILED;
}

static void print_tables(const struct tables *tables, const struct ipc_stat_summary *s, const struct options *options,
			 unsigned clients)
{
	printf("Broker %u (%s), up %.0f s, %u of %u slots free. Wire: %s%s\n\n", s->pid, s->version,
	       (double)s->uptime_ns / 1e9, s->free_slots, s->free_slots + s->clients, s->wire ? "UDP 4791" : "none, ",
	       s->wire ? "" : s->reason);
	if (clients == 0) {
		printf("No RDMA program of this user runs here.\n");
		if (s->gsi.sent == 0 && s->gsi.received == 0)
			return;
		putchar('\n');
		print_table_out(tables->counters);
		return;
	}
	print_table_out(tables->clients);
	if (options->qps) {
		putchar('\n');
		print_table_out(tables->qps);
	}
	putchar('\n');
	print_table_out(tables->counters);
}

static int show(const struct options *options)
{
	struct observer *observer = NULL;
	struct tables tables = {.json = options->json ? json_array() : NULL};
	struct ipc_stat_client clients[CLIENTS_MAX];
	struct ipc_stat_summary summary;
	unsigned count = 0;
	int status = CLI_FAILED, err = observer_open(false, &observer);

	if (err == BASE_ERR_NODEV) { /* nothing is wrong: nobody needs one */
		if (options->json)
			status = print_json(&tables, NULL);
		else
			status =
				printf("No RDMA program of this user runs in this network namespace. To start one: softverbs run -- PROGRAM\n") >
						0
					? CLI_OK
					: CLI_FAILED;
		goto free_tables;
	}
	if (err != BASE_OK || observer_summary(observer, &summary) != BASE_OK ||
	    observer_clients(observer, clients, CLIENTS_MAX, &count) != BASE_OK)
		goto free_tables;
	tables.clients = print_table_create(client_columns);
	tables.counters = print_table_create(counter_columns);
	tables.qps = print_table_create(qp_columns);
	if (tables.clients == NULL || tables.counters == NULL || tables.qps == NULL) {
		cli_error("out of memory");
		goto free_tables;
	}
	for (unsigned i = 0; i < count; i++)
		client_add(&tables, observer, &clients[i], options);
	if (!options->json)
		gsi_lines(tables.counters, &summary, options);
	if (options->json)
		status = print_json(&tables, &summary);
	else
		print_tables(&tables, &summary, options, count), status = CLI_OK;
free_tables:
	json_decref(tables.json);
	print_table_destroy(tables.clients);
	print_table_destroy(tables.counters);
	print_table_destroy(tables.qps);
	observer_close(observer);
	return status;
}

static int stat_run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"all", no_argument, NULL, 'a'},
		{"qps", no_argument, NULL, 'q'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	struct options options = {0};
	int option;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case 'a':
			options.all = true;
			break;
		case 'q':
			options.qps = true;
			break;
		case 'j':
			options.json = true;
			break;
		default:
			return cli_usage_error(&cli_stat, "unknown option '%s'", argv[optind - 1]);
		}
	}
	if (argc - optind > 1)
		return cli_usage_error(&cli_stat, "one pattern at most");
	options.glob = optind < argc ? argv[optind] : NULL;
	return show(&options);
}

const struct cli_command cli_stat = {
	.name = "stat",
	.arguments = "[--all] [--qps] [--json] [GLOB]",
	.summary = "the RDMA programs that run, and what their adapters count",
	.help = stat_help,
	.run = stat_run,
};
