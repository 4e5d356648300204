/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"

static char directory[] = "/tmp/softverbs-config-XXXXXX";

/* What a call writes to standard error. */
static int load_and_listen(struct config *config, char *said, size_t size)
{
	int ends[2], saved = dup(STDERR_FILENO);

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	int rc = config_load(config);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	ssize_t n = read(ends[0], said, size - 1);
	said[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	return rc;
}

static void file_write(const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/softverbs.json", directory);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int clear(void **state)
{
	static const char *const all[] = { "LOCAL", "DEVICE", "IDLE_SECONDS", "RCVBUF", "GSO", "GIDS", "CM", "CM_ROCE", "BROKER", "CONFIG",
		"PROFILE", "VENDOR_ID", "PART_ID", "ECE", "ECE_OPTIONS", "FIRMWARE", "NODE_DESC" };
	char name[64];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(name, sizeof(name), "SOFTVERBS_%s", all[i]);
		unsetenv(name);
	}
	setenv("XDG_CONFIG_HOME", directory, 1);
	snprintf(name, sizeof(name), "%s/softverbs.json", directory);
	unlink(name);
	return 0;
}

static void test_defaults(void **state)
{
	struct config c;

	assert_int_equal(config_load(&c), BASE_OK);
	assert_int_equal(c.local, CONFIG_LOCAL_SHM);
	assert_int_equal(c.gso, CONFIG_AUTO);
	assert_int_equal(c.idle_seconds, 5);
	assert_int_equal(c.rcvbuf, 0);
	assert_string_equal(c.broker, "");
	assert_int_equal(c.gids, CONFIG_GIDS_ALL);
	assert_int_equal(c.cm_roce, CONFIG_ROCE_V2);
	assert_true(config_device_matches(&c, "sv_eth0"));
	assert_int_equal(c.profile, CONFIG_HARDWARE);
	assert_int_equal(c.vendor_id, 0xffffff);
	assert_int_equal(c.part_id, 4119);
	assert_int_equal(c.ece_vendor, CONFIG_ECE_OURS);
	assert_int_equal(c.ece_options, UINT32_MAX);
	assert_string_equal(c.firmware, "0.1.0");
	assert_string_equal(c.node_desc, "softverbs");
}

static void test_identity(void **state)
{
	struct config c;

	file_write("{\"profile\": \"spec\", \"vendor_id\": \"0x2C9\", \"part_id\": 4123, \"node_desc\": \"rack 7, port 2\"}");
	setenv("SOFTVERBS_FIRMWARE", "20.32.1010", 1);
	assert_int_equal(config_load(&c), BASE_OK);
	assert_int_equal(c.profile, CONFIG_SPEC);
	assert_int_equal(c.vendor_id, 0x2c9);
	assert_int_equal(c.part_id, 4123);
	assert_string_equal(c.firmware, "20.32.1010");
	assert_string_equal(c.node_desc, "rack 7, port 2");
	setenv("SOFTVERBS_PROFILE", "hardware", 1);
	setenv("SOFTVERBS_VENDOR_ID", "5555", 1);
	setenv("SOFTVERBS_ECE", "0x15b3", 1);
	setenv("SOFTVERBS_ECE_OPTIONS", "0x80000001", 1);
	assert_int_equal(config_load(&c), BASE_OK);
	assert_int_equal(c.profile, CONFIG_HARDWARE);
	assert_int_equal(c.vendor_id, 5555);
	assert_int_equal(c.ece_vendor, 0x15b3);
	assert_int_equal(c.ece_options, 0x80000001);
	setenv("SOFTVERBS_ECE", "off", 1);
	assert_int_equal(config_load(&c), BASE_OK);
	assert_int_equal(c.ece_vendor, 0);
}

static void test_environment_beats_file(void **state)
{
	struct config c;

	file_write("{\"local\": \"wire\", \"idle_seconds\": 30, \"rcvbuf\": \"212992\", \"gso\": \"off\"}");
	setenv("SOFTVERBS_IDLE_SECONDS", "7", 1);
	setenv("SOFTVERBS_DEVICE", "sv_e*", 1);
	setenv("SOFTVERBS_GIDS", "v2", 1);
	setenv("SOFTVERBS_CM_ROCE", "v1", 1);
	assert_int_equal(config_load(&c), BASE_OK);
	assert_int_equal(c.local, CONFIG_LOCAL_WIRE);
	assert_int_equal(c.idle_seconds, 7);
	assert_int_equal(c.gids, CONFIG_GIDS_V2);
	assert_int_equal(c.cm_roce, CONFIG_ROCE_V1);
	assert_int_equal(c.rcvbuf, 212992);
	assert_int_equal(c.gso, CONFIG_OFF);
	assert_true(config_device_matches(&c, "sv_eth0"));
	assert_false(config_device_matches(&c, "sv_lo"));
}

static void need_ece(const struct config *c, const char *device, uint32_t vendor, uint32_t options)
{
	const struct config_ece ece = config_ece_of(c, device);

	assert_int_equal(ece.vendor, vendor);
	assert_int_equal(ece.options, options);
}

static void test_sections(void **state)
{
	struct config c;

	file_write("{\"devices\": {\"sv_*\": {\"ece_options\": 6}, \"sv_b?\": {\"ece\": \"0x0015b3\"}, \"sv_b1\": {\"ece\": \"off\"},"
		   " \"sv_c0\": {\"ece\": \"on\", \"ece_options\": \"0x1\"}}, \"ece\": \"0x2\", \"ece_options\": 5}");
	assert_int_equal(config_load(&c), BASE_OK);
	need_ece(&c, "eth0", 2, 5);                /* no section */
	need_ece(&c, "sv_a0", 2, 6);               /* half of it */
	need_ece(&c, "sv_b0", 0x15b3, 6);          /* two */
	need_ece(&c, "sv_b1", 0, 6);               /* the later one wins */
	need_ece(&c, "sv_c0", CONFIG_ECE_OURS, 1);
	setenv("SOFTVERBS_ECE", "0x3", 1);
	assert_int_equal(config_load(&c), BASE_OK);
	need_ece(&c, "sv_b1", 3, 6);
	need_ece(&c, "sv_c0", 3, 1);
	setenv("SOFTVERBS_ECE_OPTIONS", "0", 1);
	assert_int_equal(config_load(&c), BASE_OK);
	need_ece(&c, "sv_c0", 3, 0);
	need_ece(&c, "eth0", 3, 0);
	/* A variable that is refused overrules nothing. */
	setenv("SOFTVERBS_ECE", "maybe", 1);
	unsetenv("SOFTVERBS_ECE_OPTIONS");
	char said[1024];
	assert_int_equal(load_and_listen(&c, said, sizeof(said)), BASE_ERR_INVAL);
	need_ece(&c, "sv_b1", 0, 6);
}

static void test_sections_without_number(void **state)
{
	struct config c;
	char text[4096] = "{\"devices\": {", said[1024];

	for (int i = 0; i <= CONFIG_SECTIONS_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\"sv_%d\": {\"ece\": \"%d\"}", i == 0 ? "" : ", ", i, i + 1);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "}}");
	file_write(text);
	assert_int_equal(load_and_listen(&c, said, sizeof(said)), BASE_ERR_INVAL);
	assert_non_null(strstr(said, "more than 32 patterns: \"sv_32\" is left out"));
	need_ece(&c, "sv_31", 32, UINT32_MAX);
	need_ece(&c, "sv_32", CONFIG_ECE_OURS, UINT32_MAX);
}

