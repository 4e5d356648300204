/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* softverbs devices: the adapters of this host as programs see them, and how far each reaches. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/observer.h"
#include "cli/print.h"
#include "config/config.h"
#include "netdev/packet.h"
#include "wire/mtu.h"

static const char devices_help[] =
	"Lists one device per network interface, the one of the default route first, with its GIDs.\n"
	"\n"
	"    --json    the same as JSON\n"
	"    GLOB      only devices whose name matches\n"
	"\n"
	"STATE is ACTIVE when the interface is up. MTU is the path MTU in bytes that RDMA can use. REACH says where packets can go:\n"
	"    this host     to processes of this host, through shared memory (every GID index works there)\n"
	"    other hosts   as RoCEv2 over UDP port 4791 as well, by the GIDs that are addresses of the interface (RoCE v2)\n"
	"The line below the GIDs says whether RoCE v1 leaves the host.\n"
	"Programs choose a GID by its INDEX: perftest's -x, ibv_rc_pingpong's -g.\n"
	"\n"
	"Examples\n"
	"    softverbs devices\n"
	"    softverbs devices sv_lo\n"
	"    softverbs devices --json | jq -r '.devices[].name'\n";

struct reach {
	const char *text;
	const char *reason; /* NULL: none is needed */
	bool wire;
};

static struct reach reach_of(const struct netdev_device *d, const struct ipc_welcome *welcome)
{
	if (d->ifindex == 0)
		return (struct reach){"nowhere", "the interface is gone", false};
	if (!d->admin_up)
		return (struct reach){"this host only", "the interface is down (ip link set ... up)", false};
	if (!d->up)
		return (struct reach){"this host only", "the interface has no carrier: no cable, or nothing at the other end", false};
	if (!welcome->wire)
		return (struct reach){"this host only", welcome->reason, false};
	if (d->loopback)
		return (struct reach){"this host", NULL, true};
	if (d->mtu < WIRE_MTU_BYTES_MIN + WIRE_MTU_PORT_OVERHEAD)
		return (struct reach){"this host only", "the interface's MTU is too small: 336 bytes are needed", false};
	if (!d->addressed)
		return (struct reach){"this host only", "the interface has no IP address", false};
	return (struct reach){"this host, other hosts", NULL, true};
}

/* May programs of this user send Ethernet frames? Those with capabilities of their own are not seen from here. */
static bool roce_v1_leaves(void)
{
	int fd;

	if (netdev_packet_open(&fd) != BASE_OK)
		return false;
	close(fd);
	return true;
}

static const char *gid_type_text(enum wire_gid_type type)
{
	return type == WIRE_GID_ROCE_V2 ? "RoCE v2" : type == WIRE_GID_ROCE_V1 ? "RoCE v1" : "IB";
}

static uint32_t path_mtu(const struct netdev_device *d)
{
	return wire_mtu_bytes(wire_mtu_active(d->mtu));
}

static json_t *device_json(const struct netdev_device *d, const struct ipc_welcome *welcome)
{
	struct reach reach = reach_of(d, welcome);
	json_t *gids = json_array();
	char text[WIRE_GID_TEXT], guid[20];

	for (unsigned i = 0; i < NETDEV_MAX_GIDS; i++)
		if (d->gids[i].valid)
			json_array_append_new(gids, json_pack("{s:i, s:s, s:s}", "index", (int)i, "gid",
							      wire_gid_to_address(text, &d->gids[i].gid), "type",
							      gid_type_text(d->gids[i].type)));
	snprintf(guid, sizeof(guid), "%016llx", (unsigned long long)d->node_guid);
	return json_pack("{s:s, s:s, s:i, s:s, s:i, s:i, s:s, s:b, s:s?, s:s, s:o}", "name", d->name, "netdev", d->ifname,
			 "ifindex", (int)d->ifindex, "state", d->up ? "ACTIVE" : "DOWN", "mtu", (int)path_mtu(d),
			 "netdev_mtu", (int)d->mtu, "reach", reach.text, "wire", reach.wire, "reason", reach.reason,
			 "node_guid", guid, "gids", gids);
}

