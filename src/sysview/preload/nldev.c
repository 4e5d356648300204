/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sysview/preload/nldev.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

enum { NODE_TYPE_CA = 1, PORT = 1, PORT_CAP_CM = 1 << 16 };

struct device {
	unsigned index, state, phys, ifindex;
	char name[64], ifname[16], firmware[64];
	uint64_t guid;
};

/* One message under construction; what does not fit is left out, and nothing here is that long. */
struct message {
	_Alignas(struct nlmsghdr) uint8_t raw[NLDEV_MESSAGE_MAX];
	size_t len;
};

/* One request, and where its answers go. */
struct asked {
	const char *tree;
	const struct nlmsghdr *request;
	uint32_t port_id;
	nldev_send *send;
	void *context;
};

static void begin(struct message *m, const struct asked *a, unsigned type, unsigned flags)
{
	struct nlmsghdr *header = (struct nlmsghdr *)(void *)m->raw;

	memset(m, 0, sizeof(*m));
	*header = (struct nlmsghdr){.nlmsg_type = (uint16_t)type, .nlmsg_flags = (uint16_t)flags,
				    .nlmsg_seq = a->request->nlmsg_seq, .nlmsg_pid = a->port_id};
	m->len = NLMSG_HDRLEN;
}

static void put(struct message *m, const void *bytes, size_t len)
{
	if (m->len + NLMSG_ALIGN(len) > sizeof(m->raw))
		return;
	memcpy(m->raw + m->len, bytes, len);
	m->len += NLMSG_ALIGN(len);
}

static void attribute(struct message *m, unsigned type, const void *bytes, size_t len)
{
	struct nlattr header = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = (uint16_t)type};

	if (m->len + NLA_HDRLEN + NLA_ALIGN(len) > sizeof(m->raw))
		return;
	put(m, &header, sizeof(header));
	put(m, bytes, len);
}

static void attribute_u8(struct message *m, unsigned type, unsigned value)
{
	attribute(m, type, &(uint8_t){(uint8_t)value}, 1);
}

static void attribute_u32(struct message *m, unsigned type, uint32_t value)
{
	attribute(m, type, &value, sizeof(value));
}

static void attribute_u64(struct message *m, unsigned type, uint64_t value)
{
	attribute(m, type, &value, sizeof(value));
}

static void attribute_text(struct message *m, unsigned type, const char *text)
{
	attribute(m, type, text, strlen(text) + 1);
}

static void send_message(const struct asked *a, struct message *m)
{
	((struct nlmsghdr *)(void *)m->raw)->nlmsg_len = (uint32_t)m->len;
	a->send(a->context, m->raw, m->len);
}

/* Error 0 is the acknowledgement. */
static void send_error(const struct asked *a, int error)
{
	struct message m;
	const struct nlmsgerr body = {.error = -error, .msg = *a->request};

	begin(&m, a, NLMSG_ERROR, 0);
	put(&m, &body, sizeof(body));
	send_message(a, &m);
}

static void send_done(const struct asked *a)
{
	struct message m;

	begin(&m, a, NLMSG_DONE, NLM_F_MULTI);
	put(&m, &(int){0}, sizeof(int));
	send_message(a, &m);
}

/* --- the tree ------------------------------------------------------------------ */

static void firmware_read(const char *tree, struct device *device)
{
	char path[PATH_MAX];
	FILE *f = NULL;

	device->firmware[0] = '\0';
	if ((size_t)snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/fw_ver", tree, device->name) < sizeof(path))
		f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fgets(device->firmware, sizeof(device->firmware), f) != NULL)
		device->firmware[strcspn(device->firmware, "\n")] = '\0';
	fclose(f);
}

static bool device_next(FILE *f, const char *tree, struct device *out)
{
	if (f == NULL || fscanf(f, "%u %63s %" SCNx64 " %u %u %u %15s", &out->index, out->name, &out->guid, &out->state, &out->phys,
				&out->ifindex, out->ifname) != 7)
		return false;
	firmware_read(tree, out);
	return true;
}

static FILE *devices_open(const char *tree)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/devices", tree) < sizeof(path) ? fopen(path, "re") : NULL;
}

/* --- answers ------------------------------------------------------------------- */

/* The value of a 4-byte attribute of the request. False: it has none. */
static bool request_u32(const struct nlmsghdr *request, unsigned type, uint32_t *out)
{
	const uint8_t *at = (const uint8_t *)request + NLMSG_HDRLEN;
	size_t left = request->nlmsg_len - NLMSG_HDRLEN;
	struct nlattr header;

	while (left >= sizeof(header)) {
		memcpy(&header, at, sizeof(header));
		if (header.nla_len < NLA_HDRLEN || header.nla_len > left)
			return false;
		if ((header.nla_type & NLA_TYPE_MASK) == type && header.nla_len == NLA_HDRLEN + sizeof(*out)) {
			memcpy(out, at + NLA_HDRLEN, sizeof(*out));
			return true;
		}
		size_t step = NLA_ALIGN(header.nla_len);
		at += step;
		left -= step < left ? step : left;
	}
	return false;
}