static void test_errors_name_key_and_values(void **state)
{
	static const struct {
		const char *variable, *value, *said;
	} rows[] = {
		{ "SOFTVERBS_LOCAL", "udp", "\"udp\" is not allowed for local; allowed: shm or wire" },
		{ "SOFTVERBS_IDLE_SECONDS", "0", "allowed: a whole number from 1 to 86400" },
		{ "SOFTVERBS_IDLE_SECONDS", "-1", "allowed: a whole number from 1 to 86400" },
		{ "SOFTVERBS_IDLE_SECONDS", "5s", "allowed: a whole number from 1 to 86400" },
		{ "SOFTVERBS_RCVBUF", "99999999999999999999", "allowed: auto or a number of bytes" },
		{ "SOFTVERBS_GSO", "yes", "allowed: auto, on or off" },
		{ "SOFTVERBS_GIDS", "v1", "allowed: all, v2 or ipv6" },
		{ "SOFTVERBS_CM_ROCE", "1", "allowed: v2 or v1" },
		{ "SOFTVERBS_BROKER", "softverbsd", "allowed: an absolute path" },
		{ "SOFTVERBS_PROFILE", "mlx5", "allowed: hardware or spec" },
		{ "SOFTVERBS_VENDOR_ID", "0x1000000", "allowed: a number from 0 to 16777215" },
		{ "SOFTVERBS_VENDOR_ID", "0x", "allowed: a number from 0 to 16777215" },
		{ "SOFTVERBS_PART_ID", "-1", "allowed: a number from 0 to 4294967295" },
		{ "SOFTVERBS_ECE", "0x1000000", "allowed: on, off or a vendor" },
		{ "SOFTVERBS_ECE_OPTIONS", "all", "allowed: a number from 0 to 4294967295" },
		{ "SOFTVERBS_FIRMWARE", "a\nb", "allowed: 1 to 63 printable characters" },
		{ "SOFTVERBS_NODE_DESC", "0123456789012345678901234567890123456789012345678901234567890123",
		  "allowed: 1 to 63 printable characters" },
	};
	struct config c;
	char said[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		clear(state);
		setenv(rows[i].variable, rows[i].value, 1);
		assert_int_equal(load_and_listen(&c, said, sizeof(said)), BASE_ERR_INVAL);
		assert_non_null(strstr(said, rows[i].variable));
		assert_non_null(strstr(said, rows[i].said));
		assert_int_equal(c.idle_seconds, 5);
		assert_int_equal(c.local, CONFIG_LOCAL_SHM);
	}
}

