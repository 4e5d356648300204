/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void doctor_report_init(struct doctor_report *report, const char *root)
{
	*report = (struct doctor_report){.root = root};
}

void doctor_report_fini(struct doctor_report *report)
{
	free(report->findings);
	report->findings = NULL;
	report->count = 0;
}

void doctor_add(struct doctor_report *report, enum doctor_verdict verdict, const char *check, const char *format, ...)
{
	struct doctor_finding *more = realloc(report->findings, (report->count + 1) * sizeof(*more));
	va_list args;

	if (more == NULL) {
		report->out_of_memory = true;
		return;
	}
	report->findings = more;
	struct doctor_finding *f = &report->findings[report->count++];

	*f = (struct doctor_finding){.verdict = verdict, .check = check};
	va_start(args, format);
	vsnprintf(f->found, sizeof(f->found), format, args);
	va_end(args);
}

void doctor_remedy(struct doctor_report *report, const char *format, ...)
{
	va_list args;

	if (report->count == 0)
		return; /* the finding did not fit either */
	struct doctor_finding *f = &report->findings[report->count - 1];

	va_start(args, format);
	vsnprintf(f->remedy, sizeof(f->remedy), format, args);
	va_end(args);
}

unsigned doctor_count(const struct doctor_report *report, enum doctor_verdict verdict)
{
	unsigned count = 0;

	for (unsigned i = 0; i < report->count; i++)
		count += report->findings[i].verdict == verdict;
	return count;
}

const char *doctor_verdict_text(enum doctor_verdict verdict)
{
	switch (verdict) {
	case DOCTOR_OK:
		return "OK";
	case DOCTOR_NOTE:
		return "NOTE";
	case DOCTOR_PROBLEM:
		return "PROBLEM";
	}
	return "?";
}

bool doctor_number(const struct doctor_report *report, const char *path, long long *out)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", report->root, path);
	f = fopen(full, "re");
	if (f == NULL)
		return false;
	bool ok = fscanf(f, "%lld", out) == 1;

	fclose(f);
	return ok;
}
