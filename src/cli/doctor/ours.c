/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What belongs to softverbs: its directory, its broker, and what running programs lost. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/doctor/doctor.h"
#include "cli/observer.h"
#include "cli/place.h"
#include "config/config.h"
#include "ipc/start.h"

#define CLIENTS_MAX    255u
#define SLOTS_SCARCE   16u
#define RECEIVE_FULL   "drop_receive_full" /* counter of the group "link": SO_RXQ_OVFL */

void doctor_judge_libraries(struct doctor_report *report, const char *directory)
{
	static const char *const files[] = {"libibverbs.so.1", "librdmacm.so.1", "libefa.so.1", "softverbsd"};
	char path[PATH_MAX], missing[200] = "";
	struct stat st;
	size_t used = 0;
	bool private = false;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		bool program = i + 1 == sizeof(files) / sizeof(files[0]);

		snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
		if (access(path, program ? X_OK : R_OK) != 0)
			used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s", used > 0 ? ", " : "", files[i]);
		else if (stat(path, &st) == 0)
			private = private || (st.st_mode & S_IROTH) == 0;
	}
	if (used > 0) {
		doctor_add(report, DOCTOR_PROBLEM, "libraries", "%s has no %s that this user may %s", directory, missing,
			   strcmp(missing, "softverbsd") == 0 ? "execute" : "read");
		doctor_remedy(report, "keep the directory whole: ./quickstart --build, or install it again");
	} else if (private) {
		doctor_add(report, DOCTOR_NOTE, "libraries", "%s: complete, but not readable for other users", directory);
		doctor_remedy(report, "if they are to run programs: chmod -R a+rX %s", directory);
	} else {
		doctor_add(report, DOCTOR_OK, "libraries", "%s: complete, softverbsd is beside them", directory);
	}
}

/* How will programs find them that are not started by softverbs run? */
static void check_loader(struct doctor_report *report, const char *directory)
{
	const char *path = getenv("LD_LIBRARY_PATH");
	char real[PATH_MAX], file[PATH_MAX + 32], first[PATH_MAX];

	while (path != NULL && *path != '\0') {
		int len = (int)strcspn(path, ":");

		snprintf(first, sizeof(first), "%.*s", len, path);
		snprintf(file, sizeof(file), "%s/libibverbs.so.1", first);
		if (len > 0 && access(file, R_OK) == 0) {
			if (realpath(first, real) != NULL && strcmp(real, directory) == 0) {
				doctor_add(report, DOCTOR_OK, "loader", "LD_LIBRARY_PATH names our directory");
				return;
			}
			doctor_add(report, DOCTOR_NOTE, "loader", "LD_LIBRARY_PATH finds another libibverbs first: %.200s", file);
			doctor_remedy(report, "softverbs run -- PROGRAM puts ours first");
			return;
		}
		path += len;
		path += *path == ':';
	}
	doctor_add(report, DOCTOR_OK, "loader", "softverbs run -- PROGRAM sets LD_LIBRARY_PATH; set-user-ID programs ignore it and "
						"DT_RPATH beats it");
	doctor_remedy(report, "softverbs doctor PROGRAM looks whether that one does");
}

void doctor_check_libraries(struct doctor_report *report)
{
	char directory[PATH_MAX], broker[PATH_MAX];
	struct config config;

	if (!place_libraries(directory, sizeof(directory))) {
		doctor_add(report, DOCTOR_PROBLEM, "libraries", "libibverbs.so.1 is in none of %.300s", directory);
		doctor_remedy(report, "in a checkout: ./quickstart --build; else install softverbs again");
		return;
	}
	doctor_judge_libraries(report, directory);
	check_loader(report, directory);
	config_load(&config);
	if (config.broker[0] != '\0' && ipc_broker_find(config.broker, broker) != BASE_OK) {
		doctor_add(report, DOCTOR_PROBLEM, "setting broker", "%s is no program", config.broker);
		doctor_remedy(report, "correct or unset SOFTVERBS_BROKER");
	}
}

