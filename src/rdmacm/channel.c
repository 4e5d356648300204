/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event channels. The descriptor is an eventfd that is readable exactly while something is queued here: programs poll it, put it
 * into epoll sets and make it non-blocking.
 */
#include "rdmacm/id.h"
#include "rdmacm/marshal.h"
#include "rdmacm/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct rdmacm_channel *channels; /* all that live; guarded by rdmacm_lock */

static void signal_set(struct rdmacm_channel *c, bool readable)
{
	uint64_t one = 1;
	ssize_t ignored = readable ? write(c->channel.fd, &one, sizeof(one)) : read(c->channel.fd, &one, sizeof(one));

	(void)ignored;
}

struct rdma_event_channel *rdmacm_channel_new(void)
{
	struct rdmacm_channel *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->channel.fd = eventfd(0, EFD_CLOEXEC);
	if (c->channel.fd < 0) {
		free(c);
		return NULL;
	}
	pthread_mutex_lock(&rdmacm_lock);
	c->next = channels;
	channels = c;
	pthread_mutex_unlock(&rdmacm_lock);
	return &c->channel;
}

/* Lock held. Programs destroy channels that another thread of theirs still waits on (rping does). */
static bool is_alive(const struct rdmacm_channel *c)
{
	const struct rdmacm_channel *each = channels;

	while (each != NULL && each != c)
		each = each->next;
	return each != NULL;
}

void rdmacm_channel_push(struct rdmacm_channel *c, struct rdmacm_arrival *arrival)
{
	arrival->next = NULL;
	if (c->last != NULL)
		c->last->next = arrival;
	else
		c->first = arrival;
	c->last = arrival;
	if (c->first == arrival)
		signal_set(c, true);
}

/* Lock held. NULL: nothing is there. */
static struct rdmacm_arrival *channel_pop(struct rdmacm_channel *c)
{
	struct rdmacm_arrival *arrival = c->first;

	if (arrival == NULL)
		return NULL;
	c->first = arrival->next;
	if (c->first == NULL) {
		c->last = NULL;
		signal_set(c, false);
	}
	return arrival;
}

/* Lock held. Nobody will take it: what a request made is given back to the broker. */
static void arrival_drop(struct rdmacm_arrival *arrival)
{
	if (arrival->event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		rdmacm_orphan_add(arrival->event.id);
	free(arrival);
}

void rdmacm_channel_move(struct rdmacm_channel *from, struct rdmacm_id *id, struct rdmacm_channel *to)
{
	struct rdmacm_arrival *all = from->first, *next;

	if (all == NULL)
		return;
	from->first = from->last = NULL;
	signal_set(from, false);
	for (; all != NULL; all = next) {
		next = all->next;
		if (all->id != id) {
			rdmacm_channel_push(from, all);
		} else if (to != NULL) {
			rdmacm_channel_push(to, all);
		} else {
			arrival_drop(all);
		}
	}
}

RDMACM_PUBLIC struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel;

	if (rdmacm_start() != 0)
		return NULL;
	channel = rdmacm_channel_new();
	if (channel == NULL)
		errno = ENOMEM;
	return channel;
}

void rdmacm_channel_free(struct rdmacm_channel *c)
{
	struct rdmacm_arrival *arrival;

	pthread_mutex_lock(&rdmacm_lock);
	struct rdmacm_channel **at = &channels;
	while (*at != NULL && *at != c)
		at = &(*at)->next;
	if (*at != NULL)
		*at = c->next;
	while ((arrival = channel_pop(c)) != NULL)
		arrival_drop(arrival);
	pthread_mutex_unlock(&rdmacm_lock);
	close(c->channel.fd);
	free(c);
}

RDMACM_PUBLIC void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	/* The ids should be gone by now. Those that are not have no channel any more, and requests to them are given back. */
	pthread_mutex_lock(&rdmacm_lock);
	rdmacm_table_leave(channel);
	pthread_mutex_unlock(&rdmacm_lock);
	rdmacm_channel_free(rdmacm_channel_of(channel));
	rdmacm_orphans_destroy();
}

/* --- events --- */

