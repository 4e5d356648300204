/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "broker/ucma.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "broker/ucma_internal.h"

/* --- ids --- */

static bool owns(void *host, const struct cm_port *port, const struct cm_ip *address)
{
	const struct broker_ucma *u = host;
	struct wire_gid gid = ucma_gid_of(address);

	return port->number < u->table->count &&
	       netdev_device_gid_index(&u->table->devices[port->number], &gid, WIRE_GID_ROCE_V2) >= 0;
}

static const struct cm_ops cm_ops = { .owns = owns };

struct broker_ucma *broker_ucma_create(const struct broker_ucma_ops *ops, void *context, const struct cm_config *config,
				       const struct netdev_table *table, uint16_t first_port, uint64_t seed)
{
	struct broker_ucma *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->ops = ops;
	u->context = context;
	u->table = table;
	u->first_port = first_port;
	u->begins = WIRE_GID_ROCE_V2;
	u->memory_bytes = cm_bytes(config);
	/* Mostly never touched: a page comes when an id needs it. */
	u->memory = mmap(NULL, u->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (u->memory == MAP_FAILED)
		goto fail;
	u->cm = cm_init(u->memory, config, &cm_ops, u, seed);
	if (u->cm == NULL)
		goto fail;
	return u;
fail:
	broker_ucma_destroy(u);
	return NULL;
}

void broker_ucma_begin_with(struct broker_ucma *u, enum wire_gid_type gid_type)
{
	u->begins = gid_type;
}

static struct ucma_id **bucket(struct broker_ucma *u, uint8_t slot, uint32_t number)
{
	/* Each slot counts from its own place on: numbers rise, so a bucket gets a second one late. */
	return &u->ids[(number + slot * 257u) % UCMA_BUCKETS];
}

void ucma_each(struct broker_ucma *u, uint8_t slot, void (*visit)(struct broker_ucma *u, struct ucma_id *id, const void *argument),
	       const void *argument)
{
	for (uint32_t i = 0; i < UCMA_BUCKETS && u->count > 0; i++) {
		for (struct ucma_id *id = u->ids[i], *next; id != NULL; id = next) {
			next = id->next;
			if (slot == 0 || id->slot == slot)
				visit(u, id, argument);
		}
	}
}

static void forget(struct broker_ucma *u, struct ucma_id *id, const void *argument)
{
	ucma_forget(u, id);
}

void broker_ucma_destroy(struct broker_ucma *u)
{
	if (u == NULL)
		return;
	ucma_groups_free(u); /* sockets stay in their groups, for the next broker */
	ucma_each(u, 0, forget, NULL);
	if (u->memory != NULL && u->memory != MAP_FAILED)
		munmap(u->memory, u->memory_bytes);
	free(u);
}

struct ucma_id *ucma_find(struct broker_ucma *u, uint8_t slot, uint32_t number)
{
	struct ucma_id *id = *bucket(u, slot, number);

	while (id != NULL && (id->id != number || id->slot != slot))
		id = id->next;
	return id;
}

uint32_t ucma_number_take(struct broker_ucma *u, uint8_t slot)
{
	uint32_t number;

	/* Numbers rise, so a stale one finds nobody for a long time. */
	do
		number = ++u->last_id[slot];
	while (number == 0 || ucma_find(u, slot, number) != NULL || ucma_group_is(u, slot, number));
	return number;
}

struct ucma_id *ucma_add(struct broker_ucma *u, uint8_t slot, uint64_t uid, uint32_t number)
{
	struct ucma_id *id, **at;

	if (number != 0 && ucma_find(u, slot, number) != NULL)
		return NULL;
	if (number == 0)
		number = ucma_number_take(u, slot);
	id = calloc(1, sizeof(*id));
	if (id == NULL)
		return NULL;
	if (number > u->last_id[slot])
		u->last_id[slot] = number;
	at = bucket(u, slot, number);
	*id = (struct ucma_id){ .next = *at, .id = number, .slot = slot, .uid = uid, .device = -1 };
	*at = id;
	u->count++;
	return id;
}

void ucma_forget(struct broker_ucma *u, struct ucma_id *id)
{
	struct ucma_id **at = bucket(u, id->slot, id->id);

	ucma_groups_leave(u, id);
	ucma_query_forget(u, id);
	while (*at != id)
		at = &(*at)->next;
	*at = id->next;
	u->count--;
	free(id);
}

/* --- commands: 0 or a positive errno value --- */

static int create_id(struct broker_ucma *u, uint8_t slot, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_create_id *command = in;
	struct rdma_ucm_create_id_resp *response = (void *)out->bytes;
	enum cm_qp_type type = CM_QP_RC;
	struct ucma_id *id;
	int err;

	switch (command->ps) {
	case RDMA_PS_TCP:
		type = CM_QP_RC;
		break;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		type = CM_QP_UD;
		break;
	case RDMA_PS_IB:
		type = (enum cm_qp_type)command->qp_type;
		break;
	default:
		return EPROTONOSUPPORT;
	}
	id = ucma_add(u, slot, command->uid, 0);
	if (id == NULL)
		return ENOMEM;
	id->space = (enum cm_space)command->ps;
	id->qp_type = type;
	err = cm_id_create(u->cm, slot, ucma_user(id), id->space, type, &id->ref);
	if (err != BASE_OK) {
		ucma_forget(u, id);
		return ucma_errno(err);
	}
	response->id = id->id;
	ucma_keep(u, id);
	return 0;
}

/* Requests that nobody looked at ended with their listener; what the program has in its hands stays. */
static void forget_ended(struct broker_ucma *u, struct ucma_id *id, const void *listener)
{
	struct cm_info info;

	if (id->listener != ((const struct ucma_id *)listener)->id || cm_id_info(u->cm, id->ref, &info) == BASE_OK)
		return;
	ucma_keep_nothing(u, id);
	ucma_forget(u, id);
}

static int destroy_id(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	struct rdma_ucm_destroy_id_resp *response = (void *)out->bytes;

	cm_id_destroy(u->cm, u->ops->now(u->context), id->ref);
	response->events_reported = id->events;
	if (id->stage == UCMA_LISTEN)
		ucma_each(u, id->slot, forget_ended, id);
	ucma_keep_nothing(u, id);
	ucma_forget(u, id);
	return 0;
}

static int bind_to(struct broker_ucma *u, struct ucma_id *id, const void *sockaddr, size_t len)
{
	struct cm_address address;
	int err = ucma_address_load(&address, sockaddr, len);

	if (err == 0)
		err = ucma_bind(u, id, &address);
	if (err == 0)
		ucma_keep(u, id);
	return err;
}

static int bind_ip(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_bind_ip *command = in;

	return bind_to(u, id, &command->addr, sizeof(command->addr));
}

static int bind_any(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_bind *command = in;

	if (command->reserved != 0 || command->addr_size > sizeof(command->addr))
		return EINVAL;
	return bind_to(u, id, &command->addr, command->addr_size);
}

/* Failures that show up later at a real adapter show up as an event here, too. */
static int resolve(struct broker_ucma *u, struct ucma_id *id, const void *source, size_t source_len, const void *destination,
		   size_t destination_len, uint32_t timeout_ms)
{
	struct cm_address from = { 0 }, to;
	struct ucma_way way;
	sa_family_t family = 0;
	int err = ucma_address_load(&to, destination, destination_len);

	if (source_len >= sizeof(family))
		memcpy(&family, source, sizeof(family));
	if (err == 0 && family != AF_UNSPEC)
		err = ucma_address_load(&from, source, source_len);
	if (err == 0)
		err = ucma_resolve_find(u, id, &from, &to, &way);
	return err == 0 ? ucma_query(u, id, &way, timeout_ms) : err;
}

static int resolve_ip(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_resolve_ip *command = in;

	return resolve(u, id, &command->src_addr, sizeof(command->src_addr), &command->dst_addr, sizeof(command->dst_addr),
		       command->timeout_ms);
}

static int resolve_addr(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_resolve_addr *command = in;

	if (command->reserved != 0 || command->src_size > sizeof(command->src_addr) || command->dst_size == 0 ||
	    command->dst_size > sizeof(command->dst_addr))
		return EINVAL;
	return resolve(u, id, &command->src_addr, command->src_size, &command->dst_addr, command->dst_size, command->timeout_ms);
}

static int resolve_route(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_resolve_route *command = in;
	int err = command->timeout_ms == 0 ? EINVAL : ucma_route(u, id);

	if (err != 0)
		return err;
	ucma_keep(u, id);
	ucma_event_plain(u, id, 2 /* RDMA_CM_EVENT_ROUTE_RESOLVED */, 0);
	return 0;
}

static uint64_t node_guid(const struct broker_ucma *u, const struct ucma_id *id)
{
	return id->device < 0 ? 0 : htobe64(u->table->devices[id->device].node_guid);
}

/* The path as it is, or as it would be. */
static struct cm_path path_so_far(const struct ucma_id *id)
{
	struct cm_path path = id->path;

	if (path.pkey == 0) {
		path.pkey = 0xffff;
		if (id->source.ip.family != CM_NO_FAMILY)
			path.sgid = ucma_gid_of(&id->source.ip);
		if (id->destination.ip.family != CM_NO_FAMILY)
			path.dgid = ucma_gid_of(&id->destination.ip);
	}
	return path;
}

static uint32_t path_count(const struct ucma_id *id)
{
	return id->stage == UCMA_ROUTE_RESOLVED || id->stage == UCMA_CONNECT;
}

static int query_route(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	struct rdma_ucm_query_route_resp *response = (void *)out->bytes;
	struct cm_path path;

	ucma_address_store(&response->src_addr, &id->source);
	ucma_address_store(&response->dst_addr, &id->destination);
	if (id->device < 0)
		return 0;
	path = path_so_far(id);
	response->node_guid = node_guid(u, id);
	response->port_num = 1;
	response->num_paths = path_count(id);
	response->ibdev_index = (uint32_t)id->device;
	ucma_path_rec_store(&response->ib_route[0], &path);
	return 0;
}

/* A path record as subnet administration has it on the wire: 64 bytes (IBTA 15.2.5.16). */
static void path_record_store(uint8_t out[64], const struct cm_path *path)
{
	memset(out, 0, 64);
	memcpy(out + 8, path->dgid.raw, 16);
	memcpy(out + 24, path->sgid.raw, 16);
	wire_be32_store(out + 44, (path->flow_label & 0xfffff) << 8 | path->hop_limit);
	out[48] = path->traffic_class;
	out[49] = 1 << 7; /* reversible */
	wire_be16_store(out + 50, path->pkey);
	wire_be16_store(out + 52, path->sl & 0xf);
	out[54] = (uint8_t)(2 << 6 | (path->mtu & 0x3f)); /* 2: exactly */
	out[55] = (uint8_t)(2 << 6 | (path->rate & 0x3f));
	out[56] = (uint8_t)(2 << 6 | (path->life_time & 0x3f));
}

/* AF_IB: a GID with a service id instead of a port. */
static void ib_address_store(void *sockaddr, const struct wire_gid *gid, uint64_t service_id)
{
	struct {
		uint16_t family, pkey;
		uint32_t flow_info;
		uint8_t gid[16];
		uint64_t sid, sid_mask, scope;
	} address = { .family = 27 /* AF_IB */, .pkey = 0xffff, .sid = htobe64(service_id), .sid_mask = ~0ull };

	memcpy(address.gid, gid->raw, sizeof(address.gid));
	memcpy(sockaddr, &address, sizeof(address));
}

static int query(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_query *command = in;
	struct rdma_ucm_query_addr_resp *response = (void *)out->bytes;
	struct rdma_ucm_query_path_resp *paths = (void *)out->bytes;
	const struct cm_path path = path_so_far(id);
	const uint64_t space = (uint64_t)id->space << 16;

	if (out->room < (command->option == RDMA_USER_CM_QUERY_PATH ? sizeof(*paths) : sizeof(*response)))
		return ENOSPC;
	if (command->option == RDMA_USER_CM_QUERY_PATH) {
		paths->num_paths = id->device < 0 ? 0 : path_count(id);
		out->len = sizeof(*paths);
		/* Without room for it the program learns at least how many there are. */
		if (paths->num_paths > 0 && out->room >= sizeof(*paths) + sizeof(paths->path_data[0])) {
			out->len += (uint32_t)sizeof(paths->path_data[0]);
			paths->path_data[0].flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
			path_record_store((uint8_t *)paths->path_data[0].path_rec, &path);
		}
		return 0;
	}
	if (command->option != RDMA_USER_CM_QUERY_ADDR && command->option != RDMA_USER_CM_QUERY_GID)
		return ENOSYS;
	response->node_guid = node_guid(u, id);
	response->port_num = id->device >= 0;
	response->pkey = htons(id->device >= 0 ? 0xffff : 0);
	response->ibdev_index = (uint32_t)id->device;
	out->len = sizeof(*response);
	if (command->option == RDMA_USER_CM_QUERY_ADDR) {
		response->src_size = response->dst_size = sizeof(struct sockaddr_in6);
		ucma_address_store(&response->src_addr, &id->source);
		ucma_address_store(&response->dst_addr, &id->destination);
		return 0;
	}
	response->src_size = response->dst_size = 48; /* sockaddr_ib */
	ib_address_store(&response->src_addr, &path.sgid, space | id->source.port);
	ib_address_store(&response->dst_addr, &path.dgid, space | id->destination.port);
	return 0;
}

static void conn_load(struct cm_conn *out, const struct rdma_ucm_conn_param *in)
{
	*out = (struct cm_conn){
		.qpn = in->qp_num & 0xffffff,
		.qkey = in->qkey,
		.responder_resources = in->responder_resources,
		.initiator_depth = in->initiator_depth,
		.flow_control = in->flow_control != 0,
		.retry_count = in->retry_count,
		.rnr_retry_count = in->rnr_retry_count,
		.srq = in->srq != 0,
	};
}

static struct cm_ece ece_load(const struct rdma_ucm_ece *in)
{
	return (struct cm_ece){ .vendor = in->vendor_id & 0xffffff, .options = in->attr_mod };
}

static int connect_id(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_connect *command = in;
	struct cm_connect param = { .ece = ece_load(&command->ece), .path = id->path,
		.private_data = command->conn_param.private_data, .private_len = command->conn_param.private_data_len };
	int err;

	if (!command->conn_param.valid || id->stage != UCMA_ROUTE_RESOLVED)
		return EINVAL;
	conn_load(&param.conn, &command->conn_param);
	err = cm_connect(u->cm, u->ops->now(u->context), id->ref, &param);
	if (err != BASE_OK)
		return ucma_errno(err);
	id->stage = UCMA_CONNECT;
	ucma_keep(u, id);
	return 0;
}

static int listen_id(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_listen *command = in;
	int err;

	if (id->stage == UCMA_IDLE) { /* as rdma_listen() does: any address, a free port */
		const struct cm_address any = { .ip = { .family = CM_IPV4 } };

		err = ucma_bind(u, id, &any);
		if (err != 0)
			return err;
	}
	if (id->stage != UCMA_BOUND)
		return EINVAL;
	err = cm_listen(u->cm, id->ref, command->backlog);
	if (err != BASE_OK)
		return ucma_errno(err);
	id->stage = UCMA_LISTEN;
	id->backlog = command->backlog;
	ucma_keep(u, id);
	return 0;
}

static int accept_id(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_accept *command = in;
	struct cm_accept param = { .ece = ece_load(&command->ece), .private_data = command->conn_param.private_data,
		.private_len = command->conn_param.private_data_len };
	uint64_t now = u->ops->now(u->context), uid = id->uid;
	int err;

	if (!command->conn_param.valid) {
		/* The active side after CONNECT_RESPONSE. */
		err = cm_establish(u->cm, now, id->ref);
	} else {
		conn_load(&param.conn, &command->conn_param);
		if (id->qp_type == CM_QP_UD && param.conn.qkey == 0)
			param.conn.qkey = id->qkey != 0 ? id->qkey : UCMA_QKEY;
		id->uid = command->uid;
		err = cm_accept(u->cm, now, id->ref, &param);
		if (err != BASE_OK)
			id->uid = uid;
	}
	if (err != BASE_OK)
		return ucma_errno(err);
	ucma_keep(u, id);
	return 0;
}

static int reject_id(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_reject *command = in;
	uint16_t reason = command->reason == 0 ? CM_REJ_CONSUMER : command->reason;
	int err;

	if (reason != CM_REJ_CONSUMER && reason != CM_REJ_VENDOR_OPTION)
		return EINVAL;
	err = cm_reject(u->cm, u->ops->now(u->context), id->ref, reason, command->private_data, command->private_data_len);
	return ucma_errno(err);
}

static int disconnect_id(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	if (id->stage != UCMA_CONNECT || id->qp_type == CM_QP_UD)
		return EINVAL;
	/* In a state that has nothing to end this does nothing, as in Linux. */
	cm_disconnect(u->cm, u->ops->now(u->context), id->ref);
	ucma_keep(u, id);
	return 0;
}

static int init_qp_attr(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_init_qp_attr *command = in;
	struct cm_qp_attr attr;
	int err;

	if (command->qp_state < CM_QP_INIT || command->qp_state > CM_QP_RTS || id->device < 0)
		return EINVAL;
	err = cm_qp_attr(u->cm, id->ref, (enum cm_qp_state)command->qp_state, &attr);
	if (err != BASE_OK)
		return ucma_errno(err);
	/* What the owner wants goes before what the path or the peer's delay make of it. */
	if ((attr.mask & CM_QP_TIMEOUT) != 0 && id->ack_timeout_set)
		attr.timeout = id->ack_timeout;
	ucma_qp_attr_store(u, (struct ib_uverbs_qp_attr *)(void *)out->bytes, &attr);
	return 0;
}

static int notify(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out)
{
	const struct rdma_ucm_notify *command = in;

	if (command->event != 4 /* IBV_EVENT_COMM_EST */)
		return EINVAL;
	return ucma_errno(cm_notify(u->cm, u->ops->now(u->context), id->ref));
}

static int set_flag(struct ucma_id *id, uint32_t flag, const uint8_t *value, uint32_t len)
{
	int on;

	if (len != sizeof(on) || (id->stage != UCMA_IDLE && id->stage != UCMA_BOUND))
		return EINVAL;
	memcpy(&on, value, sizeof(on));
	id->bind_flags = on != 0 ? id->bind_flags | flag : id->bind_flags & ~flag;
	return 0;
}

static int set_option(struct broker_ucma *u, struct ucma_id *id, const struct rdma_ucm_set_option *command, const uint8_t *value)
{
	const uint32_t len = command->optlen;
	int err;

	if (command->level == RDMA_OPTION_IB) {
		if (command->optname != RDMA_OPTION_IB_PATH)
			return ENOSYS;
		if (len == 0 || len % sizeof(struct ib_path_rec_data) != 0)
			return EINVAL;
		/* There is one path; what is given is taken as the wish to have it. */
		err = ucma_route(u, id);
		if (err == 0)
			ucma_event_plain(u, id, 2 /* RDMA_CM_EVENT_ROUTE_RESOLVED */, 0);
		return err;
	}
	if (command->level != RDMA_OPTION_ID)
		return ENOSYS;
	switch (command->optname) {
	case RDMA_OPTION_ID_TOS:
		if (len != sizeof(id->tos))
			return EINVAL;
		id->tos = value[0];
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		return set_flag(id, CM_BIND_REUSE, value, len);
	case RDMA_OPTION_ID_AFONLY:
		return set_flag(id, CM_BIND_ONLY, value, len);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (len != sizeof(id->ack_timeout) || id->qp_type == CM_QP_UD || value[0] > 31)
			return EINVAL;
		id->ack_timeout = value[0];
		id->ack_timeout_set = true;
		return 0;
	default:
		return ENOSYS;
	}
}

/* --- dispatch --- */

typedef int command_function(struct broker_ucma *u, struct ucma_id *id, const void *in, struct ucma_answer *out);

/* What the kernel takes (short forms of older programs included) and gives. */
static const struct {
	command_function *call;
	uint16_t in_min, in, id_offset, out;
} commands[] = {
#define COMMAND(name, min, id_member, out_bytes) \
	{ name, (uint16_t)(min), sizeof(struct rdma_ucm_##id_member), offsetof(struct rdma_ucm_##id_member, id), (uint16_t)(out_bytes) }
	[RDMA_USER_CM_CMD_DESTROY_ID] = COMMAND(destroy_id, 12, destroy_id, sizeof(struct rdma_ucm_destroy_id_resp)),
	[RDMA_USER_CM_CMD_BIND_IP] = COMMAND(bind_ip, 40, bind_ip, 0),
	[RDMA_USER_CM_CMD_RESOLVE_IP] = COMMAND(resolve_ip, sizeof(struct rdma_ucm_resolve_ip), resolve_ip, 0),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = COMMAND(resolve_route, sizeof(struct rdma_ucm_resolve_route), resolve_route, 0),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = COMMAND(query_route, 12, query, sizeof(struct rdma_ucm_query_route_resp)),
	[RDMA_USER_CM_CMD_CONNECT] = COMMAND(connect_id, offsetof(struct rdma_ucm_connect, ece), connect, 0),
	[RDMA_USER_CM_CMD_LISTEN] = COMMAND(listen_id, sizeof(struct rdma_ucm_listen), listen, 0),
	[RDMA_USER_CM_CMD_ACCEPT] = COMMAND(accept_id, offsetof(struct rdma_ucm_accept, ece), accept, 0),
	[RDMA_USER_CM_CMD_REJECT] = COMMAND(reject_id, sizeof(struct rdma_ucm_reject), reject, 0),
	[RDMA_USER_CM_CMD_DISCONNECT] = COMMAND(disconnect_id, sizeof(struct rdma_ucm_disconnect), disconnect, 0),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = COMMAND(init_qp_attr, sizeof(struct rdma_ucm_init_qp_attr), init_qp_attr,
						  sizeof(struct ib_uverbs_qp_attr)),
	[RDMA_USER_CM_CMD_NOTIFY] = COMMAND(notify, sizeof(struct rdma_ucm_notify), notify, 0),
	[RDMA_USER_CM_CMD_QUERY] = COMMAND(query, sizeof(struct rdma_ucm_query), query, 0),
	[RDMA_USER_CM_CMD_BIND] = COMMAND(bind_any, 8, bind, 0),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = COMMAND(resolve_addr, sizeof(struct rdma_ucm_resolve_addr), resolve_addr, 0),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = COMMAND(ucma_join_ip, offsetof(struct rdma_ucm_join_ip_mcast, id) + 4, join_ip_mcast,
						   sizeof(struct rdma_ucm_create_id_resp)),
	[RDMA_USER_CM_CMD_JOIN_MCAST] = COMMAND(ucma_join, sizeof(struct rdma_ucm_join_mcast), join_mcast,
						sizeof(struct rdma_ucm_create_id_resp)),
#undef COMMAND
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))
_Static_assert(sizeof(struct rdma_ucm_resolve_addr) + sizeof(struct rdma_ucm_cmd_hdr) <= IPC_CM_MAX, "a command fits");

static int option(struct broker_ucma *u, uint8_t slot, const uint8_t *body, uint32_t len)
{
	struct rdma_ucm_set_option command;
	struct ucma_id *id;
	int err;

	if (len < sizeof(command))
		return EINVAL;
	memcpy(&command, body, sizeof(command));
	if (command.optlen != len - sizeof(command) || command.optlen == 0)
		return EINVAL;
	id = ucma_find(u, slot, command.id);
	if (id == NULL)
		return ENOENT;
	err = set_option(u, id, &command, body + sizeof(command));
	if (err == 0)
		ucma_keep(u, id);
	return err;
}

static int dispatch(struct broker_ucma *u, uint8_t slot, uint32_t cmd, const uint8_t *body, uint32_t len, struct ucma_answer *out)
{
	_Alignas(8) uint8_t in[IPC_CM_MAX] = { 0 };
	uint32_t number;
	struct ucma_id *id;

	memcpy(in, body, len);
	if (cmd == RDMA_USER_CM_CMD_SET_OPTION)
		return option(u, slot, in, len);
	if (cmd == RDMA_USER_CM_CMD_CREATE_ID) {
		out->len = sizeof(struct rdma_ucm_create_id_resp);
		if (out->room < out->len)
			return ENOSPC;
		return len < sizeof(struct rdma_ucm_create_id) ? EINVAL : create_id(u, slot, in, out);
	}
	if (cmd == RDMA_USER_CM_CMD_LEAVE_MCAST) { /* of a group, not of an id */
		out->len = sizeof(struct rdma_ucm_destroy_id_resp);
		if (out->room < out->len)
			return ENOSPC;
		return len < offsetof(struct rdma_ucm_destroy_id, reserved) ? EINVAL : ucma_leave(u, slot, in, out);
	}
	if (cmd >= COMMANDS)
		return EINVAL;
	if (commands[cmd].call == NULL)
		return ENOSYS;
	if (len < commands[cmd].in_min)
		return EINVAL;
	/* Before it does anything: nobody would learn of it. */
	if (out->room < commands[cmd].out)
		return ENOSPC;
	/* A newer program's command may be longer, if it says nothing there. */
	for (uint32_t i = commands[cmd].in; i < len; i++)
		if (in[i] != 0)
			return EINVAL;
	memcpy(&number, in + commands[cmd].id_offset, sizeof(number));
	id = ucma_find(u, slot, number);
	if (id == NULL)
		return ENOENT;
	cm_request_taken(u->cm, id->ref);
	out->len = commands[cmd].out;
	return commands[cmd].call(u, id, in, out);
}

void ucma_pump(struct broker_ucma *u)
{
	struct cm_send message;
	struct cm_event event;
	bool more = true;

	while (more) {
		more = false;
		while (cm_message_next(u->cm, &message)) {
			u->ops->transmit(u->context, &message);
			more = true;
		}
		while (cm_event_next(u->cm, &event)) {
			ucma_event_engine(u, &event);
			more = true;
		}
	}
}

void broker_ucma_call(struct broker_ucma *u, uint8_t slot, const struct ipc_cm *call)
{
	struct rdma_ucm_cmd_hdr header;
	struct ucma_answer answer = { .len = 0 };
	int err = EINVAL;

	if (call->len >= sizeof(header)) {
		memcpy(&header, call->bytes, sizeof(header));
		answer.room = header.out;
		/* For SET_OPTION the value follows the command, and header.in counts both. */
		if (header.in <= call->len - sizeof(header))
			err = dispatch(u, slot, header.cmd, call->bytes + sizeof(header), header.in, &answer);
	}
	const struct ipc_message m = { .type = IPC_CM_ANSWER, .cm = { .id = call->id, .status = (uint32_t)err,
		.len = err == 0 ? answer.len : 0, .bytes = answer.bytes } };

	u->ops->send(u->context, slot, &m);
	ucma_groups_tell(u);
	ucma_pump(u);
}

void broker_ucma_gone(struct broker_ucma *u, uint8_t slot)
{
	cm_owner_gone(u->cm, u->ops->now(u->context), slot);
	ucma_each(u, slot, forget, NULL);
	ucma_groups_gone(u, slot);
	ucma_pump(u);
}

void broker_ucma_receive(struct broker_ucma *u, const struct cm_path *from, const uint8_t *mad, size_t len)
{
	cm_receive(u->cm, u->ops->now(u->context), from, mad, len);
	ucma_pump(u);
}

uint64_t broker_ucma_deadline(const struct broker_ucma *u)
{
	uint64_t engine = cm_deadline(u->cm), query = ucma_query_deadline(u);

	return engine < query ? engine : query;
}

void broker_ucma_tick(struct broker_ucma *u)
{
	uint64_t now = u->ops->now(u->context);

	ucma_query_tick(u, now);
	if (now < cm_deadline(u->cm))
		return;
	cm_tick(u->cm, now);
	ucma_pump(u);
}

static void device_check(struct broker_ucma *u, struct ucma_id *id, const void *argument)
{
	const uint64_t devices = *(const uint64_t *)argument;

	if (id->device < 0 || id->device >= NETDEV_MAX_DEVICES || !(devices >> id->device & 1) ||
	    (uint32_t)id->device >= u->table->count || u->table->devices[id->device].ifindex != 0)
		return;
	id->device = -1; /* told once */
	if (id->uid != 0)
		ucma_event_plain(u, id, 11 /* RDMA_CM_EVENT_DEVICE_REMOVAL */, 0);
}

void broker_ucma_netdev_changed(struct broker_ucma *u, uint64_t devices)
{
	ucma_each(u, 0, device_check, &devices);
}

bool broker_ucma_is_idle(const struct broker_ucma *u)
{
	const struct cm_stats *stats = cm_stats_get(u->cm);

	return u->count == 0 && stats->ids == stats->timewait;
}

const struct cm_stats *broker_ucma_stats(const struct broker_ucma *u)
{
	return cm_stats_get(u->cm);
}
