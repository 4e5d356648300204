/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/print.h"

static const struct cli_command *const commands[] = {&cli_run, &cli_devices, &cli_stat, &cli_doctor, &cli_bench, NULL};

const struct cli_command *const *cli_commands(void)
{
	return commands;
}

static const struct cli_command *command_find(const char *name)
{
	for (size_t i = 0; commands[i] != NULL; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

void cli_command_help(const struct cli_command *command)
{
	printf("%sUsage:%s softverbs %s %s\n\n%s\n\n%s", print_bold(), print_plain(), command->name, command->arguments,
	       command->summary, command->help);
}

static void help(void)
{
	printf("softverbs %s: RDMA without RDMA hardware. No kernel module, no root, no adapter.\n\n"
	       "%sUsage:%s softverbs COMMAND [ARGUMENTS]\n\n",
	       SOFTVERBS_VERSION, print_bold(), print_plain());
	for (size_t i = 0; commands[i] != NULL; i++)
		printf("    %-10s %s\n", commands[i]->name, commands[i]->summary);
	printf("    %-10s what a command does, its options, and examples\n\n", "help NAME");
	printf("%sFirst steps%s\n"
	       "    softverbs devices                              the adapters that programs will see\n"
	       "    softverbs run -- ibv_devinfo -v                any RDMA program runs as it is\n"
	       "    softverbs run -- ib_write_bw &                 a server, and then its client:\n"
	       "    softverbs run -- ib_write_bw localhost\n"
	       "    softverbs stat                                 what the adapters of running programs count\n"
	       "    softverbs doctor                               what here is slow or forbidden, and the remedy\n\n"
	       "Without this command: LD_LIBRARY_PATH=<the directory of our libraries> PROGRAM. Verbs are the same; files below /sys, and\n"
	       "what rdma(8) asks for, only softverbs run shows.\n"
	       "SOFTVERBS_DEBUG=1 in the environment makes every refusal explain itself. More in softverbs(7).\n",
	       print_bold(), print_plain());
}

/* How many edits make a into b, at most `limit`: for "did you mean". */
static unsigned distance(const char *a, const char *b, unsigned limit)
{
	if (*a == '\0' || *b == '\0')
		return (unsigned)(strlen(a) + strlen(b));
	if (*a == *b)
		return distance(a + 1, b + 1, limit);
	if (limit == 0)
		return 1;
	unsigned best = distance(a + 1, b + 1, limit - 1);
	unsigned other = distance(a + 1, b, limit - 1);

	best = other < best ? other : best;
	other = distance(a, b + 1, limit - 1);
	return 1 + (other < best ? other : best);
}

static int unknown(const char *name)
{
	fprintf(stderr, "softverbs: there is no command '%s'.", name);
	for (size_t i = 0; commands[i] != NULL; i++)
		if (distance(name, commands[i]->name, 2) <= 2)
			fprintf(stderr, " Did you mean '%s'?", commands[i]->name);
	fprintf(stderr, " To run a program: softverbs run -- %s. All commands: softverbs help.\n", name);
	return CLI_USAGE;
}

int cli_usage_error(const struct cli_command *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "softverbs %s: ", command->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nUsage: softverbs %s %s\nExamples and options: softverbs help %s\n", command->name,
		command->arguments, command->name);
	return CLI_USAGE;
}

int cli_error(const char *format, ...)
{
	va_list args;

	fputs("softverbs: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return CLI_FAILED;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "help";

	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
		printf("softverbs %s\n", SOFTVERBS_VERSION);
		return CLI_OK;
	}
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		const struct cli_command *command = argc > 2 ? command_find(argv[2]) : NULL;

		if (argc > 2 && command == NULL)
			return unknown(argv[2]);
		if (command != NULL)
			cli_command_help(command);
		else
			help();
		return CLI_OK;
	}
	const struct cli_command *command = command_find(name);
	if (command == NULL)
		return unknown(name);
	/* `run` passes what follows its own options on, so only a first --help is ours. */
	if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
		cli_command_help(command);
		return CLI_OK;
	}
	int status = command->run(argc - 1, argv + 1);
	if (fflush(stdout) != 0 || ferror(stdout) != 0)
		return status != CLI_OK ? status : CLI_FAILED;
	return status;
}