static void conn_load(struct rdmacm_event *out, const struct rdma_ucm_conn_param *in)
{
	struct rdma_conn_param *conn = &out->event.param.conn;

	conn->private_data_len = in->private_data_len;
	if (in->private_data_len > 0) {
		memcpy(out->private_data, in->private_data, in->private_data_len);
		conn->private_data = out->private_data;
	}
	conn->responder_resources = in->responder_resources;
	conn->initiator_depth = in->initiator_depth;
	conn->flow_control = in->flow_control;
	conn->retry_count = in->retry_count;
	conn->rnr_retry_count = in->rnr_retry_count;
	conn->srq = in->srq;
	conn->qp_num = in->qp_num;
}

static void ud_load(struct rdmacm_event *out, const struct rdma_ucm_ud_param *in)
{
	struct rdma_ud_param *ud = &out->event.param.ud;
	struct ib_uverbs_ah_attr ah = in->ah_attr; /* the call takes no const */

	ud->private_data_len = in->private_data_len;
	if (in->private_data_len > 0) {
		memcpy(out->private_data, in->private_data, in->private_data_len);
		ud->private_data = out->private_data;
	}
	ibv_copy_ah_attr_from_kern(&ud->ah_attr, &ah);
	ud->qp_num = in->qp_num;
	ud->qkey = in->qkey;
}

static void param_load(struct rdmacm_event *out, struct rdmacm_id *id, const struct rdma_ucm_event_resp *in)
{
	if (id->id.qp_type == IBV_QPT_UD)
		ud_load(out, &in->param.ud);
	else
		conn_load(out, &in->param.conn);
}

static void remote_ece_load(struct rdmacm_id *id, const struct rdma_ucm_event_resp *in)
{
	id->remote_ece = (struct ibv_ece){ .vendor_id = in->ece.vendor_id, .options = in->ece.attr_mod };
}

/* A request becomes an id of its own. False: it was given back, nobody is told. */
static bool request_take(struct rdmacm_event *out, struct rdmacm_id *listener, const struct rdma_ucm_event_resp *in)
{
	struct rdmacm_id *id;

	if (rdmacm_id_new(listener->sync ? NULL : listener->id.channel, listener->id.context, listener->id.ps, listener->id.qp_type,
			  &id) != 0)
		goto refuse;
	id->handle = in->id;
	id->passive = true;
	if (rdmacm_route_read(id) != 0) {
		rdmacm_id_free(id);
		goto refuse;
	}
	param_load(out, id, in);
	if (id->id.qp_type != IBV_QPT_UD) {
		id->initiator_depth = in->param.conn.initiator_depth;
		id->responder_resources = in->param.conn.responder_resources;
	}
	remote_ece_load(id, in);
	out->event.listen_id = &listener->id;
	out->event.id = &id->id;
	return true;
refuse:
	pthread_mutex_lock(&rdmacm_lock);
	rdmacm_orphan_add(in->id);
	pthread_mutex_unlock(&rdmacm_lock);
	return false;
}

/* We broke off: the event says so, and the broker's later ones are not told. */
static void connect_error(struct rdmacm_event *out, struct rdmacm_id *id)
{
	out->event.event = RDMA_CM_EVENT_CONNECT_ERROR;
	out->event.status = -errno;
	id->failed = true;
}

/* The reply came. With a QP of ours the connection is finished here, without one it is the program's turn. */
static void reply_take(struct rdmacm_event *out, struct rdmacm_id *id, const struct rdma_ucm_event_resp *in)
{
	const struct rdma_ucm_accept rtu = { .id = id->handle, .uid = id->uid };

	param_load(out, id, in);
	remote_ece_load(id, in);
	if (id->id.qp == NULL) {
		out->event.event = RDMA_CM_EVENT_CONNECT_RESPONSE;
		return;
	}
	out->event.event = RDMA_CM_EVENT_ESTABLISHED;
	if (rdmacm_ece_of_reply(id) != 0 || rdmacm_qp_rtr(id, RDMA_MAX_RESP_RES) != 0 ||
	    rdmacm_qp_rts(id, RDMA_MAX_INIT_DEPTH) != 0 ||
	    rdmacm_call(RDMA_USER_CM_CMD_ACCEPT, &rtu, sizeof(rtu), NULL, 0) != 0) {
		int err = errno;

		rdmacm_qp_error(id);
		errno = err;
		connect_error(out, id);
		return;
	}
	rdmacm_ece_granted(id);
}

