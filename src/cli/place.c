/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/place.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *const places[] = {"lib", "../lib/softverbs", SOFTVERBS_LIBDIR_FROM_BIN, "../lib64/softverbs"};

bool place_libraries(char *out, size_t bytes)
{
	char exe[PATH_MAX], path[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t at = 0;

	out[0] = '\0';
	if (len <= 0)
		return false;
	exe[len] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char real[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s/libibverbs.so.1", exe, places[i]);
		if (access(path, R_OK) != 0)
			continue;
		*strrchr(path, '/') = '\0';
		if (realpath(path, real) == NULL || strlen(real) >= bytes)
			continue;
		memcpy(out, real, strlen(real) + 1);
		return true;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && at < bytes; i++) {
		int more = snprintf(out + at, bytes - at, "%s%s/%s", i > 0 ? ", " : "", exe, places[i]);

		at += more > 0 ? (size_t)more : 0;
	}
	return false;
}

bool place_environment_set(void)
{
	char directory[PATH_MAX], *value = NULL;
	const char *before = getenv("LD_LIBRARY_PATH");

	if (!place_libraries(directory, sizeof(directory))) {
		cli_error("cannot find our libibverbs.so.1; looked in %s. In a checkout ./quickstart --build makes it.",
			  directory);
		return false;
	}
	int len = before != NULL && before[0] != '\0' ? asprintf(&value, "%s:%s", directory, before)
						      : asprintf(&value, "%s", directory);
	bool done = len >= 0 && setenv("LD_LIBRARY_PATH", value, 1) == 0;

	if (len >= 0)
		free(value);
	if (!done)
		cli_error("out of memory");
	return done;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool place_program(const char *name, char *out, size_t bytes)
{
	if (strchr(name, '/') != NULL)
		return is_program(name) && (size_t)snprintf(out, bytes, "%s", name) < bytes;
	const char *path = getenv("PATH");

	if (path == NULL || path[0] == '\0')
		path = "/usr/local/bin:/usr/bin:/bin";
	while (true) {
		size_t len = strcspn(path, ":");
		int used = snprintf(out, bytes, "%.*s/%s", len > 0 ? (int)len : 1, len > 0 ? path : ".", name);

		if (used > 0 && (size_t)used < bytes && is_program(out))
			return true;
		if (path[len] == '\0')
			return false;
		path += len + 1;
	}
}
