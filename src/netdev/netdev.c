/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "netdev/netdev.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/random.h"

_Static_assert(NETDEV_MAX_DEVICES <= 64, "a bit per device in *changed");

#define NETDEV_GID_RESERVED 2u /* the default GID as v1 and v2 */

void netdev_name(char out[NETDEV_NAME_MAX], const char *ifname)
{
	int len = snprintf(out, NETDEV_NAME_MAX, "sv_%.60s", ifname);

	for (int i = 0; i < len; i++)
		if (!isalnum((unsigned char)out[i]) && strchr("_.-", out[i]) == NULL)
			out[i] = '_';
}

/* Names with other characters may become the same: the later one gets its interface index. */
static void name_unique(const struct netdev_table *table, char out[NETDEV_NAME_MAX], const struct netdev_interface *interface)
{
	netdev_name(out, interface->ifname);
	if (netdev_table_find(table, out) != NULL)
		snprintf(out + strlen(out), NETDEV_NAME_MAX - strlen(out), "_%u", interface->ifindex);
}

/* Locally administered, unicast, the same for this interface name on this host for ever. */
static void netdev_mac_made(uint8_t mac[6], const char *ifname, uint64_t host_key)
{
	struct base_random mix = { host_key };

	for (; *ifname != '\0'; ifname++)
		mix.state = base_random_next(&mix) ^ (uint8_t)*ifname;
	uint64_t bits = base_random_next(&mix);
	mac[0] = 0x02;
	for (unsigned i = 1; i < 6; i++)
		mac[i] = (uint8_t)(bits >> (8 * i));
}

static void gid_pair_set(struct netdev_device *device, unsigned at, const struct wire_gid *gid)
{
	device->gids[at] = (struct netdev_gid){ *gid, WIRE_GID_ROCE_V1, device->ifindex, true };
	device->gids[at + 1] = (struct netdev_gid){ *gid, WIRE_GID_ROCE_V2, device->ifindex, true };
}

static bool netdev_gids_update(struct netdev_device *device, const struct netdev_interface *interface)
{
	struct wire_gid first = wire_gid_from_mac(device->mac);
	bool changed = false, kept[NETDEV_MAX_ADDRESSES] = { false };

	if (!device->gids[0].valid || !wire_gid_equal(&device->gids[0].gid, &first) || device->gids[0].ifindex != device->ifindex) {
		gid_pair_set(device, 0, &first);
		changed = true;
	}
	for (unsigned at = NETDEV_GID_RESERVED; at < NETDEV_MAX_GIDS; at += 2) {
		bool found = false;

		if (!device->gids[at].valid)
			continue;
		for (uint32_t i = 0; i < interface->address_count && !found; i++) {
			found = !kept[i] && wire_gid_equal(&device->gids[at].gid, &interface->addresses[i]) &&
				!wire_gid_equal(&interface->addresses[i], &first) && device->gids[at].ifindex == device->ifindex;
			kept[i] = kept[i] || found;
		}
		if (!found) {
			memset(&device->gids[at], 0, 2 * sizeof(device->gids[0]));
			changed = true;
		}
	}
	unsigned at = NETDEV_GID_RESERVED;
	for (uint32_t i = 0; i < interface->address_count; i++) {
		bool repeated = wire_gid_equal(&interface->addresses[i], &first);

		for (uint32_t j = 0; j < i && !repeated; j++)
			repeated = wire_gid_equal(&interface->addresses[i], &interface->addresses[j]);
		if (kept[i] || repeated)
			continue;
		while (at < NETDEV_MAX_GIDS && device->gids[at].valid)
			at += 2;
		if (at >= NETDEV_MAX_GIDS)
			break;
		gid_pair_set(device, at, &interface->addresses[i]);
		changed = true;
	}
	return changed;
}

