/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config/json.h"

#include <stdio.h>

#include "base/err.h"
#include "base/log.h"

int config_set_json(struct config *config, const char *path, const char *key, json_t *value)
{
	char number[32];

	if (json_is_string(value))
		return config_set(config, path, key, json_string_value(value));
	if (json_is_integer(value)) {
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
		return config_set(config, path, key, number);
	}
	base_error("%s: the value of \"%.64s\" must be a string or a whole number", path, key);
	return BASE_ERR_INVAL;
}
