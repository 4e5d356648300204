/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sections: settings of some devices only. The file's key "devices" is an object; each of its keys is a pattern of device names,
 * each value an object with settings, of which these can be a device's own:
 *
 *   {"ece": "off", "devices": {"sv_a0": {"ece": "on"}, "sv_b*": {"ece": "0x15b3", "ece_options": "0x10000000"}}}
 *
 * A device has the settings of all sections that match it, the later one wins; what no section sets it has from outside of them.
 * The environment wins over all of it.
 *
 * Owner: part of struct config, plain data. Threads: none.
 */
#ifndef CONFIG_SECTION_H
#define CONFIG_SECTION_H

#include <jansson.h>

#include "config/config.h"

/*
 * The value of "devices". BASE_ERR_INVAL: something was refused, with a line that says what; the rest is taken.
 */
int config_sections_load(struct config *config, const char *path, json_t *devices);
/* The environment has set this key, for all devices. */
void config_sections_overrule(struct config *config, const char *key);

#endif
