/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/view.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/observer.h"
#include "cli/place.h"
#include "config/config.h"
#include "sysview/graft.h"
#include "sysview/store.h"

#define VIEW_LIBRARY "libsoftverbs-sysview.so"
#define VIEW_VARIABLE "SOFTVERBS_SYSVIEW"

enum view_form view_form_named(const char *name)
{
	static const char *const names[VIEW_FORMS] = {"auto", "preload", "mount", "off"};
	unsigned form = 0;

	while (form < VIEW_FORMS && strcmp(names[form], name) != 0)
		form++;
	return (enum view_form)form;
}

/* A program without an interpreter: the loader, and with it what is preloaded, never comes. Scripts and what we do not know are not. */
static bool is_static(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	bool is_elf, interpreted = false;

	if (fd < 0)
		return false;
	is_elf = pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
		 header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(segment);
	for (unsigned i = 0; is_elf && i < header.e_phnum && !interpreted; i++)
		interpreted = pread(fd, &segment, sizeof(segment), (off_t)(header.e_phoff + i * sizeof(segment))) != sizeof(segment) ||
			      segment.p_type == PT_INTERP;
	close(fd);
	return is_elf && !interpreted;
}

/* The tree of the devices that the program will see. */
static int tree_make(char path[PATH_MAX])
{
	struct observer *observer;
	struct netdev_table *table = NULL;
	uint8_t order[NETDEV_MAX_DEVICES];
	struct config config;
	unsigned kept = 0;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err = observer_open(true, &observer);

	if (err != 0)
		return err;
	err = observer_devices(observer, &table);
	observer_close(observer);
	if (err != 0)
		return err;
	config_load(&config);
	unsigned count = netdev_table_order(table, order);
	for (unsigned n = 0; n < count; n++)
		if (table->devices[order[n]].ifindex != 0 && config_device_matches(&config, table->devices[order[n]].name))
			order[kept++] = order[n];
	const struct sysview_tree tree = {.table = table, .order = order, .count = kept, .firmware = config.firmware,
					  .node_desc = config.node_desc, .cpus = cpus > 0 ? (unsigned)cpus : 1};
	err = sysview_store(&tree, path);
	free(table);
	return err;
}

/* Puts `more` before the list in an environment variable, unless it is in it. */
static bool environment_prepend(const char *name, const char *more, const char *divider)
{
	const char *before = getenv(name);
	char *value;

	if (before == NULL || before[0] == '\0')
		return setenv(name, more, 1) == 0;
	if (strstr(before, more) != NULL)
		return true;
	if (asprintf(&value, "%s%s%s", more, divider, before) < 0)
		return false;
	bool done = setenv(name, value, 1) == 0;
	free(value);
	return done;
}

static bool environment_set(const char *tree)
{
	char library[PATH_MAX + sizeof(VIEW_LIBRARY)], directory[PATH_MAX];

	if (!place_libraries(directory, sizeof(directory)))
		return false;
	snprintf(library, sizeof(library), "%s/" VIEW_LIBRARY, directory);
	if (access(library, R_OK) != 0) {
		base_explain("run: there is no %s", library);
		return false;
	}
	/* gcc's AddressSanitizer wants to be the first library; ours allocates nothing, so that it does not matter. */
	return setenv(VIEW_VARIABLE, tree, 1) == 0 && environment_prepend("LD_PRELOAD", library, ":") &&
	       environment_prepend("ASAN_OPTIONS", "verify_asan_link_order=0", ":");
}

/* One that we are in already, below another `softverbs run`. */
static bool is_mounted(const char *tree)
{
	const char *before = getenv(VIEW_VARIABLE);

	return before != NULL && strcmp(before, tree) == 0 && access("/sys/class/infiniband_verbs/abi_version", R_OK) == 0;
}

bool view_prepare(enum view_form form, const char *program)
{
	char tree[PATH_MAX];
	bool mount = form == VIEW_MOUNT || (form == VIEW_AUTO && (sysview_graft_is_free() || is_static(program)));

	if (form == VIEW_OFF)
		return true;
	int err = tree_make(tree);
	if (err == 0 && mount && !is_mounted(tree)) {
		err = sysview_graft(tree);
		if (err != 0 && form == VIEW_AUTO) { /* containers with a root that may not mount */
			base_explain("run: no mount namespace: %s", base_err_text(err));
			err = 0;
		}
	}
	if (err == 0 && !environment_set(tree))
		err = BASE_ERR_NOENT;
	if (err == 0)
		return true;
	if (form == VIEW_AUTO) {
		base_explain("run: the program sees no files of our devices below /sys: %s", base_err_text(err));
		return true;
	}
	cli_error("the files below /sys cannot be shown to the program in this way: %s%s", base_err_text(err),
		  form == VIEW_MOUNT ? ". --sysview=preload needs no right to mount" : "");
	return false;
}
