/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The subcommands of `softverbs`: one file each, listed in the table of main.c.
 *
 * A command gets its own arguments (argv[0] is its name) and returns the exit status of the process: 0 done, 1 could
 * not, 2 wrong usage. What it could not do it says on standard error, with what to do next.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stddef.h>

struct cli_command {
	const char *name;
	const char *arguments; /* for the usage line */
	const char *summary;   /* one line */
	const char *help;      /* what it does, options, worked examples; lines end with \n */
	int (*run)(int argc, char **argv);
};

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

extern const struct cli_command cli_run, cli_devices, cli_stat, cli_doctor, cli_bench;

/* The commands in the order of the help text; NULL ends the list. */
const struct cli_command *const *cli_commands(void);

/* Prints a command's help to standard output. */
void cli_command_help(const struct cli_command *command);
/* "softverbs NAME: text" and where to find help, on standard error. Returns CLI_USAGE. */
int cli_usage_error(const struct cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "softverbs: text" on standard error. Returns CLI_FAILED. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
