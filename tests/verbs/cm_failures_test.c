/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections by address that fail on the way, as programs see it: the event, its status, the errno of the synchronous call, and
 * what becomes of the queue pair. With the retries of the fast profile (SOFTVERBS_CM=fast). Of the interfaces sva and svb, ends of
 * a veth pair, sva knows a neighbour that takes every packet and never says a word.
 */
#include "cm_ids.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SILENT "10.97.0.77"

static void silence_make(void)
{
	harness_ip_can("link del sva"); /* of the case before, where the namespace is the same */
	harness_ip("link add sva type veth peer name svb");
	harness_ip("addr add 10.97.0.1/24 dev sva");
	harness_ip("link set svb up");
	harness_ip("link set sva up");
	harness_ip("neigh add " SILENT " lladdr 02:00:00:00:00:77 nud permanent dev sva");
}

/*
 * An id whose route is known; it waits for answers as long as packets live on the way, so we say that they live short. The broker
 * may hear of an interface a moment later than we made it.
 */
static struct rdma_cm_id *soon_routed(struct rdma_event_channel *c, enum rdma_port_space ps, const char *to, uint16_t port)
{
	const uint64_t end = harness_now_ms() + 5000;
	struct rdma_cm_id *id = id_of(c, ps);
	uint8_t ack_timeout = 8; /* 1 ms */

