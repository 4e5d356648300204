/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port: attributes, GID and P_Key tables. */
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "hca/limits.h"
#include "verbs/context.h"
#include "verbs/device.h"
#include "verbs/driver.h"
#include "verbs/ops.h"
#include "verbs/symbol.h"

#undef ibv_query_port

/* The entry of the extended GID query as every release so far has it. */
enum { GID_ENTRY_BYTES = sizeof(struct ibv_gid_entry) };

int verbs_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t attr_len)
{
	struct hca_port_attr port;

	if (port_num < 1 || port_num > HCA_PORTS)
		return EINVAL;
	struct hca_device *device = hca_context_device(verbs_context_of(context)->hca);

	if (hca_device_is_lost(device))
		return EIO;
	hca_device_query_port(device, &port);
	struct ibv_port_attr ours = {
		.state = (enum ibv_port_state)port.state,
		.max_mtu = (enum ibv_mtu)port.max_mtu,
		.active_mtu = (enum ibv_mtu)port.active_mtu,
		.gid_tbl_len = NETDEV_MAX_GIDS,
		.port_cap_flags = port.port_cap_flags,
		.max_msg_sz = port.max_msg_sz,
		.bad_pkey_cntr = port.bad_pkey_cntr,
		.qkey_viol_cntr = port.qkey_viol_cntr,
		.pkey_tbl_len = port.pkey_tbl_len,
		.max_vl_num = port.max_vl_num,
		.active_width = port.active_width,
		.active_speed = port.active_speed,
		.phys_state = port.phys_state,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
	memset(attr, 0, attr_len);
	memcpy(attr, &ours, attr_len < sizeof(ours) ? attr_len : sizeof(ours));
	return 0;
}

/* Callers of the exported name have the struct of 48 bytes, up to `flags`. */
int verbs_query_port_old(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
	return verbs_query_port(context, port_num, (struct ibv_port_attr *)(void *)attr,
				offsetof(struct ibv_port_attr, flags) + sizeof(((struct ibv_port_attr *)0)->flags));
}

VERBS_PUBLIC int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *port_attr)
{
	return verbs_query_port_old(context, port_num, port_attr);
}

/* BASE_ERR_INVAL: no such port or index; BASE_ERR_IO: the interface is gone. An empty entry is 0, with out->valid false. */
static int read_gid(struct ibv_context *context, uint32_t port, uint32_t index, struct netdev_gid *out)
{
	struct verbs_context_object *self = verbs_context_of(context);

	if (port < 1 || port > HCA_PORTS || index >= NETDEV_MAX_GIDS)
		return BASE_ERR_INVAL;
	if (hca_device_is_lost(hca_context_device(self->hca)))
		return BASE_ERR_IO;
	if (process_netdev_gid(self->engine->process, self->device->index, index, out) != 0)
		memset(out, 0, sizeof(*out));
	return 0;
}

/* -1 and errno. */
static int gid_minus_one(int err)
{
	errno = base_err_to_errno(err);
	return -1;
}

VERBS_PUBLIC int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	struct netdev_gid ours;
	int err = index < 0 ? BASE_ERR_INVAL : read_gid(context, port_num, (uint32_t)index, &ours);

	if (err != 0)
		return gid_minus_one(err);
	memset(gid, 0, sizeof(*gid));
	if (ours.valid)
		memcpy(gid->raw, ours.gid.raw, sizeof(gid->raw));
	return 0;
}

VERBS_PUBLIC int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, enum
		verbs_gid_type_sysfs *type)
{
	struct netdev_gid ours;
	int err = read_gid(context, port_num, index, &ours);

	if (err != 0)
		return gid_minus_one(err);
	*type = ours.valid && ours.type == WIRE_GID_ROCE_V2 ? VERBS_GID_SYSFS_ROCE_V2 : VERBS_GID_SYSFS_IB_ROCE_V1;
	return 0;
}

static void fill_entry(struct ibv_gid_entry *out, const struct netdev_gid *gid, uint32_t port, uint32_t index, size_t entry_size)
{
	struct ibv_gid_entry ours = {
		.gid_index = index, .port_num = port, .gid_type = gid->type, .ndev_ifindex = gid->ifindex,
	};

	memcpy(ours.gid.raw, gid->gid.raw, sizeof(ours.gid.raw));
	memset(out, 0, entry_size);
	memcpy(out, &ours, entry_size < GID_ENTRY_BYTES ? entry_size : GID_ENTRY_BYTES);
}

VERBS_PUBLIC int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index, struct ibv_gid_entry
		*entry,
				   uint32_t flags, size_t entry_size)
{
	struct netdev_gid ours;
	int err;

	if (flags != 0)
		return EOPNOTSUPP;
	err = entry_size < GID_ENTRY_BYTES ? BASE_ERR_INVAL : read_gid(context, port_num, gid_index, &ours);
	if (err != 0)
		return base_err_to_errno(err);
	if (!ours.valid)
		return ENODATA;
	fill_entry(entry, &ours, port_num, gid_index, entry_size);
	return 0;
}

VERBS_PUBLIC ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
		uint32_t flags,
					  size_t entry_size)
{
	size_t count = 0;

	if (flags != 0)
		return -EOPNOTSUPP;
	if (max_entries == 0 || entry_size < GID_ENTRY_BYTES)
		return -EINVAL;
	for (uint32_t index = 0; index < NETDEV_MAX_GIDS; index++) {
		struct netdev_gid ours;

		if (read_gid(context, 1, index, &ours) != 0 || !ours.valid)
			continue;
		if (count == max_entries)
			return -EINVAL;
		fill_entry((struct ibv_gid_entry *)(void *)((char *)entries + count * entry_size), &ours, 1, index, entry_size);
		count++;
	}
	return (ssize_t)count;
}

VERBS_PUBLIC int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	if (port_num < 1 || port_num > HCA_PORTS || index != 0)
		return verbs_minus_one(BASE_ERR_INVAL);
	*pkey = htobe16(HCA_PKEY);
	return 0;
}

VERBS_PUBLIC int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	if (port_num < 1 || port_num > HCA_PORTS || pkey != htobe16(HCA_PKEY))
		return verbs_minus_one(BASE_ERR_INVAL);
	return 0;
}