static bool netdev_device_update(struct netdev_device *device, const struct netdev_interface *interface, uint64_t host_key)
{
	struct netdev_device before = { .ifindex = device->ifindex, .mtu = device->mtu, .up = device->up,
		.default_route = device->default_route, .loopback = device->loopback };
	bool changed = false;
	uint8_t mac[6], guid[8];

	memcpy(mac, interface->mac, sizeof(mac));
	if (!interface->has_mac)
		netdev_mac_made(mac, interface->ifname, host_key);
	if (memcmp(mac, device->mac, sizeof(mac)) != 0)
		changed = true;
	memcpy(device->mac, mac, sizeof(mac));
	wire_gid_eui64(guid, mac);
	device->node_guid = wire_be64_load(guid);
	device->ifindex = interface->ifindex;
	device->mtu = interface->mtu;
	device->up = interface->admin_up && interface->carrier;
	device->loopback = interface->loopback;
	device->default_route = interface->default_route;
	changed = changed || before.ifindex != device->ifindex || before.mtu != device->mtu || before.up != device->up ||
		before.default_route != device->default_route || before.loopback != device->loopback;
	return netdev_gids_update(device, interface) || changed;
}

static bool netdev_device_lost(struct netdev_device *device)
{
	bool changed = device->up || device->ifindex != 0 || device->default_route;

	device->up = device->default_route = false;
	device->ifindex = 0;
	for (unsigned at = NETDEV_GID_RESERVED; at < NETDEV_MAX_GIDS; at++) {
		changed = changed || device->gids[at].valid;
		device->gids[at] = (struct netdev_gid){ 0 };
	}
	return changed;
}

static const struct netdev_interface *scan_find(const struct netdev_scan *scan, const char *ifname)
{
	for (uint32_t i = 0; i < scan->count; i++)
		if (strcmp(scan->interfaces[i].ifname, ifname) == 0)
			return &scan->interfaces[i];
	return NULL;
}

static bool table_has(const struct netdev_table *table, const char *ifname)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (strcmp(table->devices[i].ifname, ifname) == 0)
			return true;
	return false;
}

bool netdev_table_update(struct netdev_table *table, const struct netdev_scan *scan, uint64_t *changed)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < table->count; i++) {
		const struct netdev_interface *interface = scan_find(scan, table->devices[i].ifname);

		if (interface == NULL ? netdev_device_lost(&table->devices[i]) :
			netdev_device_update(&table->devices[i], interface, scan->host_key))
			bits |= 1ull << i;
	}
	/* New ones: the default route's first, so that a fresh table lists it first. */
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < scan->count && table->count < NETDEV_MAX_DEVICES; i++) {
			const struct netdev_interface *interface = &scan->interfaces[i];
			struct netdev_device *device = &table->devices[table->count];

			if (!interface->admin_up || interface->default_route != (pass == 0) || table_has(table, interface->ifname))
				continue;
			memset(device, 0, sizeof(*device));
			name_unique(table, device->name, interface);
			memcpy(device->ifname, interface->ifname, sizeof(device->ifname));
			netdev_device_update(device, interface, scan->host_key);
			bits |= 1ull << table->count++;
		}
	}
	if (bits != 0) {
		table->generation++;
		for (uint32_t i = 0; i < table->count; i++)
			if (bits & 1ull << i)
				table->devices[i].generation = table->generation;
	}
	if (changed != NULL)
		*changed = bits;
	return bits != 0;
}

unsigned netdev_table_order(const struct netdev_table *table, uint8_t order[NETDEV_MAX_DEVICES])
{
	unsigned n = 0;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < table->count && i < NETDEV_MAX_DEVICES; i++)
			if (table->devices[i].default_route == (pass == 0))
				order[n++] = (uint8_t)i;
	return n;
}

const struct netdev_device *netdev_table_find(const struct netdev_table *table, const char *name)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (strcmp(table->devices[i].name, name) == 0)
			return &table->devices[i];
	return NULL;
}

int netdev_device_gid_index(const struct netdev_device *device, const struct wire_gid *gid, enum wire_gid_type type)
{
	for (int i = 0; i < NETDEV_MAX_GIDS; i++)
		if (device->gids[i].valid && device->gids[i].type == type && wire_gid_equal(&device->gids[i].gid, gid))
			return i;
	return BASE_ERR_NOENT;
}
