/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command: all checks, their table, and JSON. */
#include "cli/doctor/doctor.h"

#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/place.h"
#include "cli/print.h"

static const char doctor_help[] =
	"Looks at this host and says what is slow or forbidden here, each with its remedy. It changes nothing and starts nothing.\n"
	"\n"
	"    --json     the findings as JSON\n"
	"    PROGRAM    looks whether this program will load our libraries, as well\n"
	"\n"
	"OK needs no attention. NOTE works, but slower or not for everything. PROBLEM means that something does not work here, and\n"
	"makes the exit status 1.\n"
	"\n"
	"Examples\n"
	"    softverbs doctor\n"
	"    softverbs doctor ./my-program                         set-user-ID? a DT_RPATH of its own? static?\n"
	"    softverbs doctor --json | jq -r '.checks[] | select(.verdict != \"OK\") | .remedy'\n";

static const char *verdict_colour(enum doctor_verdict verdict)
{
	return verdict == DOCTOR_OK ? print_green() : verdict == DOCTOR_NOTE ? print_yellow() : print_red();
}

static bool print_findings(const struct doctor_report *report)
{
	static const struct print_column columns[] = {
		{"STATE", PRINT_LEFT}, {"CHECK", PRINT_LEFT}, {"FOUND", PRINT_LEFT}, {NULL, PRINT_LEFT},
	};
	struct print_table *table = print_table_create(columns);
	unsigned problems = doctor_count(report, DOCTOR_PROBLEM), notes = doctor_count(report, DOCTOR_NOTE);

	if (table == NULL)
		return false;
	for (unsigned i = 0; i < report->count; i++) {
		const struct doctor_finding *f = &report->findings[i];

		print_table_row(table);
		print_table_cell(table, verdict_colour(f->verdict), "%s", doctor_verdict_text(f->verdict));
		print_table_cell(table, print_bold(), "%s", f->check);
		print_table_cell(table, NULL, "%s", f->found);
		if (f->remedy[0] == '\0')
			continue;
		print_table_row(table);
		print_table_cell(table, NULL, "%s", "");
		print_table_cell(table, NULL, "%s", "");
		print_table_cell(table, f->verdict == DOCTOR_OK ? print_dim() : NULL, "-> %s", f->remedy);
	}
	print_table_out(table);
	print_table_destroy(table);
	if (problems + notes == 0)
		printf("\nNothing to complain about.\n");
	else
		printf("\n%u problem%s, %u note%s.\n", problems, problems == 1 ? "" : "s", notes, notes == 1 ? "" : "s");
	return true;
}

static bool print_json(const struct doctor_report *report)
{
	json_t *checks = json_array();

	for (unsigned i = 0; i < report->count; i++) {
		const struct doctor_finding *f = &report->findings[i];

		json_array_append_new(checks, json_pack("{s:s, s:s, s:s, s:s}", "check", f->check, "verdict",
							doctor_verdict_text(f->verdict), "found", f->found, "remedy", f->remedy));
	}
	json_t *all = json_pack("{s:s, s:i, s:i, s:o}", "softverbs", SOFTVERBS_VERSION, "problems",
				(int)doctor_count(report, DOCTOR_PROBLEM), "notes", (int)doctor_count(report, DOCTOR_NOTE), "checks",
				checks);
	bool ok = all != NULL && json_dumpf(all, stdout, JSON_INDENT(2)) == 0 && putchar('\n') == '\n';

	json_decref(all);
	return ok;
}

static bool examine(bool json, const char *program)
{
	struct doctor_report report;
	bool ok;

	doctor_report_init(&report, "");
	doctor_check_libraries(&report);
	if (program != NULL)
		doctor_check_program(&report, program);
	doctor_check_broker(&report);
	doctor_check_interfaces(&report);
	doctor_check_buffers(&report);
	doctor_check_kernel(&report);
	doctor_check_memlock(&report);
	doctor_check_files(&report);
	doctor_check_flight(&report);
	doctor_check_ptrace(&report);
	doctor_check_namespaces(&report);
	doctor_check_cpus(&report);
	ok = json ? print_json(&report) : print_findings(&report);
	if (report.out_of_memory)
		ok = cli_error("out of memory; some findings are missing") == CLI_OK;
	ok = ok && doctor_count(&report, DOCTOR_PROBLEM) == 0;
	doctor_report_fini(&report);
	return ok;
}

static int doctor_run(int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
	char path[PATH_MAX];
	bool json = false;
	int option;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'j')
			return cli_usage_error(&cli_doctor, "unknown option '%s'", argv[optind - 1]);
		json = true;
	}
	if (argc - optind > 1)
		return cli_usage_error(&cli_doctor, "one program at most");
	if (optind < argc && !place_program(argv[optind], path, sizeof(path)))
		return cli_error("there is no program '%s'", argv[optind]);
	return examine(json, optind < argc ? path : NULL) ? CLI_OK : CLI_FAILED;
}

const struct cli_command cli_doctor = {
	.name = "doctor",
	.arguments = "[--json] [PROGRAM]",
	.summary = "what on this host is slow or forbidden, and the remedy",
	.help = doctor_help,
	.run = doctor_run,
};