static void print_devices(const struct netdev_table *table, const uint8_t *order, unsigned count,
			  const struct ipc_welcome *welcome)
{
	static const struct print_column device_columns[] = {
		{"DEVICE", PRINT_LEFT}, {"NETDEV", PRINT_LEFT}, {"STATE", PRINT_LEFT},
		{"MTU", PRINT_RIGHT},	{"REACH", PRINT_LEFT},	{NULL, PRINT_LEFT},
	};
	static const struct print_column gid_columns[] = {
		{"DEVICE", PRINT_LEFT}, {"INDEX", PRINT_RIGHT}, {"TYPE", PRINT_LEFT}, {"GID", PRINT_LEFT}, {NULL, PRINT_LEFT},
	};
	struct print_table *devices = print_table_create(device_columns), *gids = print_table_create(gid_columns);
	char text[WIRE_GID_TEXT];

	if (devices == NULL || gids == NULL) {
		cli_error("out of memory");
		goto destroy;
	}
	for (unsigned n = 0; n < count; n++) {
		const struct netdev_device *d = &table->devices[order[n]];
		struct reach reach = reach_of(d, welcome);

		print_table_row(devices);
		print_table_cell(devices, print_bold(), "%s", d->name);
		print_table_cell(devices, NULL, "%s", d->ifname);
		print_table_cell(devices, d->up ? print_green() : print_red(), "%s", d->up ? "ACTIVE" : "DOWN");
		print_table_cell(devices, NULL, "%u", path_mtu(d));
		print_table_cell(devices, reach.wire ? NULL : print_yellow(), "%s%s%s", reach.text,
				 reach.reason != NULL ? ": " : "", reach.reason != NULL ? reach.reason : "");
		for (unsigned i = 0; i < NETDEV_MAX_GIDS; i++) {
			if (!d->gids[i].valid)
				continue;
			print_table_row(gids);
			print_table_cell(gids, NULL, "%s", d->name);
			print_table_cell(gids, NULL, "%u", i);
			print_table_cell(gids, d->gids[i].type == WIRE_GID_ROCE_V2 ? NULL : print_dim(), "%s",
					 gid_type_text(d->gids[i].type));
			print_table_cell(gids, NULL, "%s", wire_gid_to_address(text, &d->gids[i].gid));
		}
	}
	print_table_out(devices);
	putchar('\n');
	print_table_out(gids);
	if (roce_v1_leaves())
		puts("\nRoCE v1 reaches other hosts of the interface's own network.");
	else
		puts("\nRoCE v1 reaches this host only: its frames need " NETDEV_PACKET_REMEDY ".");
destroy:
	print_table_destroy(devices);
	print_table_destroy(gids);
}

static bool print_json(const struct netdev_table *table, const uint8_t *order, unsigned count,
		       const struct ipc_welcome *welcome)
{
	json_t *devices = json_array();

	for (unsigned n = 0; n < count; n++)
		json_array_append_new(devices, device_json(&table->devices[order[n]], welcome));
	json_t *all = json_pack("{s:{s:i, s:s, s:b, s:s}, s:b, s:o}", "broker", "pid", (int)welcome->pid, "version",
				welcome->version, "wire", welcome->wire, "reason", welcome->reason, "roce_v1_wire", roce_v1_leaves(),
				"devices", devices);
	bool ok = all != NULL && json_dumpf(all, stdout, JSON_INDENT(2)) == 0 && putchar('\n') == '\n';

	json_decref(all);
	return ok;
}

static int show(bool json, const char *glob)
{
	struct observer *observer;
	struct netdev_table *table = NULL;
	struct config config;
	uint8_t order[NETDEV_MAX_DEVICES];
	unsigned count, kept = 0;
	int status = CLI_FAILED;

	if (observer_open(true, &observer) != BASE_OK)
		return CLI_FAILED;
	if (observer_devices(observer, &table) != BASE_OK)
		goto close_observer;
	config_load(&config);
	if (glob != NULL && config_set(&config, "softverbs devices", "device", glob) != BASE_OK)
		goto close_observer;
	count = netdev_table_order(table, order);
	for (unsigned n = 0; n < count; n++)
		if (config_device_matches(&config, table->devices[order[n]].name))
			order[kept++] = order[n];
	if (json) {
		status = print_json(table, order, kept, observer_welcome(observer)) ? CLI_OK : CLI_FAILED;
	} else if (kept > 0) {
		print_devices(table, order, kept, observer_welcome(observer));
		status = CLI_OK;
	} else if (count > 0) {
		status = cli_error("none of the %u devices matches '%s'", count, config.device);
	} else {
		status = cli_error("no network interface is up, not even lo. As root: ip link set lo up");
	}
close_observer:
	free(table);
	observer_close(observer);
	return status;
}

static int devices_run(int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
	bool json = false;
	int option;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'j')
			return cli_usage_error(&cli_devices, "unknown option '%s'", argv[optind - 1]);
		json = true;
	}
	if (argc - optind > 1)
		return cli_usage_error(&cli_devices, "one pattern at most");
	return show(json, optind < argc ? argv[optind] : NULL);
}

const struct cli_command cli_devices = {
	.name = "devices",
	.arguments = "[--json] [GLOB]",
	.summary = "the adapters that programs see, how far they reach, and their GIDs",
	.help = devices_help,
	.run = devices_run,
};
