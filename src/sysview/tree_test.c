/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tree as it is told, and as it is stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "sysview/attribute.h"
#include "sysview/counter.h"
#include "sysview/store.h"
#include "sysview/tree.h"

enum { ENTRIES_MAX = 4096 };

struct entry {
	char path[256], text[512], kind; /* 'd', 'f', 'l' */
};

static struct {
	struct netdev_table table;
	struct sysview_tree tree;
	struct entry entries[ENTRIES_MAX];
	unsigned count, fail_at;
} world;

static const uint8_t both[] = {1, 0};

static int add(char kind, const char *path, const char *text)
{
	struct entry *entry = &world.entries[world.count];

	if (world.fail_at != 0 && world.count + 1 == world.fail_at)
		return BASE_ERR_NOMEM;
	assert_true(world.count < ENTRIES_MAX);
	assert_true(strlen(path) < sizeof(entry->path) && strlen(text) < sizeof(entry->text));
	entry->kind = kind;
	snprintf(entry->path, sizeof(entry->path), "%s", path);
	snprintf(entry->text, sizeof(entry->text), "%s", text);
	world.count++;
	return 0;
}

static int on_directory(void *context, const char *path)
{
	return add('d', path, "");
}

static int on_file(void *context, const char *path, const char *text)
{
	return add('f', path, text);
}

static int on_link(void *context, const char *path, const char *target)
{
	return add('l', path, target);
}

static const struct sysview_sink sink = {on_directory, on_file, on_link, NULL};

static const struct entry *find(const char *path)
{
	for (unsigned i = 0; i < world.count; i++)
		if (strcmp(world.entries[i].path, path) == 0)
			return &world.entries[i];
	return NULL;
}

static void is(const char *path, const char *text)
{
	const struct entry *entry = find(path);

	if (entry == NULL)
		fail_msg("there is no %s", path);
	assert_string_equal(entry->text, text);
}

static int setup(void **state)
{
	memset(&world, 0, sizeof(world));
	world.table = (struct netdev_table){.generation = 3, .count = 2};
	world.table.devices[0] = (struct netdev_device){.name = "sv_lo", .ifname = "lo", .ifindex = 1, .mtu = 65536, .up = true,
							.node_guid = 0x0200fffe000001ull};
	world.table.devices[1] = (struct netdev_device){.name = "sv_eth0", .ifname = "eth0", .ifindex = 2, .mtu = 1500, .speed = 25000,
							.node_guid = 0x0011223344556677ull};
	world.table.devices[0].gids[2] = (struct netdev_gid){.gid = wire_gid_from_ipv4((const uint8_t[]){127, 0, 0, 1}),
							     .type = WIRE_GID_ROCE_V1, .ifindex = 1, .valid = true};
	world.table.devices[0].gids[3] = world.table.devices[0].gids[2];
	world.table.devices[0].gids[3].type = WIRE_GID_ROCE_V2;
	world.table.devices[0].gids[4] = (struct netdev_gid){.type = WIRE_GID_ROCE_V2, .ifindex = 2, .valid = true}; /* as a VLAN's */
	world.tree = (struct sysview_tree){.table = &world.table, .order = both, .count = 2, .firmware = "1.2 x", .node_desc = "here",
					   .cpus = 36};
	return 0;
}

