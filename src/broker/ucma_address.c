/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses and routes. Which address a packet would leave with is the kernel's answer (a UDP socket is connected and asked);
 * which device it belongs to is in the table.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "broker/gsi.h"
#include "broker/ucma_internal.h"
#include "wire/ip.h"
#include "wire/mtu.h"

int ucma_errno(int err)
{
	/* cma.c says EADDRINUSE, EADDRNOTAVAIL; the rest is as everywhere. */
	return err >= 0 ? 0 : base_err_to_errno(err);
}

int ucma_address_load(struct cm_address *out, const void *sockaddr, size_t len)
{
	const struct sockaddr_in *four = sockaddr;
	const struct sockaddr_in6 *six = sockaddr;
	sa_family_t family;

	*out = (struct cm_address){ 0 };
	if (len < sizeof(family))
		return EINVAL;
	memcpy(&family, sockaddr, sizeof(family));
	if (family == AF_INET && len >= sizeof(*four)) {
		out->ip.family = CM_IPV4;
		memcpy(out->ip.bytes, &four->sin_addr, 4);
		out->port = ntohs(four->sin_port);
	} else if (family == AF_INET6 && len >= sizeof(*six)) {
		out->ip.family = CM_IPV6;
		memcpy(out->ip.bytes, &six->sin6_addr, 16);
		out->ip.scope = IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) ? six->sin6_scope_id : 0;
		out->port = ntohs(six->sin6_port);
	} else {
		return family == AF_INET || family == AF_INET6 ? EINVAL : EAFNOSUPPORT;
	}
	return 0;
}

void ucma_address_store(void *sockaddr, const struct cm_address *address)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(address->port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(address->port), .sin6_scope_id = address->ip.scope };

	if (address->ip.family == CM_IPV4) {
		memcpy(&four.sin_addr, address->ip.bytes, 4);
		memcpy(sockaddr, &four, sizeof(four));
	} else if (address->ip.family == CM_IPV6) {
		memcpy(&six.sin6_addr, address->ip.bytes, 16);
		memcpy(sockaddr, &six, sizeof(six));
	}
}

struct wire_gid ucma_gid_of(const struct cm_ip *ip)
{
	return ip->family == CM_IPV4 ? wire_gid_from_ipv4(ip->bytes) : wire_gid_from_ipv6(ip->bytes);
}

