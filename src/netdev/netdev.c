/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "netdev/netdev.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/random.h"

_Static_assert(NETDEV_MAX_DEVICES <= 64, "a bit per device in *changed");

#define NETDEV_MAX_VLAN_DEPTH 4u

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

/* How many entries an address takes, and of which types they are. */
struct gid_layout {
	unsigned width;
	enum wire_gid_type types[2];
};

static struct gid_layout gid_layout_of(enum netdev_gid_profile profile)
{
	if (profile == NETDEV_GIDS_V2)
		return (struct gid_layout){ 1, { WIRE_GID_ROCE_V2 } };
	return (struct gid_layout){ 2, { WIRE_GID_ROCE_V1, WIRE_GID_ROCE_V2 } };
}

static void gid_set(struct netdev_device *device, const struct gid_layout *layout, unsigned at, const struct netdev_gid *gid)
{
	for (unsigned i = 0; i < layout->width; i++)
		device->gids[at + i] = (struct netdev_gid){ gid->gid, layout->types[i], gid->ifindex, true };
}

static bool gid_same(const struct netdev_gid *a, const struct netdev_gid *b)
{
	return a->ifindex == b->ifindex && wire_gid_equal(&a->gid, &b->gid);
}

/* The addresses that a device is to have: only gid and ifindex of each are set. */
struct gid_list {
	uint32_t count;
	struct netdev_gid gids[NETDEV_MAX_ADDRESSES];
};

static void list_add(struct gid_list *list, const struct netdev_interface *interface, enum netdev_gid_profile profile,
		     const struct netdev_gid *first)
{
	for (uint32_t i = 0; i < interface->address_count && list->count < NETDEV_MAX_ADDRESSES; i++) {
		const struct netdev_gid gid = { .gid = interface->addresses[i], .ifindex = interface->ifindex };
		bool repeated = gid_same(&gid, first);

		for (uint32_t j = 0; j < list->count && !repeated; j++)
			repeated = gid_same(&gid, &list->gids[j]);
		if (!repeated && (profile != NETDEV_GIDS_IPV6 || !wire_gid_is_ipv4_mapped(&gid.gid)))
			list->gids[list->count++] = gid;
	}
}

/* The interface itself or, of a VLAN (of a VLAN ...), the one that is none; NULL: not here. */
static const struct netdev_interface *scan_real(const struct netdev_scan *scan, const struct netdev_interface *interface)
{
	for (unsigned depth = 0; interface != NULL && interface->vlan_of != 0 && depth < NETDEV_MAX_VLAN_DEPTH; depth++) {
		const struct netdev_interface *below = NULL;

		for (uint32_t i = 0; i < scan->count && below == NULL; i++)
			if (scan->interfaces[i].ifindex == interface->vlan_of)
				below = &scan->interfaces[i];
		interface = below;
	}
	return interface;
}

static void list_make(struct gid_list *list, const struct netdev_scan *scan, const struct netdev_interface *interface,
		      const struct netdev_gid *first)
{
	list->count = 0;
	list_add(list, interface, scan->profile, first);
	for (uint32_t i = 0; i < scan->count; i++)
		if (scan->interfaces[i].vlan_of != 0 && &scan->interfaces[i] != interface &&
		    scan_real(scan, &scan->interfaces[i]) == interface)
			list_add(list, &scan->interfaces[i], scan->profile, first);
}

static bool netdev_gids_update(struct netdev_device *device, const struct netdev_scan *scan,
			       const struct netdev_interface *interface)
{
	const struct gid_layout layout = gid_layout_of(scan->profile);
	const struct netdev_gid first = { .gid = wire_gid_from_mac(device->mac), .ifindex = device->ifindex };
	bool changed = false, kept[NETDEV_MAX_ADDRESSES] = { false };
	struct gid_list list;

	list_make(&list, scan, interface, &first);
	if (!device->gids[0].valid || !gid_same(&device->gids[0], &first)) {
		gid_set(device, &layout, 0, &first);
		changed = true;
	}
	for (unsigned at = layout.width; at + layout.width <= NETDEV_MAX_GIDS; at += layout.width) {
		bool found = false;

		if (!device->gids[at].valid)
			continue;
		for (uint32_t i = 0; i < list.count && !found; i++) {
			found = !kept[i] && gid_same(&device->gids[at], &list.gids[i]);
			kept[i] = kept[i] || found;
		}
		if (!found) {
			memset(&device->gids[at], 0, layout.width * sizeof(device->gids[0]));
			changed = true;
		}
	}
	unsigned at = layout.width;
	for (uint32_t i = 0; i < list.count; i++) {
		if (kept[i])
			continue;
		while (at + layout.width <= NETDEV_MAX_GIDS && device->gids[at].valid)
			at += layout.width;
		if (at + layout.width > NETDEV_MAX_GIDS)
			break;
		gid_set(device, &layout, at, &list.gids[i]);
		changed = true;
	}
	return changed;
}

