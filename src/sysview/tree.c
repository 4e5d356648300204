/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sysview/tree.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "sysview/counter.h"
#include "wire/speed.h"

#define CLASS_PATH "sys/class/infiniband"
#define VERBS_PATH "sys/class/infiniband_verbs"
#define NODES_PATH "dev/infiniband"
/* Opening one and asking it for anything fails: verbs go through the library, and nothing else can serve them. But those who look
 * whether there is a character device that they may read and write find one. */
#define NODE_TARGET "/dev/full"

enum {
	PATH_BYTES = 256,
	CPUS_MAX = 4096,
	DEVICES_TEXT = NETDEV_MAX_DEVICES * 256,
	VERBS_MAJOR = 231, /* as udev and programs know them */
	VERBS_MINOR = 192,
};

/* What is told, and the first error: later steps then do nothing. */
struct teller {
	const struct sysview_tree *tree;
	const struct sysview_sink *sink;
	int err;
};

static void directory(struct teller *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void file(struct teller *t, const char *where, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* False: nothing more is to be told. */
static bool path_make(struct teller *t, char out[PATH_BYTES], const char *format, va_list args)
{
	if (t->err == 0 && vsnprintf(out, PATH_BYTES, format, args) >= PATH_BYTES)
		t->err = BASE_ERR_RANGE;
	return t->err == 0;
}

static void directory(struct teller *t, const char *format, ...)
{
	char path[PATH_BYTES];
	va_list args;

	va_start(args, format);
	if (path_make(t, path, format, args))
		t->err = t->sink->directory(t->sink->context, path);
	va_end(args);
}

static void file(struct teller *t, const char *where, const char *name, const char *format, ...)
{
	char path[PATH_BYTES], text[2 * CPUS_MAX / 4 + 2];
	va_list args;

	if (t->err == 0 && snprintf(path, sizeof(path), "%s/%s", where, name) >= (int)sizeof(path))
		t->err = BASE_ERR_RANGE;
	if (t->err != 0)
		return;
	va_start(args, format);
	int len = vsnprintf(text, sizeof(text) - 1, format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text) - 1) {
		t->err = BASE_ERR_RANGE;
		return;
	}
	text[len] = '\n';
	text[len + 1] = '\0';
	t->err = t->sink->file(t->sink->context, path, text);
}

static void link_to(struct teller *t, const char *target, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void link_to(struct teller *t, const char *target, const char *format, ...)
{
	char path[PATH_BYTES];
	va_list args;

	va_start(args, format);
	if (path_make(t, path, format, args))
		t->err = t->sink->link(t->sink->context, path, target);
	va_end(args);
}

static const char *ndev_name(const struct sysview_tree *tree, const struct netdev_device *device, const struct netdev_gid *gid)
{
	if (gid->ifindex == device->ifindex)
		return device->ifname;
	for (uint32_t i = 0; i < tree->table->count; i++)
		if (tree->table->devices[i].ifindex == gid->ifindex)
			return tree->table->devices[i].ifname;
	return device->ifname;
}

static void tell_gids(struct teller *t, const char *port, const struct netdev_device *device)
{
	char name[32], text[SYSVIEW_TEXT];

	directory(t, "%s/gids", port);
	directory(t, "%s/gid_attrs", port);
	directory(t, "%s/gid_attrs/ndevs", port);
	directory(t, "%s/gid_attrs/types", port);
	for (unsigned i = 0; i < NETDEV_MAX_GIDS && t->err == 0; i++) {
		const struct netdev_gid *gid = &device->gids[i];

		snprintf(name, sizeof(name), "gids/%u", i);
		sysview_gid_text(&gid->gid, text);
		file(t, port, name, "%s", text);
		if (!gid->valid) /* Linux answers EINVAL when one reads the other two */
			continue;
		snprintf(name, sizeof(name), "gid_attrs/ndevs/%u", i);
		file(t, port, name, "%s", ndev_name(t->tree, device, gid));
		snprintf(name, sizeof(name), "gid_attrs/types/%u", i);
		file(t, port, name, "%s", sysview_gid_type_text(gid->type));
	}
}

static void tell_counters(struct teller *t, const char *port, bool hw)
{
	const struct sysview_counter *counter;
	const char *where = hw ? "hw_counters" : "counters";
	char name[64];

	directory(t, "%s/%s", port, where);
	for (unsigned i = 0; (counter = sysview_counter_at(hw, i)) != NULL; i++) {
		snprintf(name, sizeof(name), "%s/%s", where, counter->file);
		file(t, port, name, "0");
	}
}

static void tell_port(struct teller *t, const char *port, const struct netdev_device *device)
{
	char speed[WIRE_SPEED_TEXT];

	wire_speed_text(wire_speed_of_ethernet(device->speed), speed);
	directory(t, "%s", port);
	file(t, port, "state", "%s", sysview_port_state_text(device->up));
	file(t, port, "phys_state", "%s", sysview_port_phys_text(device->up));
	file(t, port, "rate", "%s", speed);
	file(t, port, "link_layer", "Ethernet");
	file(t, port, "lid", "0x0");
	file(t, port, "lid_mask_count", "0");
	file(t, port, "sm_lid", "0x0");
	file(t, port, "sm_sl", "0");
	file(t, port, "cap_mask", "0x00010000");
	directory(t, "%s/pkeys", port);
	file(t, port, "pkeys/0", "0xffff");
	tell_gids(t, port, device);
	tell_counters(t, port, false);
	tell_counters(t, port, true);
}

/* "3f" and "0-5" of 6 processors. */
static void tell_cpus(struct teller *t, const char *base)
{
	unsigned cpus = t->tree->cpus < 1 ? 1 : t->tree->cpus > CPUS_MAX ? CPUS_MAX : t->tree->cpus;
	char mask[2 * CPUS_MAX / 4 + 2];
	size_t at = 0;

	for (unsigned words = (cpus + 31) / 32, word = words; word-- > 0;) {
		unsigned bits = word == words - 1 && cpus % 32 != 0 ? cpus % 32 : 32;

		at += (size_t)snprintf(mask + at, sizeof(mask) - at, word == words - 1 ? "%x" : ",%08x",
				       (unsigned)(bits == 32 ? UINT32_MAX : (1u << bits) - 1));
	}
	file(t, base, "device/local_cpus", "%s", mask);
	if (cpus > 1)
		file(t, base, "device/local_cpulist", "0-%u", cpus - 1);
	else
		file(t, base, "device/local_cpulist", "0");
	file(t, base, "device/numa_node", "-1");
}

/* What a program finds at the device's "device" link: for an adapter on a bus its place there. */
static void tell_parent(struct teller *t, const char *base, const struct netdev_device *device, unsigned index)
{
	char target[64];

	directory(t, "%s/device", base);
	directory(t, "%s/device/net", base);
	snprintf(target, sizeof(target), "/sys/class/net/%s", device->ifname);
	link_to(t, target, "%s/device/net/%s", base, device->ifname);
	directory(t, "%s/device/infiniband", base);
	link_to(t, "../..", "%s/device/infiniband/%s", base, device->name);
	directory(t, "%s/device/infiniband_verbs", base);
	snprintf(target, sizeof(target), "../../../../infiniband_verbs/uverbs%u", index);
	link_to(t, target, "%s/device/infiniband_verbs/uverbs%u", base, index);
	tell_cpus(t, base);
}

static void tell_device(struct teller *t, const struct netdev_device *device, unsigned index)
{
	const struct sysview_identity identity = {.node_guid = device->node_guid, .sys_image_guid = device->node_guid,
						  .firmware = t->tree->firmware, .node_desc = t->tree->node_desc};
	char base[PATH_BYTES], port[PATH_BYTES], text[SYSVIEW_TEXT];
	const char *name;

	snprintf(base, sizeof(base), CLASS_PATH "/%s", device->name);
	directory(t, "%s", base);
	for (unsigned i = 0; (name = sysview_device_file(i)) != NULL && t->err == 0; i++) {
		int len = sysview_device_text(&identity, name, text, sizeof(text));
		if (len < 0)
			t->err = len;
		else
			file(t, base, name, "%s", text);
	}
	file(t, base, "uevent", "NAME=%s", device->name);
	link_to(t, "..", "%s/subsystem", base);
	tell_parent(t, base, device, index);
	directory(t, "%s/ports", base);
	snprintf(port, sizeof(port), CLASS_PATH "/%s/ports/1", device->name);
	tell_port(t, port, device);
}

static void tell_verbs(struct teller *t, const struct netdev_device *device, unsigned index)
{
	char base[64], target[PATH_BYTES];

	snprintf(base, sizeof(base), VERBS_PATH "/uverbs%u", index);
	directory(t, "%s", base);
	file(t, base, "ibdev", "%s", device->name);
	file(t, base, "abi_version", "1");
	file(t, base, "dev", "%u:%u", VERBS_MAJOR, VERBS_MINOR + index);
	file(t, base, "uevent", "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/uverbs%u", VERBS_MAJOR, VERBS_MINOR + index, index);
	snprintf(target, sizeof(target), "../../infiniband/%s/device", device->name);
	link_to(t, target, "%s/device", base);
	link_to(t, "..", "%s/subsystem", base);
	link_to(t, NODE_TARGET, NODES_PATH "/uverbs%u", index);
}

static void tell_list(struct teller *t)
{
	char text[DEVICES_TEXT] = "";
	size_t at = 0;

	for (unsigned n = 0; n < t->tree->count && at < sizeof(text); n++) {
		const struct netdev_device *d = &t->tree->table->devices[t->tree->order[n]];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%u %s %016llx %u %u %u %s\n", t->tree->order[n], d->name,
				       (unsigned long long)d->node_guid, sysview_port_state(d->up), sysview_port_phys(d->up),
				       d->ifindex, d->ifname);
	}
	if (at >= sizeof(text))
		t->err = BASE_ERR_RANGE;
	if (t->err == 0)
		t->err = t->sink->file(t->sink->context, "devices", text);
}

int sysview_tree_tell(const struct sysview_tree *tree, const struct sysview_sink *sink)
{
	static const char *const tops[] = {"sys", "sys/class", CLASS_PATH, VERBS_PATH, "dev", NODES_PATH};
	struct teller t = {.tree = tree, .sink = sink};

	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++)
		directory(&t, "%s", tops[i]);
	file(&t, VERBS_PATH, "abi_version", "6");
	link_to(&t, NODE_TARGET, NODES_PATH "/rdma_cm");
	for (unsigned n = 0; n < tree->count && t.err == 0; n++) {
		const struct netdev_device *device = &tree->table->devices[tree->order[n]];

		tell_device(&t, device, tree->order[n]);
		tell_verbs(&t, device, tree->order[n]);
	}
	tell_list(&t);
	return t.err;
}