static void group_take(struct rdmacm_event *out, struct rdmacm_id *id, const struct rdma_ucm_event_resp *in)
{
	pthread_mutex_lock(&rdmacm_lock);
	out->group = rdmacm_group_find(id, in->uid);
	if (out->group != NULL)
		out->group->delivered++;
	pthread_mutex_unlock(&rdmacm_lock);
	ud_load(out, &in->param.ud);
	if (out->group == NULL)
		return;
	out->event.param.ud.private_data = out->group->context;
	if (in->event == RDMA_CM_EVENT_MULTICAST_JOIN && rdmacm_group_joined(out->group, &out->event) != 0) {
		out->event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
		out->event.status = -errno;
	}
}

/* What this event means for the id and its QP. False: the program is not told. */
static bool event_take(struct rdmacm_event *out, struct rdmacm_id *id, const struct rdma_ucm_event_resp *in)
{
	out->event.id = &id->id;
	out->event.event = (enum rdma_cm_event_type)in->event;
	out->event.status = (int)in->status;
	switch (out->event.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (rdmacm_route_read(id) != 0) {
			out->event.event = out->event.event == RDMA_CM_EVENT_ADDR_RESOLVED ? RDMA_CM_EVENT_ADDR_ERROR :
											     RDMA_CM_EVENT_ROUTE_ERROR;
			out->event.status = -errno;
		}
		return true;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return request_take(out, id, in);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		reply_take(out, id, in);
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (id->id.qp_type == IBV_QPT_UD)
			ud_load(out, &in->param.ud);
		else
			conn_load(out, &in->param.conn);
		return !id->failed;
	case RDMA_CM_EVENT_REJECTED:
		if (id->failed)
			return false;
		conn_load(out, &in->param.conn);
		rdmacm_qp_error(id);
		return true;
	case RDMA_CM_EVENT_DISCONNECTED:
		return !id->failed;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		group_take(out, id, in);
		return true;
	default:
		param_load(out, id, in);
		return true;
	}
}

/*
 * The next arrival, counted as delivered. -1 and errno. Whose channel was destroyed waits on, as in a read of a descriptor that
 * another thread has closed, until a signal comes: programs end by themselves when this call fails.
 */
static int arrival_wait(struct rdmacm_channel *c, struct rdmacm_arrival **out)
{
	const int fd = c->channel.fd;

	for (;;) {
		pthread_mutex_lock(&rdmacm_lock);
		if (!is_alive(c)) {
			pthread_mutex_unlock(&rdmacm_lock);
			poll(NULL, 0, -1);
			return rdmacm_fail(EBADF);
		}
		*out = channel_pop(c);
		if (*out != NULL)
			(*out)->id->delivered++;
		pthread_mutex_unlock(&rdmacm_lock);
		if (*out != NULL)
			return 0;
		if (fcntl(fd, F_GETFL) & O_NONBLOCK)
			return rdmacm_fail(EAGAIN);
		struct pollfd p = { .fd = fd, .events = POLLIN };
		if (poll(&p, 1, -1) < 0)
			return -1;
	}
}

static void event_done(struct rdmacm_id *about, struct rdmacm_group *group)
{
	pthread_mutex_lock(&rdmacm_lock);
	about->delivered--;
	if (group != NULL)
		group->delivered--;
	pthread_cond_broadcast(&rdmacm_acked);
	pthread_mutex_unlock(&rdmacm_lock);
}

RDMACM_PUBLIC int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct rdmacm_arrival *arrival = NULL;
	struct rdmacm_event *out;

	if (channel == NULL || event == NULL)
		return rdmacm_fail(EINVAL);
	rdmacm_orphans_destroy();
	out = calloc(1, sizeof(*out));
	if (out == NULL)
		return rdmacm_fail(ENOMEM);
	for (;;) {
		if (arrival_wait(rdmacm_channel_of(channel), &arrival) != 0) {
			int err = errno;

			free(out);
			return rdmacm_fail(err);
		}
		memset(out, 0, sizeof(*out));
		out->about = arrival->id;
		bool told = event_take(out, arrival->id, &arrival->event);
		free(arrival);
		if (told)
			break;
		event_done(out->about, NULL);
	}
	*event = &out->event;
	return 0;
}

RDMACM_PUBLIC int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct rdmacm_event *e = (struct rdmacm_event *)(void *)event;

	if (event == NULL)
		return rdmacm_fail(EINVAL);
	event_done(e->about, e->group);
	free(e);
	return 0;
}