static bool netdev_device_update(struct netdev_device *device, const struct netdev_scan *scan,
				 const struct netdev_interface *interface, bool *gids)
{
	const struct netdev_device before = { .ifindex = device->ifindex, .mtu = device->mtu, .speed = device->speed, .up = device->up,
		.admin_up = device->admin_up, .default_route = device->default_route, .loopback = device->loopback,
		.neighbours = device->neighbours, .addressed = device->addressed };
	bool changed = false;
	uint8_t mac[6], guid[8];

	memcpy(mac, interface->mac, sizeof(mac));
	if (!interface->has_mac)
		netdev_mac_made(mac, interface->ifname, scan->host_key);
	if (memcmp(mac, device->mac, sizeof(mac)) != 0)
		changed = true;
	memcpy(device->mac, mac, sizeof(mac));
	wire_gid_eui64(guid, mac);
	device->node_guid = wire_be64_load(guid);
	device->ifindex = interface->ifindex;
	device->mtu = interface->mtu;
	device->speed = interface->speed;
	device->up = interface->admin_up && interface->carrier;
	device->admin_up = interface->admin_up;
	device->loopback = interface->loopback;
	device->neighbours = interface->neighbours;
	device->default_route = interface->default_route;
	device->addressed = interface->address_count > 0;
	changed = changed || before.ifindex != device->ifindex || before.mtu != device->mtu || before.speed != device->speed ||
		before.up != device->up || before.admin_up != device->admin_up || before.default_route != device->default_route ||
		before.loopback != device->loopback || before.neighbours != device->neighbours ||
		before.addressed != device->addressed;
	*gids = netdev_gids_update(device, scan, interface);
	return *gids || changed;
}

static bool netdev_device_lost(struct netdev_device *device, bool *gids)
{
	bool changed = device->up || device->admin_up || device->ifindex != 0 || device->default_route;

	device->up = device->admin_up = device->default_route = false;
	device->ifindex = 0;
	*gids = false;
	for (unsigned at = 0; at < NETDEV_MAX_GIDS; at++) {
		*gids = *gids || device->gids[at].valid;
		device->gids[at] = (struct netdev_gid){ 0 };
	}
	return *gids || changed;
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

/* A table of another shape starts anew. */
static uint64_t table_reshape(struct netdev_table *table, enum netdev_gid_profile profile)
{
	if (table->profile == (uint32_t)profile)
		return 0;
	table->profile = (uint32_t)profile;
	for (uint32_t i = 0; i < table->count; i++)
		memset(table->devices[i].gids, 0, sizeof(table->devices[i].gids));
	return table->count == 64 ? ~0ull : (1ull << table->count) - 1;
}

bool netdev_table_update(struct netdev_table *table, const struct netdev_scan *scan, uint64_t *changed)
{
	uint64_t gids = table_reshape(table, scan->profile), bits = gids;
	bool gids_too;

	for (uint32_t i = 0; i < table->count; i++) {
		const struct netdev_interface *interface = scan_find(scan, table->devices[i].ifname);

		if (interface == NULL ? netdev_device_lost(&table->devices[i], &gids_too) :
			netdev_device_update(&table->devices[i], scan, interface, &gids_too))
			bits |= 1ull << i;
		gids |= (uint64_t)gids_too << i;
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
			netdev_device_update(device, scan, interface, &gids_too);
			gids |= 1ull << table->count;
			bits |= 1ull << table->count++;
		}
	}
	if (bits != 0) {
		table->generation++;
		for (uint32_t i = 0; i < table->count; i++) {
			if (bits & 1ull << i)
				table->devices[i].generation = table->generation;
			if (gids & 1ull << i)
				table->devices[i].gid_generation = table->generation;
		}
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
	int other = BASE_ERR_NOENT;

	for (int i = 0; i < NETDEV_MAX_GIDS; i++) {
		if (!device->gids[i].valid || device->gids[i].type != type || !wire_gid_equal(&device->gids[i].gid, gid))
			continue;
		if (device->gids[i].ifindex == device->ifindex)
			return i;
		if (other < 0)
			other = i;
	}
	return other;
}