static void put_handle(struct message *m, const struct device *device)
{
	attribute_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, device->index);
	attribute_text(m, RDMA_NLDEV_ATTR_DEV_NAME, device->name);
}

static void put_device(struct message *m, const struct device *device)
{
	put_handle(m, device);
	attribute_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, PORT); /* here: the last one */
	attribute_text(m, RDMA_NLDEV_ATTR_FW_VERSION, device->firmware);
	attribute_u64(m, RDMA_NLDEV_ATTR_NODE_GUID, device->guid);
	attribute_u64(m, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, device->guid);
	attribute_u8(m, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NODE_TYPE_CA);
	attribute_text(m, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
}

static void put_port(struct message *m, const struct device *device)
{
	put_handle(m, device);
	attribute_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, PORT);
	attribute_u64(m, RDMA_NLDEV_ATTR_CAP_FLAGS, PORT_CAP_CM);
	attribute_u8(m, RDMA_NLDEV_ATTR_PORT_STATE, device->state);
	attribute_u8(m, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, device->phys);
	attribute_u32(m, RDMA_NLDEV_ATTR_NDEV_INDEX, device->ifindex);
	attribute_text(m, RDMA_NLDEV_ATTR_NDEV_NAME, device->ifname);
}

typedef void putter(struct message *, const struct device *);

/* Of the device that the request names, or of all. A dump of ports is of one device's. */
static void answer_devices(const struct asked *a, putter *put_one, bool of_port)
{
	unsigned flags = a->request->nlmsg_flags;
	bool dump = (flags & NLM_F_DUMP) == NLM_F_DUMP, found = false;
	uint32_t index = 0, port = 0;
	bool named = request_u32(a->request, RDMA_NLDEV_ATTR_DEV_INDEX, &index);
	FILE *f = devices_open(a->tree);
	struct device device;
	struct message m;

	while (device_next(f, a->tree, &device)) {
		if (named && device.index != index)
			continue;
		if (of_port && !dump && (!request_u32(a->request, RDMA_NLDEV_ATTR_PORT_INDEX, &port) || port != PORT))
			continue;
		if (!named && (!dump || of_port))
			continue;
		found = true;
		begin(&m, a, a->request->nlmsg_type, dump ? NLM_F_MULTI : 0);
		put_one(&m, &device);
		send_message(a, &m);
	}
	if (f != NULL)
		fclose(f);
	if (dump)
		send_done(a);
	else if (!found)
		send_error(a, named ? ENODEV : EINVAL);
	else if ((flags & NLM_F_ACK) != 0)
		send_error(a, 0);
}

static void answer_system(const struct asked *a)
{
	struct message m;

	begin(&m, a, a->request->nlmsg_type, 0);
	attribute_u8(&m, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0); /* exclusive: each namespace has its own */
	send_message(a, &m);
	if ((a->request->nlmsg_flags & NLM_F_ACK) != 0)
		send_error(a, 0);
}

static void answer(const struct asked *a)
{
	unsigned type = a->request->nlmsg_type;

	if (RDMA_NL_GET_CLIENT(type) != RDMA_NL_NLDEV) {
		send_error(a, EOPNOTSUPP);
		return;
	}
	switch (RDMA_NL_GET_OP(type)) {
	case RDMA_NLDEV_CMD_GET:
		answer_devices(a, put_device, false);
		break;
	case RDMA_NLDEV_CMD_PORT_GET:
		answer_devices(a, put_port, true);
		break;
	case RDMA_NLDEV_CMD_SYS_GET:
		answer_system(a);
		break;
	case RDMA_NLDEV_CMD_RES_GET:
	case RDMA_NLDEV_CMD_RES_QP_GET:
	case RDMA_NLDEV_CMD_RES_CM_ID_GET:
	case RDMA_NLDEV_CMD_RES_CQ_GET:
	case RDMA_NLDEV_CMD_RES_MR_GET:
	case RDMA_NLDEV_CMD_RES_PD_GET:
		/* What they list are the kernel's objects: `softverbs stat --qps` has ours. */
		if ((a->request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
			send_done(a);
			break;
		} /* one of them alone: there is none */
		/* fall through */
	default:
		send_error(a, EOPNOTSUPP);
	}
}

void nldev_answer(const char *tree, const void *in, size_t len, uint32_t port_id, nldev_send *send, void *context)
{
	const uint8_t *at = in;
	_Alignas(struct nlmsghdr) uint8_t copy[NLDEV_MESSAGE_MAX]; /* what the program has may be anywhere */

	while (len >= NLMSG_HDRLEN) {
		struct nlmsghdr header;

		memcpy(&header, at, sizeof(header));
		if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > len || header.nlmsg_len > sizeof(copy))
			return;
		memcpy(copy, at, header.nlmsg_len);
		const struct asked a = {tree, (const struct nlmsghdr *)(void *)copy, port_id, send, context};
		if ((header.nlmsg_flags & NLM_F_REQUEST) != 0 && header.nlmsg_type >= NLMSG_MIN_TYPE)
			answer(&a);
		size_t step = NLMSG_ALIGN(header.nlmsg_len);
		at += step < len ? step : len;
		len -= step < len ? step : len;
	}
}
