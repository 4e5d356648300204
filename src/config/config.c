/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config/config.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "config/json.h"
#include "config/section.h"

#define CONFIG_IDLE_MAX 86400u
#define CONFIG_RCVBUF_MIN 4096u
#define CONFIG_RCVBUF_MAX (1u << 30)
#define CONFIG_VENDOR_MAX 0xffffffu

/*
 * perftest 4.5 chooses inline sizes by the part id alone (but for Chelsio's and Intel's vendor ids) and turns inline data off
 * for parts that it does not know. 4119 is one of those it knows. The vendor id is nobody's, as rxe's is: programs that load a
 * vendor's own provider look for vendor and part together, and must not find them.
 */
#define CONFIG_VENDOR_DEFAULT 0xffffffu
#define CONFIG_PART_DEFAULT 4119u

void config_defaults(struct config *out)
{
	*out = (struct config){ .local = CONFIG_LOCAL_SHM, .gso = CONFIG_AUTO, .idle_seconds = 5, .profile = CONFIG_HARDWARE,
		.vendor_id = CONFIG_VENDOR_DEFAULT, .part_id = CONFIG_PART_DEFAULT, .ece_vendor = CONFIG_ECE_OURS,
		.ece_options = UINT32_MAX };
	strcpy(out->device, "*");
	strcpy(out->firmware, "0.1.0");
	strcpy(out->node_desc, "softverbs");
}

/* A number and nothing else, in this base or, when it is 0, decimal or with 0x. */
static bool config_number_in(const char *text, int base, uint32_t low, uint32_t high, uint32_t *out)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	if (base == 0)
		base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	errno = 0;
	unsigned long long value = strtoull(text, &end, base);
	if (errno != 0 || *end != '\0' || value < low || value > high)
		return false;
	*out = (uint32_t)value;
	return true;
}

static bool config_number(const char *text, uint32_t low, uint32_t high, uint32_t *out)
{
	return config_number_in(text, 10, low, high, out);
}

static bool config_set_local(struct config *config, const char *value)
{
	if (strcmp(value, "shm") == 0)
		config->local = CONFIG_LOCAL_SHM;
	else if (strcmp(value, "wire") == 0)
		config->local = CONFIG_LOCAL_WIRE;
	else
		return false;
	return true;
}

static bool config_set_cm(struct config *config, const char *value)
{
	if (strcmp(value, "linux") == 0)
		config->cm = CONFIG_CM_LINUX;
	else if (strcmp(value, "fast") == 0)
		config->cm = CONFIG_CM_FAST;
	else
		return false;
	return true;
}

static bool config_set_cm_roce(struct config *config, const char *value)
{
	if (strcmp(value, "v2") == 0)
		config->cm_roce = CONFIG_ROCE_V2;
	else if (strcmp(value, "v1") == 0)
		config->cm_roce = CONFIG_ROCE_V1;
	else
		return false;
	return true;
}

static bool config_set_gids(struct config *config, const char *value)
{
	static const char *const words[] = { [CONFIG_GIDS_ALL] = "all", [CONFIG_GIDS_V2] = "v2", [CONFIG_GIDS_IPV6] = "ipv6" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(value, words[i]) == 0) {
			config->gids = (enum config_gids)i;
			return true;
		}
	}
	return false;
}

static bool config_set_gso(struct config *config, const char *value)
{
	static const char *const words[] = { [CONFIG_AUTO] = "auto", [CONFIG_ON] = "on", [CONFIG_OFF] = "off" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(value, words[i]) == 0) {
			config->gso = (enum config_switch)i;
			return true;
		}
	}
	return false;
}

static bool config_set_idle(struct config *config, const char *value)
{
	return config_number(value, 1, CONFIG_IDLE_MAX, &config->idle_seconds);
}

static bool config_set_rcvbuf(struct config *config, const char *value)
{
	if (strcmp(value, "auto") == 0) {
		config->rcvbuf = 0;
		return true;
	}
	return config_number(value, CONFIG_RCVBUF_MIN, CONFIG_RCVBUF_MAX, &config->rcvbuf);
}

static bool config_set_device(struct config *config, const char *value)
{
	if (value[0] == '\0' || strlen(value) >= sizeof(config->device))
		return false;
	strcpy(config->device, value);
	return true;
}

static bool config_set_broker(struct config *config, const char *value)
{
	if (value[0] != '/' || strlen(value) >= sizeof(config->broker))
		return false;
	strcpy(config->broker, value);
	return true;
}

static bool config_set_profile(struct config *config, const char *value)
{
	if (strcmp(value, "hardware") == 0)
		config->profile = CONFIG_HARDWARE;
	else if (strcmp(value, "spec") == 0)
		config->profile = CONFIG_SPEC;
	else
		return false;
	return true;
}

static bool config_set_vendor(struct config *config, const char *value)
{
	return config_number_in(value, 0, 0, CONFIG_VENDOR_MAX, &config->vendor_id);
}

static bool config_set_part(struct config *config, const char *value)
{
	return config_number_in(value, 0, 0, UINT32_MAX, &config->part_id);
}

static bool config_set_ece(struct config *config, const char *value)
{
	if (strcmp(value, "on") == 0)
		config->ece_vendor = CONFIG_ECE_OURS;
	else if (strcmp(value, "off") == 0)
		config->ece_vendor = 0;
	else
		return config_number_in(value, 0, 1, CONFIG_VENDOR_MAX, &config->ece_vendor);
	return true;
}

static bool config_set_ece_options(struct config *config, const char *value)
{
	return config_number_in(value, 0, 0, UINT32_MAX, &config->ece_options);
}

