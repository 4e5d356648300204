/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses and ports: who may have which, and who listens where. The rules are those of Linux's cma. */
#include "cm/cm_internal.h"

static uint64_t port_key(enum cm_space space, uint16_t port)
{
	return cm_service_id(space, port);
}

static bool holds_port(const struct cm_id *id, enum cm_space space, uint16_t port)
{
	return id->space == space && id->local.port == port;
}

static struct cm_id *port_first(const struct cm *cm, enum cm_space space, uint16_t port)
{
	struct cm_id *id = cm_table_first(cm, CM_BY_PORT, port_key(space, port));

	while (id && !holds_port(id, space, port))
		id = cm_table_next(cm, CM_BY_PORT, id);
	return id;
}

static struct cm_id *port_next(const struct cm *cm, const struct cm_id *before)
{
	struct cm_id *id = cm_table_next(cm, CM_BY_PORT, before);

	while (id && !holds_port(id, before->space, before->local.port))
		id = cm_table_next(cm, CM_BY_PORT, id);
	return id;
}

/* May `id` have this address beside those who hold the port? */
static int conflict(const struct cm *cm, const struct cm_id *id, const struct cm_address *want, bool reuse, bool only_family)
{
	for (struct cm_id *o = port_first(cm, id->space, want->port); o; o = port_next(cm, o)) {
		if (o == id || (reuse && o->reuse))
			continue;
		if (only_family && o->only_family && want->ip.family != o->local.ip.family)
			continue;
		if (cm_ip_is_any(&want->ip) || cm_ip_is_any(&o->local.ip))
			return BASE_ERR_NOADDR;
		if (cm_ip_equal(&want->ip, &o->local.ip))
			return BASE_ERR_EXISTS;
	}
	return 0;
}

static bool differs(const struct cm_ip *a, const struct cm_ip *b)
{
	return !cm_ip_is_any(a) && !cm_ip_is_any(b) && !cm_ip_equal(a, b);
}

/* A free port may be shared by ids that can be told apart by destination or source. */
static bool is_distinct(const struct cm *cm, const struct cm_id *id, const struct cm_ip *source, const struct cm_address *to,
			uint16_t port)
{
	for (struct cm_id *o = port_first(cm, id->space, port); o; o = port_next(cm, o)) {
		bool ports_differ = to->port && o->remote.port && to->port != o->remote.port;

		if (!ports_differ && !differs(source, &o->local.ip) && !differs(&to->ip, &o->remote.ip))
			return false;
	}
	return true;
}

/* 0: there is none. */
static uint16_t free_port(struct cm *cm, const struct cm_id *id, const struct cm_ip *source, const struct cm_address *to)
{
	uint32_t first = cm->config.first_port, count = cm->config.last_port - first + 1u;
	uint32_t rover = (uint32_t)base_random_below(&cm->random, count);

	for (uint32_t i = 0; i < count; i++) {
		uint16_t port = (uint16_t)(first + (rover + i) % count);

		/* Not the last one again: a program may just have been told that it is gone. */
		if ((port != cm->last_port || count == 1) && is_distinct(cm, id, source, to, port))
			return cm->last_port = port;
	}
	return 0;
}

void cm_port_enter(struct cm *cm, struct cm_id *id, uint16_t port)
{
	id->local.port = port;
	id->bound = true;
	cm_table_add(cm, CM_BY_PORT, port_key(id->space, port), id);
}

void cm_unbind(struct cm *cm, struct cm_id *id)
{
	cm_table_remove(cm, CM_BY_PORT, id);
	id->bound = false;
}

int cm_bind(struct cm *cm, struct cm_ref ref, const struct cm_address *address, uint32_t flags)
{
	struct cm_id *id = cm_id_find(cm, ref);
	bool only = address->ip.family == CM_IPV4 || (flags & CM_BIND_ONLY), reuse = flags & CM_BIND_REUSE;
	uint16_t port = address->port;
	int err;

	if (id == NULL)
		return BASE_ERR_NOENT;
	if (id->state != CM_IDLE || id->used || id->bound || !cm_ip_is_valid(&address->ip) ||
	    (flags & ~(uint32_t)(CM_BIND_REUSE | CM_BIND_ONLY)))
		return BASE_ERR_INVAL;
	if (port == 0) {
		port = free_port(cm, id, &address->ip, &id->remote);
		if (port == 0)
			return BASE_ERR_NOADDR;
	} else {
		err = conflict(cm, id, address, reuse, only);
		if (err)
			return err;
	}
	id->local.ip = address->ip;
	id->reuse = reuse;
	id->only_family = only;
	cm_port_enter(cm, id, port);
	return 0;
}

int cm_resolve(struct cm *cm, struct cm_ref ref, const struct cm_ip *source, const struct cm_address *destination)
{
	struct cm_id *id = cm_id_find(cm, ref);
	uint16_t port;

	if (id == NULL)
		return BASE_ERR_NOENT;
	if (id->state != CM_IDLE || id->used || !cm_ip_is_valid(source) || !cm_ip_is_valid(&destination->ip) ||
	    source->family != destination->ip.family)
		return BASE_ERR_INVAL;
	if (!id->bound) {
		port = free_port(cm, id, source, destination);
		if (port == 0)
			return BASE_ERR_NOADDR;
		id->only_family = source->family == CM_IPV4;
		cm_port_enter(cm, id, port);
	}
	id->local.ip = *source;
	id->remote = *destination;
	return 0;
}

int cm_listen(struct cm *cm, struct cm_ref ref, uint32_t backlog)
{
	struct cm_id *id = cm_id_find(cm, ref);
	int err;

	if (id == NULL)
		return BASE_ERR_NOENT;
	if (id->state != CM_IDLE || id->used || !id->bound)
		return BASE_ERR_INVAL;
	err = conflict(cm, id, &id->local, false, id->only_family);
	if (err)
		return err;
	id->used = true;
	id->backlog = backlog == 0 || backlog > cm->config.backlog ? cm->config.backlog : backlog;
	id->service_id = cm_service_id(id->space, id->local.port);
	cm_id_state_set(cm, id, CM_LISTEN);
	return 0;
}

int cm_request_taken(struct cm *cm, struct cm_ref child)
{
	struct cm_id *id = cm_id_find(cm, child);

	if (id == NULL)
		return BASE_ERR_NOENT;
	cm_id_taken(cm, id);
	return 0;
}

static bool takes(const struct cm_id *listener, const struct cm_ip *destination)
{
	const struct cm_ip *ip = &listener->local.ip;

	if (cm_ip_is_any(ip))
		return ip->family == destination->family || (ip->family == CM_IPV6 && !listener->only_family);
	/* The header of a request has no scope: whose link it is, is asked of the host. */
	return ip->family == destination->family && memcmp(ip->bytes, destination->bytes, sizeof(ip->bytes)) == 0;
}

struct cm_id *cm_listener_find(const struct cm *cm, enum cm_space space, uint16_t port, const struct cm_ip *destination)
{
	for (struct cm_id *id = port_first(cm, space, port); id; id = port_next(cm, id))
		if (id->state == CM_LISTEN && takes(id, destination))
			return id;
	return NULL;
}