	if (ps == RDMA_PS_TCP)
		need_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout, 1), 0);
	while (resolve4(id, NULL, to, port) != 0) {
		need(errno == ENODEV && harness_now_ms() < end);
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	}
	if (c != NULL)
		event_of(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	need_equal(rdma_resolve_route(id, 1000), 0);
	if (c != NULL)
		event_of(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return id;
}

static struct rdma_cm_id *silently_routed(struct rdma_event_channel *c, enum rdma_port_space ps)
{
	return soon_routed(c, ps, SILENT, 7000);
}

/* Numbers that no case before used: a peer that comes with the QP of a connection that waits to be forgotten is refused as stale. */
static uint32_t fresh_qpn(void)
{
	static uint32_t count;

	return ((uint32_t)getpid() * 16 + count++) & 0xffffff;
}

static int qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	need_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static void nobody_answers(void)
{
	struct rdma_conn_param ask = { .retry_count = 7 };
	struct rdma_event_channel *c = channel();

	silence_make();
	struct rdma_cm_id *id = silently_routed(c, RDMA_PS_TCP), *sync = silently_routed(NULL, RDMA_PS_TCP);
	qp_of(id);
	need_equal(rdma_connect(id, &ask), 0);
	event_of(c, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	refused(rdma_connect(id, &ask), EINVAL);
	rdma_destroy_qp(id);
	need_equal(rdma_destroy_id(id), 0);
	qp_of(sync);
	refused(rdma_connect(sync, &ask), ETIMEDOUT);
	need_equal(sync->event->event, RDMA_CM_EVENT_UNREACHABLE);
	rdma_destroy_qp(sync);
	need_equal(rdma_destroy_id(sync), 0);
	rdma_destroy_event_channel(c);
}

static void nobody_answers_datagrams(void)
{
	struct rdma_conn_param ask = { 0 };
	struct rdma_event_channel *c = channel();

	silence_make();
	struct rdma_cm_id *id = silently_routed(c, RDMA_PS_UDP), *sync = silently_routed(NULL, RDMA_PS_UDP);
	need_equal(rdma_connect(id, &ask), 0);
	event_of(c, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	need_equal(rdma_destroy_id(id), 0);
	refused(rdma_connect(sync, &ask), ETIMEDOUT);
	need_equal(rdma_destroy_id(sync), 0);
	rdma_destroy_event_channel(c);
}

/* Both ends in this process: a server and a client whose request it has, with or without QPs. */
struct two {
	struct rdma_event_channel *server, *client;
	struct rdma_cm_id *listener, *asking, *asked;
};

static struct two two_of(enum rdma_port_space ps, bool qps)
{
	struct two t = { .server = channel(), .client = channel() };
	struct rdma_conn_param ask = { .qp_num = fresh_qpn(), .retry_count = 7 };
	uint16_t port;

	t.listener = listener_of(t.server, ps, &port);
	t.asking = soon_routed(t.client, ps, "127.0.0.1", port);
	if (qps)
		qp_of(t.asking);
	need_equal(rdma_connect(t.asking, &ask), 0);
	t.asked = event_of(t.server, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	if (qps)
		qp_of(t.asked);
	return t;
}

static void two_end(struct two *t)
{
	if (t->asking->qp != NULL)
		rdma_destroy_qp(t->asking);
	if (t->asked->qp != NULL)
		rdma_destroy_qp(t->asked);
	need_equal(rdma_destroy_id(t->asked), 0);
	need_equal(rdma_destroy_id(t->asking), 0);
	need_equal(rdma_destroy_id(t->listener), 0);
	rdma_destroy_event_channel(t->server);
	rdma_destroy_event_channel(t->client);
}

/* The reply is never answered: the client's program does not look at its events, and its broker asks for patience, time after time. */
static void reply_without_answer(void)
{
	if (!harness_is_full())
		harness_skip("it takes eight seconds: SOFTVERBS_CHECK=full");
	struct two t = two_of(RDMA_PS_TCP, true);
	struct rdma_conn_param answer = { .retry_count = 7 };

	need_equal(rdma_accept(t.asked, &answer), 0);
	event_of(t.server, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	two_end(&t);
}

static void server_refuses(void)
{
	struct two t = two_of(RDMA_PS_TCP, true);
	struct rdma_cm_event *event;

	need_equal(rdma_reject(t.asked, "why", 4), 0);
	event = event_take(t.client, RDMA_CM_EVENT_REJECTED, 28);
	need(event->param.conn.private_data_len == 148 && memcmp(event->param.conn.private_data, "why", 4) == 0);
	rdma_ack_cm_event(event);
	need_equal(qp_state(t.asking->qp), IBV_QPS_ERR);
	two_end(&t);
}

static void server_refuses_options(void)
{
	struct two t = two_of(RDMA_PS_TCP, true);
	struct rdma_cm_event *event;
	static const char too_long[149];

	refused(rdma_reject_ece(t.asked, too_long, 149), EINVAL);
	need_equal(rdma_reject_ece(t.asked, "options", 8), 0);
	event = event_take(t.client, RDMA_CM_EVENT_REJECTED, 35);
	need(event->param.conn.private_data_len == 148 && memcmp(event->param.conn.private_data, "options", 8) == 0);
	rdma_ack_cm_event(event);
	need_equal(qp_state(t.asking->qp), IBV_QPS_ERR);
	two_end(&t);
}

/* A client with a QP of its own looks at the reply first. */
static void client_refuses(bool options, int reason)
{
	struct two t = two_of(RDMA_PS_TCP, false);
	struct rdma_conn_param answer = { .qp_num = fresh_qpn(), .retry_count = 7 };
	struct rdma_cm_event *event;

	need_equal(rdma_accept(t.asked, &answer), 0);
	event_of(t.client, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	need_equal(options ? rdma_reject_ece(t.asking, "no", 3) : rdma_reject(t.asking, "no", 3), 0);
	event = event_take(t.server, RDMA_CM_EVENT_REJECTED, reason);
	need(memcmp(event->param.conn.private_data, "no", 3) == 0);
	rdma_ack_cm_event(event);
	two_end(&t);
}

static void client_refuses_reply(void) { client_refuses(false, 28); }
static void client_refuses_options(void) { client_refuses(true, 35); }

static void datagram_service_refuses(void)
{
	struct two t = two_of(RDMA_PS_UDP, false);

	need_equal(rdma_reject(t.asked, NULL, 0), 0);
	event_of(t.client, RDMA_CM_EVENT_UNREACHABLE, 2);
	two_end(&t);
}

/* The library cannot finish: the program took the QP away from under it. What comes later is not told. */
static void client_cannot_finish(void)
{
	struct two t = two_of(RDMA_PS_TCP, true);
	struct rdma_conn_param answer = { .retry_count = 7 };
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct rdma_cm_event *event;

	need_equal(ibv_modify_qp(t.asking->qp, &error, IBV_QP_STATE), 0);
	need_equal(rdma_accept(t.asked, &answer), 0);
	event_of(t.client, RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL);
	rdma_destroy_qp(t.asking);
	need_equal(rdma_disconnect(t.asked), 0);
	need_equal(rdma_destroy_id(t.asked), 0);
	need_equal(fcntl(t.client->fd, F_SETFL, O_NONBLOCK), 0);
	need(fd_is_readable(t.client->fd, 5000));
	refused(rdma_get_cm_event(t.client, &event), EAGAIN);
	need_equal(rdma_destroy_id(t.asking), 0);
	need_equal(rdma_destroy_id(t.listener), 0);
	rdma_destroy_event_channel(t.server);
	rdma_destroy_event_channel(t.client);
}

/*
 * The vendor of the reply is not that of the QP: a request that said something else, made before there was a QP, brings about what
 * only a broken server does otherwise.
 */
static void reply_of_another_vendor(void)
{
	struct two t = { .server = channel(), .client = channel() };
	struct ibv_ece ece = { .vendor_id = 0x123456, .options = 1 };
	struct rdma_conn_param param = { .qp_num = fresh_qpn(), .retry_count = 7 };
	uint16_t port;

	t.listener = listener_of(t.server, RDMA_PS_TCP, &port);
	t.asking = routed(t.client, RDMA_PS_TCP, port);
	need_equal(rdma_set_local_ece(t.asking, &ece), 0);
	need_equal(rdma_connect(t.asking, &param), 0);
	t.asked = event_of(t.server, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	qp_of(t.asking);
	param.qp_num = fresh_qpn();
	need_equal(rdma_accept(t.asked, &param), 0);
	event_of(t.client, RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL);
	need_equal(qp_state(t.asking->qp), IBV_QPS_ERR);
	two_end(&t);
}

static void private_data_too_long(void)
{
	static uint8_t data[256];
	static const struct {
		enum rdma_port_space ps;
		uint8_t request, answer;
	} rows[] = { { RDMA_PS_TCP, 56, 196 }, { RDMA_PS_UDP, 180, 136 } };

	for (int i = 0; i < 2; i++) {
		struct rdma_event_channel *cs = channel(), *cc = channel();
		struct rdma_conn_param param = { .private_data = data, .qp_num = fresh_qpn() };
		uint16_t port;
		struct rdma_cm_id *listener = listener_of(cs, rows[i].ps, &port), *id = routed(cc, rows[i].ps, port);

		param.private_data_len = (uint8_t)(rows[i].request + 1);
		refused(rdma_connect(id, &param), EINVAL);
		param.private_data_len = rows[i].request;
		need_equal(rdma_connect(id, &param), 0);
		struct rdma_cm_id *child = event_of(cs, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
		refused(rdma_reject(child, data, (uint8_t)(rows[i].ps == RDMA_PS_TCP ? 149 : 137)), EINVAL);
		param.private_data_len = (uint8_t)(rows[i].answer + 1);
		refused(rdma_accept(child, &param), EINVAL);
		need_equal(rdma_destroy_id(id), 0);
		need_equal(rdma_destroy_id(child), 0);
		need_equal(rdma_destroy_id(listener), 0);
		rdma_destroy_event_channel(cs);
		rdma_destroy_event_channel(cc);
	}
}

static const struct harness_case cases[] = {
	{ "nobody-answers", "UNREACHABLE, -ETIMEDOUT; synchronously ETIMEDOUT", nobody_answers },
	{ "nobody-answers-datagrams", "the same for services of datagrams", nobody_answers_datagrams },
	{ "reply-without-answer", "the server's UNREACHABLE, -ETIMEDOUT", reply_without_answer },
	{ "server-refuses", "REJECTED 28 with private data, the QP in error", server_refuses },
	{ "server-refuses-options", "REJECTED 35 with private data, the QP in error", server_refuses_options },
	{ "client-refuses-reply", "the server's REJECTED 28", client_refuses_reply },
	{ "client-refuses-options", "the server's REJECTED 35", client_refuses_options },
	{ "datagram-service-refuses", "UNREACHABLE, status 2", datagram_service_refuses },
	{ "client-cannot-finish", "CONNECT_ERROR, and nothing after it", client_cannot_finish },
	{ "reply-of-another-vendor", "CONNECT_ERROR, the QP in error", reply_of_another_vendor },
	{ "private-data-too-long", "EINVAL beyond what a message holds", private_data_too_long },
};

int main(int argc, char **argv)
{
	harness_wants_interfaces();
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