static uint64_t drops_of(const struct export_reader *reader)
{
	struct export_group_view group;
	char name[EXPORT_NAME_BYTES];
	uint64_t value, sum = 0;
	int err;

	for (uint32_t i = 0; (err = export_reader_group(reader, i, &group)) != BASE_ERR_NOENT; i++)
		for (uint32_t c = 0; err == BASE_OK && strcmp(group.kind, "link") == 0 && c < group.count; c++)
			if (export_reader_counter(reader, &group, c, name, &value) == BASE_OK && strcmp(name, RECEIVE_FULL) == 0)
				sum += value;
	return sum;
}

/* The buffer that programs get: what the kernel grants, or less when a setting asks for less. */
static uint64_t buffer_in_use(void)
{
	uint64_t granted = doctor_buffer_granted(true);
	struct config config;

	config_load(&config);
	return config.rcvbuf != 0 && config.rcvbuf / 2 < granted ? 0 : granted;
}

static void check_drops(struct doctor_report *report, struct observer *observer)
{
	struct ipc_stat_client clients[CLIENTS_MAX];
	unsigned count = 0, looked = 0, losers = 0;

	if (observer_clients(observer, clients, CLIENTS_MAX, &count) != BASE_OK)
		return;
	for (unsigned i = 0; i < count; i++) {
		struct observer_export export = {NULL, -1};

		if (!clients[i].has_export || observer_export(observer, clients[i].slot, &export) != BASE_OK)
			continue;
		uint64_t drops = drops_of(export.reader);

		observer_export_close(&export);
		looked++;
		if (drops == 0)
			continue;
		losers++;
		doctor_judge_drops(report, drops, clients[i].command, clients[i].pid, buffer_in_use());
	}
	if (looked > 0 && losers == 0)
		doctor_add(report, DOCTOR_OK, "lost packets", "none of the %u running programs lost one to a full receive buffer", looked);
}

static void judge_summary(struct doctor_report *report, const struct ipc_stat_summary *s)
{
	if (s->free_slots == 0) {
		doctor_add(report, DOCTOR_PROBLEM, "broker", "%u (softverbsd %s, user %u): all %u slots are taken", s->pid, s->version,
			   s->uid, s->clients);
		doctor_remedy(report, "end some RDMA programs: one broker serves 254 processes");
	} else if (strcmp(s->version, SOFTVERBS_VERSION) != 0) {
		doctor_add(report, DOCTOR_NOTE, "broker", "%u is softverbsd %s of user %u, and this is softverbs %s", s->pid, s->version,
			   s->uid, SOFTVERBS_VERSION);
		doctor_remedy(report, "end all RDMA programs of this user: the next one starts a new broker");
	} else if (s->free_slots < SLOTS_SCARCE) {
		doctor_add(report, DOCTOR_NOTE, "broker", "%u (softverbsd %s, user %u): %u slots left", s->pid, s->version, s->uid,
			   s->free_slots);
		doctor_remedy(report, "one broker serves 254 processes at a time");
	} else {
		doctor_add(report, DOCTOR_OK, "broker", "running: process %u, softverbsd %s, user %u, up %.0f s, %u programs", s->pid,
			   s->version, s->uid, (double)s->uptime_ns / 1e9, s->clients);
	}
}

void doctor_check_broker(struct doctor_report *report)
{
	struct observer *observer = NULL;
	struct ipc_stat_summary summary;
	int err = observer_open(false, &observer);

	if (err == BASE_ERR_NODEV) {
		doctor_add(report, DOCTOR_OK, "broker", "not running: the first RDMA program starts it, it ends when idle");
		doctor_check_port(report, -1, "");
		return;
	}
	if (err == BASE_OK)
		err = observer_summary(observer, &summary);
	if (err != BASE_OK) {
		doctor_add(report, DOCTOR_PROBLEM, "broker", "it does not serve us: %s", base_err_text(err));
		doctor_remedy(report, err == BASE_ERR_PERM ? "its name belongs to another user: a root of this namespace can end that program"
							   : "end softverbsd (pkill softverbsd): programs start a new one and go on");
	} else {
		judge_summary(report, &summary);
		doctor_check_port(report, summary.wire, summary.reason);
		check_drops(report, observer);
	}
	observer_close(observer);
}
