/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config/section.h"

#include <fnmatch.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "config/json.h"

static bool is_vendor(const char *key) { return strcmp(key, "ece") == 0; }
static bool is_options(const char *key) { return strcmp(key, "ece_options") == 0; }

static int setting_load(struct config_section *section, const char *path, const char *key, json_t *value)
{
	struct config scratch;

	if (!is_vendor(key) && !is_options(key)) {
		base_error("%s: \"%.64s\" cannot be a setting of one device; there are ece, ece_options", path, key);
		return BASE_ERR_INVAL;
	}
	config_defaults(&scratch);
	int err = config_set_json(&scratch, path, key, value);
	if (err != BASE_OK)
		return err;
	if (is_vendor(key)) {
		section->has_vendor = true;
		section->ece_vendor = scratch.ece_vendor;
	} else {
		section->has_options = true;
		section->ece_options = scratch.ece_options;
	}
	return BASE_OK;
}

static int section_load(struct config *config, const char *path, const char *device, json_t *settings)
{
	struct config_section section = { 0 };
	int result = BASE_OK;
	const char *key;
	json_t *value;

	if (device[0] == '\0' || strlen(device) >= sizeof(section.device)) {
		base_error("%s: \"%.64s\" in \"devices\" is no pattern of device names such as sv_eth*, at most 63 bytes", path, device);
		return BASE_ERR_INVAL;
	}
	if (!json_is_object(settings)) {
		base_error("%s: \"%s\" in \"devices\" must be an object, for example {\"ece\": \"off\"}", path, device);
		return BASE_ERR_INVAL;
	}
	if (config->section_count == CONFIG_SECTIONS_MAX) {
		base_error("%s: \"devices\" has more than %d patterns: \"%s\" is left out", path, CONFIG_SECTIONS_MAX, device);
		return BASE_ERR_INVAL;
	}
	strcpy(section.device, device);
	json_object_foreach(settings, key, value) {
		int err = setting_load(&section, path, key, value);

		if (err != BASE_OK)
			result = err;
	}
	config->sections[config->section_count++] = section;
	return result;
}

int config_sections_load(struct config *config, const char *path, json_t *devices)
{
	int result = BASE_OK;
	const char *device;
	json_t *settings;

	if (!json_is_object(devices)) {
		base_error("%s: \"devices\" must be an object, for example {\"sv_eth0\": {\"ece\": \"off\"}}", path);
		return BASE_ERR_INVAL;
	}
	json_object_foreach(devices, device, settings) {
		int err = section_load(config, path, device, settings);

		if (err != BASE_OK)
			result = err;
	}
	return result;
}

void config_sections_overrule(struct config *config, const char *key)
{
	for (unsigned i = 0; i < config->section_count; i++) {
		if (is_vendor(key))
			config->sections[i].has_vendor = false;
		if (is_options(key))
			config->sections[i].has_options = false;
	}
}

struct config_ece config_ece_of(const struct config *config, const char *device)
{
	struct config_ece ece = { config->ece_vendor, config->ece_options };

	for (unsigned i = 0; i < config->section_count; i++) {
		const struct config_section *section = &config->sections[i];

		if (fnmatch(section->device, device, 0) != 0)
			continue;
		if (section->has_vendor)
			ece.vendor = section->ece_vendor;
		if (section->has_options)
			ece.options = section->ece_options;
	}
	return ece;
}