static void test_files(void **state)
{
	assert_int_equal(sysview_tree_tell(&world.tree, &sink), 0);
	is("sys/class/infiniband/sv_lo/node_type", "1: CA\n");
	is("sys/class/infiniband/sv_lo/node_guid", "0002:00ff:fe00:0001\n");
	is("sys/class/infiniband/sv_eth0/node_guid", "0011:2233:4455:6677\n");
	is("sys/class/infiniband/sv_lo/fw_ver", "1.2 x\n");
	is("sys/class/infiniband/sv_lo/node_desc", "here\n");
	is("sys/class/infiniband/sv_lo/ports/1/state", "4: ACTIVE\n");
	is("sys/class/infiniband/sv_lo/ports/1/phys_state", "5: LinkUp\n");
	is("sys/class/infiniband/sv_eth0/ports/1/state", "1: DOWN\n");
	is("sys/class/infiniband/sv_eth0/ports/1/phys_state", "3: Disabled\n");
	is("sys/class/infiniband/sv_lo/ports/1/rate", "10 Gb/sec (1X QDR)\n");
	is("sys/class/infiniband/sv_eth0/ports/1/rate", "25 Gb/sec (1X EDR)\n");
	is("sys/class/infiniband/sv_lo/ports/1/link_layer", "Ethernet\n");
	is("sys/class/infiniband/sv_lo/ports/1/pkeys/0", "0xffff\n");
	is("sys/class/infiniband/sv_lo/ports/1/gids/0", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	is("sys/class/infiniband/sv_lo/ports/1/gids/2", "0000:0000:0000:0000:0000:ffff:7f00:0001\n");
	is("sys/class/infiniband/sv_lo/ports/1/gid_attrs/types/2", "IB/RoCE v1\n");
	is("sys/class/infiniband/sv_lo/ports/1/gid_attrs/types/3", "RoCE v2\n");
	is("sys/class/infiniband/sv_lo/ports/1/gid_attrs/ndevs/3", "lo\n");
	is("sys/class/infiniband/sv_lo/ports/1/gid_attrs/ndevs/4", "eth0\n");
	assert_null(find("sys/class/infiniband/sv_lo/ports/1/gid_attrs/types/0")); /* empty */
	assert_non_null(find("sys/class/infiniband/sv_lo/ports/1/gids/127"));
	assert_null(find("sys/class/infiniband/sv_lo/ports/1/gids/128"));
	is("sys/class/infiniband/sv_lo/ports/1/counters/port_xmit_data", "0\n");
	is("sys/class/infiniband/sv_lo/device/net/lo", "/sys/class/net/lo");
	is("sys/class/infiniband/sv_lo/device/local_cpus", "f,ffffffff\n");
	is("sys/class/infiniband/sv_lo/device/local_cpulist", "0-35\n");
	is("sys/class/infiniband_verbs/uverbs1/ibdev", "sv_eth0\n");
	is("sys/class/infiniband_verbs/uverbs0/device", "../../infiniband/sv_lo/device");
	is("dev/infiniband/uverbs0", "/dev/full");
	is("devices", "1 sv_eth0 0011223344556677 1 3 2 eth0\n0 sv_lo 000200fffe000001 4 5 1 lo\n");
}

static void test_directories_come_first(void **state)
{
	assert_int_equal(sysview_tree_tell(&world.tree, &sink), 0);
	for (unsigned i = 0; i < world.count; i++) {
		char parent[256];
		const struct entry *found;

		snprintf(parent, sizeof(parent), "%s", world.entries[i].path);
		assert_ptr_equal(find(world.entries[i].path), &world.entries[i]); /* each once */
		if (strrchr(parent, '/') == NULL)
			continue;
		*strrchr(parent, '/') = '\0';
		found = find(parent);
		if (found == NULL || found > &world.entries[i] || found->kind != 'd')
			fail_msg("%s has no directory", world.entries[i].path);
	}
}

static void test_the_first_error_ends_it(void **state)
{
	assert_int_equal(sysview_tree_tell(&world.tree, &sink), 0);
	unsigned all = world.count;
	for (unsigned at = 1; at <= all; at += 13) {
		world.count = 0;
		world.fail_at = at;
		assert_int_equal(sysview_tree_tell(&world.tree, &sink), BASE_ERR_NOMEM);
		assert_int_equal(world.count, at - 1);
	}
}

static void test_texts_and_their_room(void **state)
{
	const struct sysview_identity identity = {.node_guid = 1, .firmware = "0.1", .node_desc = "x"};
	char text[SYSVIEW_TEXT];

	assert_int_equal(sysview_device_text(&identity, "node_guid", text, 20), 19);
	assert_int_equal(sysview_device_text(&identity, "node_guid", text, 19), BASE_ERR_RANGE);
	assert_int_equal(sysview_device_text(&identity, "node_gui", text, sizeof(text)), BASE_ERR_NOENT);
	for (unsigned i = 0; sysview_device_file(i) != NULL; i++)
		assert_true(sysview_device_text(&identity, sysview_device_file(i), text, sizeof(text)) > 0);
	assert_string_equal(sysview_counter_find(false, "port_rcv_data")->source, "received_bytes");
	assert_null(sysview_counter_find(true, "port_rcv_data"));
}

/* --- on disk -------------------------------------------------------------------- */

static void read_back(const char *tree, const char *path, const char *text)
{
	char full[512], got[512] = "";
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", tree, path);
	f = fopen(full, "r");
	if (f == NULL)
		fail_msg("%s: %s", full, strerror(errno));
	assert_non_null(fgets(got, sizeof(got), f));
	fclose(f);
	assert_string_equal(got, text);
}

static void test_store(void **state)
{
	char place[] = "/tmp/sysview_test_XXXXXX", first[PATH_MAX], second[PATH_MAX], old[PATH_MAX + 16], command[64];
	struct stat before, after;

	assert_non_null(mkdtemp(place));
	setenv("XDG_RUNTIME_DIR", place, 1);
	assert_int_equal(sysview_store(&world.tree, first), 0);
	read_back(first, "sys/class/infiniband/sv_lo/node_type", "1: CA\n");
	read_back(first, "sys/class/infiniband/sv_lo/device/infiniband/sv_lo/device/infiniband_verbs/uverbs0/ibdev", "sv_lo\n");
	read_back(first, "sys/class/infiniband_verbs/uverbs1/device/local_cpulist", "0-35\n");
	assert_int_equal(stat(first, &before), 0);
	/* The same is the same directory, what differs another one, and the first stays. */
	assert_int_equal(sysview_store(&world.tree, second), 0);
	assert_string_equal(first, second);
	assert_int_equal(stat(second, &after), 0);
	assert_true(before.st_ino == after.st_ino);
	world.tree.firmware = "2";
	assert_int_equal(sysview_store(&world.tree, second), 0);
	assert_string_not_equal(first, second);
	read_back(first, "sys/class/infiniband/sv_lo/fw_ver", "1.2 x\n");
	/* Unused for long, it goes when the next one is made. */
	const struct timespec long_ago[2] = {{.tv_sec = after.st_mtime - 8 * 24 * 3600}, {.tv_sec = after.st_mtime - 8 * 24 * 3600}};
	assert_int_equal(utimensat(AT_FDCWD, first, long_ago, 0), 0);
	world.tree.firmware = "3";
	assert_int_equal(sysview_store(&world.tree, old), 0);
	assert_int_equal(stat(first, &after), -1);
	read_back(second, "sys/class/infiniband/sv_lo/fw_ver", "2\n");
	/* A place into which others may write is none. */
	snprintf(old, sizeof(old), "%s/softverbs", place);
	assert_int_equal(chmod(old, 0777), 0);
	assert_int_equal(sysview_store(&world.tree, second), BASE_ERR_PERM);
	snprintf(command, sizeof(command), "rm -r %s", place);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_files, setup),
		cmocka_unit_test_setup(test_directories_come_first, setup),
		cmocka_unit_test_setup(test_the_first_error_ends_it, setup),
		cmocka_unit_test_setup(test_texts_and_their_room, setup),
		cmocka_unit_test_setup(test_store, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