/* Programs print it as it is. */
static bool config_name(const char *value, char out[CONFIG_NAME_MAX])
{
	size_t len = strlen(value);

	if (len == 0 || len >= CONFIG_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (value[i] < ' ' || value[i] > '~')
			return false;
	strcpy(out, value);
	return true;
}

static bool config_set_firmware(struct config *config, const char *value)
{
	return config_name(value, config->firmware);
}

static bool config_set_node_desc(struct config *config, const char *value)
{
	return config_name(value, config->node_desc);
}

static const struct {
	const char *key, *variable, *allowed;
	bool (*set)(struct config *config, const char *value);
} config_keys[] = {
	{ "local", "SOFTVERBS_LOCAL", "shm or wire", config_set_local },
	{ "device", "SOFTVERBS_DEVICE", "a pattern of device names such as sv_eth*, at most 255 bytes", config_set_device },
	{ "idle_seconds", "SOFTVERBS_IDLE_SECONDS", "a whole number from 1 to 86400", config_set_idle },
	{ "rcvbuf", "SOFTVERBS_RCVBUF", "auto or a number of bytes from 4096 to 1073741824", config_set_rcvbuf },
	{ "gso", "SOFTVERBS_GSO", "auto, on or off", config_set_gso },
	{ "cm", "SOFTVERBS_CM", "linux or fast", config_set_cm },
	{ "cm_roce", "SOFTVERBS_CM_ROCE", "v2 or v1", config_set_cm_roce },
	{ "gids", "SOFTVERBS_GIDS", "all, v2 or ipv6", config_set_gids },
	{ "broker", "SOFTVERBS_BROKER", "an absolute path, at most 255 bytes", config_set_broker },
	{ "profile", "SOFTVERBS_PROFILE", "hardware or spec", config_set_profile },
	{ "vendor_id", "SOFTVERBS_VENDOR_ID", "a number from 0 to 16777215, such as 0x2c9", config_set_vendor },
	{ "part_id", "SOFTVERBS_PART_ID", "a number from 0 to 4294967295, such as 4119", config_set_part },
	{ "ece", "SOFTVERBS_ECE", "on, off or a vendor from 1 to 16777215, such as 0x15b3", config_set_ece },
	{ "ece_options", "SOFTVERBS_ECE_OPTIONS", "a number from 0 to 4294967295, such as 0x1", config_set_ece_options },
	{ "firmware", "SOFTVERBS_FIRMWARE", "1 to 63 printable characters", config_set_firmware },
	{ "node_desc", "SOFTVERBS_NODE_DESC", "1 to 63 printable characters", config_set_node_desc },
};
#define CONFIG_KEYS (sizeof(config_keys) / sizeof(config_keys[0]))

int config_set(struct config *config, const char *where, const char *key, const char *value)
{
	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		if (strcmp(config_keys[i].key, key) != 0)
			continue;
		if (config_keys[i].set(config, value))
			return BASE_OK;
		base_error("%s: \"%.64s\" is not allowed for %s; allowed: %s", where, value, key, config_keys[i].allowed);
		return BASE_ERR_INVAL;
	}
	char all[256] = "";
	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		size_t len = strlen(all);

		snprintf(all + len, sizeof(all) - len, "%s%s", i == 0 ? "" : ", ", config_keys[i].key);
	}
	base_error("%s: there is no setting \"%.64s\"; there are %s, in a file devices", where, key, all);
	return BASE_ERR_INVAL;
}

static int config_load_file(struct config *config, const char *path, bool must_exist)
{
	json_error_t error;
	json_t *value;
	const char *key;
	int result = BASE_OK;

	if (access(path, R_OK) != 0) {
		if (!must_exist && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
			return BASE_OK;
		base_error("%s (from SOFTVERBS_CONFIG) cannot be read: %s", path, strerror(errno));
		return BASE_ERR_NOENT;
	}
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (root == NULL) {
		base_error("%s, line %d: %s", path, error.line, error.text);
		return BASE_ERR_INVAL;
	}
	if (!json_is_object(root)) {
		base_error("%s: the file must be one JSON object, for example {\"local\": \"wire\"}", path);
		result = BASE_ERR_INVAL;
	} else {
		json_object_foreach(root, key, value) {
			int rc = strcmp(key, "devices") == 0 ? config_sections_load(config, path, value) :
							       config_set_json(config, path, key, value);

			if (rc != BASE_OK)
				result = rc;
		}
	}
	json_decref(root);
	return result;
}

/* *named: the path comes from SOFTVERBS_CONFIG. False when there is no place to look. */
static bool config_path(char out[PATH_MAX], bool *named)
{
	const char *explicit = secure_getenv("SOFTVERBS_CONFIG");
	const char *xdg = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	int len = -1;

	*named = explicit != NULL && explicit[0] != '\0';
	if (*named)
		len = snprintf(out, PATH_MAX, "%s", explicit);
	else if (xdg != NULL && xdg[0] == '/')
		len = snprintf(out, PATH_MAX, "%s/softverbs.json", xdg);
	else if (home != NULL && home[0] == '/')
		len = snprintf(out, PATH_MAX, "%s/.config/softverbs.json", home);
	return len > 0 && len < PATH_MAX;
}

int config_load(struct config *out)
{
	char path[PATH_MAX];
	bool named;
	int result = BASE_OK;

	config_defaults(out);
	if (config_path(path, &named))
		result = config_load_file(out, path, named);
	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		const char *value = secure_getenv(config_keys[i].variable);

		if (value == NULL || value[0] == '\0')
			continue;
		int rc = config_set(out, config_keys[i].variable, config_keys[i].key, value);
		if (rc != BASE_OK)
			result = rc;
		else
			config_sections_overrule(out, config_keys[i].key);
	}
	return result;
}

bool config_device_matches(const struct config *config, const char *device)
{
	return fnmatch(config->device, device, 0) == 0;
}
