/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Network interfaces as RDMA devices: names, node GUIDs and GID tables.
 *
 * netdev_table_update() is a function of its inputs: it brings a table in line with a scan of the interfaces, keeping what is
 * there at its index, as Linux does: the default GIDs first (v1, v2), then each address takes the lowest free pair of entries
 * (v1, v2), IPv4 before IPv6, and after them those of VLANs on top of the interface, whose entries name the VLAN's interface; an
 * address that goes leaves a hole that the next one fills. A VLAN is a device of its own, too. Devices keep their index: an
 * interface that goes down or away stays as a device whose port is down. A new table has the device of the default route first.
 *
 * Tables of another shape are for testing how programs choose from them: enum netdev_gid_profile.
 *
 * scan.h fills a scan from the kernel, monitor.h says when to do it again, shared.h publishes a table to other processes.
 * No locks: one owner at a time. The table is large (about 200 KiB): keep it off the stack.
 */
#ifndef NETDEV_NETDEV_H
#define NETDEV_NETDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/gid.h"

#define NETDEV_MAX_DEVICES 64
#define NETDEV_MAX_GIDS 128       /* the length of each port's GID table */
#define NETDEV_MAX_ADDRESSES (NETDEV_MAX_GIDS / 2 - 1)
#define NETDEV_NAME_MAX 64        /* device name with its NUL: IBV_SYSFS_NAME_MAX */
#define NETDEV_IFNAME_MAX 16      /* interface name with its NUL: IFNAMSIZ */

/* Which entries a table has. With one type only, an address takes one entry and not a pair. */
enum netdev_gid_profile {
	NETDEV_GIDS_ALL,  /* v1 before v2, as most adapters */
	NETDEV_GIDS_V2,   /* v2 alone, as Linux's rxe */
	NETDEV_GIDS_IPV6, /* v1 before v2, and no IPv4 address */
	NETDEV_GID_PROFILES
};

struct netdev_gid {
	struct wire_gid gid;     /* zeros when not valid */
	enum wire_gid_type type; /* WIRE_GID_ROCE_V1 or WIRE_GID_ROCE_V2 */
	uint32_t ifindex;
	bool valid;
};

struct netdev_device {
	char name[NETDEV_NAME_MAX];     /* "sv_eth0" */
	char ifname[NETDEV_IFNAME_MAX]; /* "eth0" */
	uint32_t ifindex;               /* 0: the interface is gone */
	uint32_t mtu;                   /* of the interface, bytes */
	uint32_t speed;                 /* Mb/s, 0: not known */
	uint8_t mac[6];                 /* for an interface without one (lo): a stable locally administered address of ours */
	bool up;                        /* administratively up and with carrier: the port is ACTIVE */
	bool admin_up;
	bool loopback;
	bool neighbours;                /* whom it sends to must have a link address (ARP, ND) */
	bool addressed;                 /* it has an IP address */
	bool default_route;
	uint64_t node_guid;             /* host order: EUI-64 of mac, as sysfs shows it */
	uint64_t generation;            /* table generation of the last change of this device */
	uint64_t gid_generation;        /* of the last change of its GIDs */
	struct netdev_gid gids[NETDEV_MAX_GIDS];
};

struct netdev_table {
	uint64_t generation; /* counts up with each change; 0 only for an empty table */
	uint32_t count;
	uint32_t profile;    /* enum netdev_gid_profile */
	struct netdev_device devices[NETDEV_MAX_DEVICES];
};

/* One interface as the kernel describes it. */
struct netdev_interface {
	char ifname[NETDEV_IFNAME_MAX];
	uint32_t ifindex, mtu, speed;
	uint32_t vlan_of;   /* the interface that this VLAN is on; 0: it is none */
	uint8_t mac[6];
	bool has_mac;       /* false for lo, tunnels and others whose link address is not 6 bytes or all zero */
	bool admin_up, carrier, loopback, neighbours, default_route;
	uint32_t address_count;
	struct wire_gid addresses[NETDEV_MAX_ADDRESSES]; /* IPv4 first (mapped), then IPv6, each in the kernel's order */
};

struct netdev_scan {
	uint32_t count;
	uint32_t left_out; /* interfaces that found no place here: more are up than NETDEV_MAX_DEVICES */
	uint64_t host_key; /* the same for one host across restarts: makes the addresses of interfaces without one */
	enum netdev_gid_profile profile; /* wanted; netdev_scan() leaves it alone */
	struct netdev_interface interfaces[NETDEV_MAX_DEVICES];
};

/*
 * Bit i of *changed (if not NULL) is set when device i changed or is new. Returns whether anything did; the generation then
 * counts up by one.
 */
bool netdev_table_update(struct netdev_table *table, const struct netdev_scan *scan, uint64_t *changed);

/* Indexes of the devices in the order to list them: the one on the default route first, else by index. Returns how many. */
unsigned netdev_table_order(const struct netdev_table *table, uint8_t order[NETDEV_MAX_DEVICES]);

/* NULL when there is none. */
const struct netdev_device *netdev_table_find(const struct netdev_table *table, const char *name);

/* The lowest index that holds gid with this type, its own before a VLAN's; BASE_ERR_NOENT when none does. */
int netdev_device_gid_index(const struct netdev_device *device, const struct wire_gid *gid, enum wire_gid_type type);

/* "sv_" + ifname with everything but letters, digits, '_', '.' and '-' as '_'. */
void netdev_name(char out[NETDEV_NAME_MAX], const char *ifname);

#endif