static void test_bad_files(void **state)
{
	static const struct {
		const char *text, *said;
		int rc;
	} rows[] = {
		{ "{", "line 1", BASE_ERR_INVAL },
		{ "[]", "one JSON object", BASE_ERR_INVAL },
		{ "{\"lokal\": \"shm\"}", "no setting \"lokal\"; there are local, device,", BASE_ERR_INVAL },
		{ "{\"gso\": true}", "must be a string or a whole number", BASE_ERR_INVAL },
		{ "{\"devices\": []}", "\"devices\" must be an object", BASE_ERR_INVAL },
		{ "{\"devices\": {\"\": {}}}", "is no pattern of device names", BASE_ERR_INVAL },
		{ "{\"devices\": {\"sv_lo\": \"off\"}}", "\"sv_lo\" in \"devices\" must be an object", BASE_ERR_INVAL },
		{ "{\"devices\": {\"sv_lo\": {\"ece\": \"no\"}}}", "\"no\" is not allowed for ece; allowed: on, off", BASE_ERR_INVAL },
		{ "{\"devices\": {\"sv_lo\": {\"ece\": []}}}", "must be a string or a whole number", BASE_ERR_INVAL },
		{ "{\"devices\": {\"sv_lo\": {\"gso\": \"on\"}}}", "\"gso\" cannot be a setting of one device", BASE_ERR_INVAL },
		{ "{\"gso\": \"on\", \"gso\": \"off\"}", "duplicate", BASE_ERR_INVAL },
	};
	struct config c;
	char said[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		file_write(rows[i].text);
		assert_int_equal(load_and_listen(&c, said, sizeof(said)), rows[i].rc);
		assert_non_null(strstr(said, rows[i].said));
	}
	setenv("SOFTVERBS_CONFIG", "/nonexistent/softverbs.json", 1);
	assert_int_equal(load_and_listen(&c, said, sizeof(said)), BASE_ERR_NOENT);
	assert_non_null(strstr(said, "/nonexistent/softverbs.json"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_defaults, clear),                   /* without any setting */
		cmocka_unit_test_setup(test_environment_beats_file, clear),     /* the order of the sources */
		cmocka_unit_test_setup(test_identity, clear),                   /* profile and who the devices say they are */
		cmocka_unit_test_setup(test_sections, clear),                   /* what one device has */
		cmocka_unit_test_setup(test_sections_without_number, clear),    /* and how many may have */
		cmocka_unit_test_setup(test_errors_name_key_and_values, clear), /* every refusal says what is allowed */
		cmocka_unit_test_setup(test_bad_files, clear),                  /* files that are not ours */
	};

	if (mkdtemp(directory) == NULL)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	clear(NULL);
	rmdir(directory);
	return failed;
}
