/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Settings: built-in defaults, then a JSON file, then the environment; the later one wins.
 *
 *   environment              file key         values                        default
 *   SOFTVERBS_LOCAL          "local"          shm | wire                    shm      the way between local processes
 *   SOFTVERBS_DEVICE         "device"         glob of device names          *        which devices are listed
 *   SOFTVERBS_IDLE_SECONDS   "idle_seconds"   1..86400                      5        the broker ends when idle so long
 *   SOFTVERBS_RCVBUF         "rcvbuf"         auto | 4096..1073741824       auto     receive buffer of the socket, bytes
 *   SOFTVERBS_GSO            "gso"            auto | on | off               auto     UDP_SEGMENT bursts
 *   SOFTVERBS_CM             "cm"             linux | fast                  linux    the broker's CM timeouts and retries
 *   SOFTVERBS_CM_ROCE        "cm_roce"        v2 | v1                       v2       of connections and groups that begin here
 *   SOFTVERBS_GIDS           "gids"           all | v2 | ipv6               all      the broker's tables: v1 before v2; v2; no IPv4
 *   SOFTVERBS_BROKER         "broker"         absolute path                 (none)   the softverbsd to start
 *   SOFTVERBS_PROFILE        "profile"        hardware | spec               hardware where specification and adapters differ
 *   SOFTVERBS_VENDOR_ID      "vendor_id"      0..0xffffff                   0xffffff who the devices say they are
 *   SOFTVERBS_PART_ID        "part_id"        0..0xffffffff                 4119
 *   SOFTVERBS_ECE            "ece"            on | off | 1..0xffffff         on       ECE: ours, none, or another vendor's
 *   SOFTVERBS_ECE_OPTIONS    "ece_options"    0..0xffffffff                 0xffffffff a mask of the options that are offered
 *   SOFTVERBS_FIRMWARE       "firmware"       1..63 printable bytes         0.1.0
 *   SOFTVERBS_NODE_DESC      "node_desc"      1..63 printable bytes         softverbs
 *   -                        "devices"        settings of some devices only: config/section.h
 *   SOFTVERBS_DEBUG          -                see base/log.h
 *
 * The file is $SOFTVERBS_CONFIG, else $XDG_CONFIG_HOME/softverbs.json, else ~/.config/softverbs.json; only the first must exist
 * when it is named. Set-user-ID programs see neither (secure_getenv).
 *
 * A value that is not allowed is an error line that names the key and what is allowed; the setting keeps its earlier value and
 * the load goes on.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_TEXT_MAX 256
#define CONFIG_NAME_MAX 64 /* what ibv_device_attr and sysfs have room for */

#define CONFIG_SECTIONS_MAX 32

#define CONFIG_ECE_OURS UINT32_MAX

enum config_local { CONFIG_LOCAL_SHM, CONFIG_LOCAL_WIRE };
enum config_cm { CONFIG_CM_LINUX, CONFIG_CM_FAST };
enum config_roce { CONFIG_ROCE_V2, CONFIG_ROCE_V1 };
enum config_gids { CONFIG_GIDS_ALL, CONFIG_GIDS_V2, CONFIG_GIDS_IPV6 };
enum config_switch { CONFIG_AUTO, CONFIG_ON, CONFIG_OFF };
enum config_profile { CONFIG_HARDWARE, CONFIG_SPEC };

struct config_section {
	char device[CONFIG_NAME_MAX]; /* glob */
	bool has_vendor, has_options;
	uint32_t ece_vendor, ece_options;
};

struct config {
	enum config_local local;
	enum config_switch gso;
	enum config_cm cm;            /* read by the broker */
	enum config_roce cm_roce;     /* read by the broker */
	enum config_gids gids;        /* read by the broker */
	uint32_t idle_seconds;
	uint32_t rcvbuf;              /* bytes, 0: as large as allowed; as getsockopt counts them */
	char device[CONFIG_TEXT_MAX]; /* glob */
	char broker[CONFIG_TEXT_MAX]; /* path, empty: look for it */
	enum config_profile profile;
	uint32_t vendor_id, part_id;
	uint32_t ece_vendor;          /* 0: no ECE; CONFIG_ECE_OURS */
	uint32_t ece_options;
	char firmware[CONFIG_NAME_MAX], node_desc[CONFIG_NAME_MAX];
	struct config_section sections[CONFIG_SECTIONS_MAX]; /* in the file's order */
	unsigned section_count;
};

struct config_ece {
	uint32_t vendor; /* as struct config's ece_vendor */
	uint32_t options;
};

void config_defaults(struct config *out);
/*
 * Always fills *out. BASE_ERR_INVAL when a value or the file was refused (the lines are out), BASE_ERR_NOENT when
 * $SOFTVERBS_CONFIG does not exist.
 */
int config_load(struct config *out);
/* One key, as from the environment or the file: `where` names the origin in the error line. */
int config_set(struct config *config, const char *where, const char *key, const char *value);
/* What this device offers. */
struct config_ece config_ece_of(const struct config *config, const char *device);
/* Does the device glob let this device through? */
bool config_device_matches(const struct config *config, const char *device);

#endif
