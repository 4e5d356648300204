/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A setting that came as JSON, for the files of this folder that read one. As config_set(); a value that is neither a string nor a
 * whole number is refused in the same way.
 */
#ifndef CONFIG_JSON_H
#define CONFIG_JSON_H

#include <jansson.h>

#include "config/config.h"

int config_set_json(struct config *config, const char *path, const char *key, json_t *value);

#endif
