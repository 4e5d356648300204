/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* softverbs run: executes a program over our libraries. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/place.h"
#include "cli/view.h"

enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 }; /* as shells have it */

static const char run_help[] =
	"Puts our libraries before the system's (LD_LIBRARY_PATH), shows the program the files that a kernel makes for RDMA devices, and\n"
	"executes it; it is not changed or traced.\n"
	"\n"
	"    --device GLOB     show the program only devices whose name matches, e.g. sv_lo or 'sv_eth*'\n"
	"    --local=shm       packets between processes of this host go through shared memory (the default)\n"
	"    --local=wire      they go as RoCEv2 packets over UDP port 4791, as between hosts: for those who want to see packets\n"
	"    --sysview=FORM    how the program sees the files of our devices below /sys/class/infiniband and /dev/infiniband:\n"
	"                      preload (a small library), mount (a namespace of its own), off; auto (the default) takes what fits\n"
	"    --debug           every call that is refused says why on standard error (SOFTVERBS_DEBUG=1)\n"
	"\n"
	"Examples\n"
	"    softverbs run -- ibv_devinfo\n"
	"    softverbs run -- ib_send_lat -d sv_lo &                 the server waits in the background\n"
	"    softverbs run -- ib_send_lat -d sv_lo localhost         the client prints the result\n"
	"    softverbs run --local=wire --debug -- my-program        packets that tcpdump sees, and reasons\n"
	"    softverbs run -- rdma link show                         the devices as iproute2 has them\n"
	"    softverbs run -- bash                                   a shell in which everything runs over softverbs\n";

static bool glob_is_plain(const char *glob)
{
	return glob[0] != '\0' && strlen(glob) < 256 && strchr(glob, '/') == NULL;
}

/* Set-user-ID programs ignore LD_LIBRARY_PATH: the user should not wonder. */
static void warn_if_setuid(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0 && geteuid() != 0)
		fprintf(stderr,
			"softverbs: %s is set-user-ID or set-group-ID: the loader ignores our libraries. A copy without that bit works.\n",
			path);
}

static int run_run(int argc, char **argv)
{
	static const struct option options[] = {
		{"device", required_argument, NULL, 'd'},
		{"local", required_argument, NULL, 'l'},
		{"sysview", required_argument, NULL, 's'},
		{"debug", no_argument, NULL, 'D'},
		{0},
	};
	char path[PATH_MAX];
	enum view_form form = VIEW_AUTO;
	int option;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			if (!glob_is_plain(optarg))
				return cli_usage_error(
					&cli_run,
					"'%s' is no pattern for device names such as sv_lo; 'softverbs devices' lists them",
					optarg);
			if (setenv("SOFTVERBS_DEVICE", optarg, 1) != 0)
				return cli_error("out of memory");
			break;
		case 'l':
			if (strcmp(optarg, "wire") != 0 && strcmp(optarg, "shm") != 0)
				return cli_usage_error(&cli_run, "--local is shm or wire, not '%s'", optarg);
			if (setenv("SOFTVERBS_LOCAL", optarg, 1) != 0)
				return cli_error("out of memory");
			break;
		case 's':
			form = view_form_named(optarg);
			if (form == VIEW_FORMS)
				return cli_usage_error(&cli_run, "--sysview is auto, preload, mount or off, not '%s'", optarg);
			break;
		case 'D':
			if (setenv("SOFTVERBS_DEBUG", "1", 1) != 0)
				return cli_error("out of memory");
			break;
		case ':':
			return cli_usage_error(&cli_run, "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage_error(&cli_run, "unknown option '%s'; options of the program go after its name",
					       argv[optind - 1]);
		}
	}
	if (optind >= argc)
		return cli_usage_error(&cli_run, "which program?");
	char **command = argv + optind;
	if (!place_environment_set())
		return CLI_FAILED;
	if (!place_program(command[0], path, sizeof(path))) {
		if (strchr(command[0], '/') != NULL && access(command[0], F_OK) == 0) {
			cli_error("%s is not an executable file", command[0]);
			return STATUS_NOT_EXECUTABLE;
		}
		cli_error(
			"there is no program '%s'%s", command[0],
			strchr(command[0], '/') != NULL
				? ""
				: " in PATH. The package perftest has ib_*, ibverbs-utils has ibv_*, rdmacm-utils has rping");
		return STATUS_NOT_FOUND;
	}
	warn_if_setuid(path);
	if (!view_prepare(form, path))
		return CLI_FAILED;
	execv(path, command);
	int error = errno;
	if (error == ENOEXEC) /* a script without a first line that names its interpreter: as execvp does */
		execvp(command[0], command);
	cli_error("cannot execute %s: %s", path, strerror(error));
	return STATUS_NOT_EXECUTABLE;
}

const struct cli_command cli_run = {
	.name = "run",
	.arguments = "[--device GLOB] [--local=shm|wire] [--sysview=FORM] [--debug] -- PROGRAM [ARGUMENT...]",
	.summary = "run an RDMA program, unmodified, over softverbs",
	.help = run_help,
	.run = run_run,
};