static bool is_link_local(const struct cm_ip *ip)
{
	return ip->family == CM_IPV6 && ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

/* Every address of 127.0.0.0/8 is lo's, though only 127.0.0.1 is in its table. */
static bool is_loopback4(const struct cm_ip *ip)
{
	return ip->family == CM_IPV4 && ip->bytes[0] == 127;
}

static int device_of(const struct broker_ucma *u, const struct cm_ip *ip)
{
	static const uint8_t one[4] = { 127, 0, 0, 1 };
	struct wire_gid gid = is_loopback4(ip) ? wire_gid_from_ipv4(one) : ucma_gid_of(ip);

	return broker_device_of(u->table, &gid, ip->scope);
}

int ucma_bind(struct broker_ucma *u, struct ucma_id *id, const struct cm_address *address)
{
	int device = -1, err;

	if (id->stage != UCMA_IDLE)
		return EINVAL;
	if (is_link_local(&address->ip) && address->ip.scope == 0)
		return EINVAL;
	if (!cm_ip_is_any(&address->ip)) {
		device = device_of(u, &address->ip);
		if (device < 0)
			return EADDRNOTAVAIL;
	}
	if (address->port != 0 && address->port < u->first_port)
		return EACCES;
	err = cm_bind(u->cm, id->ref, address, id->bind_flags);
	if (err != BASE_OK)
		return ucma_errno(err);
	id->device = device;
	id->stage = UCMA_BOUND;
	ucma_refresh(u, id);
	return 0;
}

/* The address that packets to `to` leave with: 0, or the kernel's errno. */
static int route_source(const struct cm_address *to, const struct cm_ip *wanted, struct cm_ip *source)
{
	struct cm_address address = { .ip = *wanted };
	struct sockaddr_storage name = { 0 };
	socklen_t len = to->ip.family == CM_IPV4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	int err = 0, fd = socket(to->ip.family == CM_IPV4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	if (wanted->family != CM_NO_FAMILY && !cm_ip_is_any(wanted)) {
		ucma_address_store(&name, &address);
		if (bind(fd, (struct sockaddr *)&name, len) != 0)
			err = errno;
	}
	address = *to;
	address.port = WIRE_UDP_PORT_ROCE;
	memset(&name, 0, sizeof(name));
	ucma_address_store(&name, &address);
	if (err == 0 && connect(fd, (struct sockaddr *)&name, len) != 0)
		err = errno;
	if (err == 0 && getsockname(fd, (struct sockaddr *)&name, &len) != 0)
		err = errno;
	close(fd);
	if (err == 0)
		err = ucma_address_load(&address, &name, len);
	if (err == 0)
		*source = address.ip;
	return err;
}

int ucma_resolve_find(struct broker_ucma *u, struct ucma_id *id, const struct cm_address *source, const struct cm_address *destination,
		      struct ucma_way *out)
{
	struct cm_address to = *destination;
	struct cm_ip from = id->stage == UCMA_BOUND ? id->source.ip : source->ip;
	struct wire_gid group;
	int device, err;

	if (id->stage != UCMA_IDLE && id->stage != UCMA_BOUND)
		return EINVAL;
	if (from.family != CM_NO_FAMILY && from.family != to.ip.family)
		return EINVAL;
	if (is_link_local(&to.ip) && to.ip.scope == 0)
		to.ip.scope = from.scope;
	if (is_link_local(&to.ip) && to.ip.scope == 0)
		return EINVAL;
	if (cm_ip_is_any(&to.ip)) /* this host */
		to.ip.bytes[to.ip.family == CM_IPV4 ? 0 : 15] = to.ip.family == CM_IPV4 ? 127 : 1;
	if (is_loopback4(&to.ip))
		memcpy(to.ip.bytes, (const uint8_t[]){ 127, 0, 0, 1 }, 4);
	/* A group is where the id is bound; without that the kernel is asked as for a host. */
	group = ucma_gid_of(&to.ip);
	err = wire_gid_is_multicast(&group) && from.family != CM_NO_FAMILY && !cm_ip_is_any(&from) ? 0 :
		route_source(&to, &from, &from);
	if (err != 0)
		return err == EHOSTUNREACH ? ENETUNREACH : err;
	device = device_of(u, &from);
	if (device < 0)
		return ENODEV;
	if (source->port != 0 && id->stage == UCMA_IDLE) {
		const struct cm_address bound = { .ip = from, .port = source->port };

		err = ucma_bind(u, id, &bound);
		if (err != 0)
			return err;
	}
	*out = (struct ucma_way){ from, to, device };
	return 0;
}

int ucma_resolve_take(struct broker_ucma *u, struct ucma_id *id, const struct ucma_way *way)
{
	int err = cm_resolve(u->cm, id->ref, &way->source, &way->destination);

	if (err != BASE_OK)
		return ucma_errno(err);
	id->stage = UCMA_ADDR_RESOLVED;
	id->device = way->device;
	ucma_refresh(u, id);
	id->source.ip = way->source;
	id->destination = way->destination;
	return 0;
}

int ucma_resolve(struct broker_ucma *u, struct ucma_id *id, const struct cm_address *source, const struct cm_address *destination)
{
	struct ucma_way way;
	int err = ucma_resolve_find(u, id, source, destination, &way);

	return err == 0 ? ucma_resolve_take(u, id, &way) : err;
}

uint8_t ucma_sgid_index(const struct broker_ucma *u, const struct cm_path *path)
{
	int index;

	if (path->port.number >= u->table->count)
		return 0;
	index = netdev_device_gid_index(&u->table->devices[path->port.number], &path->sgid, (enum wire_gid_type)path->gid_type);
	return index < 0 ? 0 : (uint8_t)index;
}

int ucma_route(struct broker_ucma *u, struct ucma_id *id)
{
	const struct netdev_device *device;
	struct cm_path path = { .gid_type = (uint8_t)u->begins, .gsi_qpn = 1, .hop_limit = 64, .pkey = 0xffff };
	int peer;

	if (id->stage != UCMA_ADDR_RESOLVED)
		return EINVAL;
	if (id->device < 0 || (uint32_t)id->device >= u->table->count || u->table->devices[id->device].ifindex == 0)
		return ENODEV;
	device = &u->table->devices[id->device];
	path.mtu = (uint8_t)wire_mtu_cm(device->mtu);
	if (path.mtu == 0)
		return EINVAL;
	path.port = broker_port_of(u->table, id->device);
	path.sgid = ucma_gid_of(&id->source.ip);
	path.dgid = ucma_gid_of(&id->destination.ip);
	path.flow_label = (id->source.port * 31u + id->destination.port) & 0xfffff;
	path.traffic_class = id->tos;
	path.life_time = id->ack_timeout_set && id->ack_timeout > 0 ? (uint8_t)(id->ack_timeout - 1) : UCMA_LIFE_TIME;
	peer = broker_device_of(u->table, &path.dgid, id->destination.ip.scope);
	path.local = peer >= 0;
	path.peer = broker_port_of(u->table, peer);
	id->path = path;
	id->stage = UCMA_ROUTE_RESOLVED;
	return 0;
}

void ucma_refresh(struct broker_ucma *u, struct ucma_id *id)
{
	struct cm_info info;

	if (cm_id_info(u->cm, id->ref, &info) != BASE_OK)
		return;
	id->source = info.local;
	id->destination = info.remote;
	if (!info.passive)
		return;
	id->path = info.path;
	id->device = info.path.port.number < u->table->count ? (int)info.path.port.number : -1;
}
