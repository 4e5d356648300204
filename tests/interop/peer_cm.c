/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections by address: ECE of queue pairs that the program makes itself, both ways and bit by bit; queue pairs of
 * rdma_create_qp(), where one side knows no ECE; services of datagrams; and refusals: with words, for the sake of ECE (of the
 * request and of the reply), by nobody.
 */
#include "peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR 0x02c903u /* none of either side: nobody may make sense of the options, or touch them */
#define ASKED 0x81020304u
#define GRANTED 0x80000004u
#define MESSAGE 3000u
#define RESOLVE_MS 5000

static const char words[] = "private data of the one", other_words[] = "of the other", refusal[] = "private data of the refusal";

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *service; /* connections, datagrams */

static struct rdma_cm_event *event_of(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	must(rdma_get_cm_event(channel, &event) == 0);
	if (event->event != type)
		fprintf(stderr, "event %s, status %d; expected was %s\n", rdma_event_str(event->event), event->status,
			rdma_event_str(type));
	must(event->event == type);
	return event;
}

static void wait_for(enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event = event_of(type);

	if (event->status != status)
		fprintf(stderr, "%s: status %d, not %d\n", rdma_event_str(type), event->status, status);
	must(event->status == status);
	must(rdma_ack_cm_event(event) == 0);
}

static void has_words(const struct rdma_cm_event *event, const char *text)
{
	must(event->param.conn.private_data_len >= strlen(text) && event->param.conn.private_data != NULL);
	must(memcmp(event->param.conn.private_data, text, strlen(text)) == 0);
}

static struct rdma_conn_param params(const char *text, uint32_t qpn)
{
	return (struct rdma_conn_param){
		.private_data = text,
		.private_data_len = (uint8_t)strlen(text),
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = qpn,
	};
}

/* ---- ids ---- */

/* At every address: the client comes by either family. */
static struct rdma_cm_id *listening(struct peer *peer, enum rdma_port_space space)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(peer->port))};
	struct rdma_cm_id *id;

	must(rdma_create_id(channel, &id, NULL, space) == 0);
	must(rdma_bind_addr(id, (struct sockaddr *)&any) == 0);
	must(rdma_listen(id, 4) == 0);
	return id;
}

/* A client's id, ready to connect. port: how far behind the server's. */
static struct rdma_cm_id *resolved(struct peer *peer, int port, enum rdma_port_space space)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *found;
	struct rdma_cm_id *id;
	char text[16];

	snprintf(text, sizeof(text), "%d", atoi(peer->port) + port);
	must(getaddrinfo(peer->server, text, &hints, &found) == 0);
	must(rdma_create_id(channel, &id, NULL, space) == 0);
	must(rdma_resolve_addr(id, NULL, found->ai_addr, RESOLVE_MS) == 0);
	wait_for(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	must(rdma_resolve_route(id, RESOLVE_MS) == 0);
	wait_for(RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	freeaddrinfo(found);
	return id;
}

/* ---- queue pairs of an id ---- */

static void to_state(struct peer *end, struct rdma_cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask;

	must(rdma_init_qp_attr(id, &attr, &mask) == 0);
	must(ibv_modify_qp(end->qp, &attr, mask) == 0);
}

/* The peer, but with the id's device and a queue pair for it that has a receive. */
static struct peer end_open(const struct peer *peer, struct rdma_cm_id *id, bool managed)
{
	struct peer end = *peer;
	struct ibv_qp_init_attr want = {.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};

	for (size_t at = 0; at < PEER_BUFFER; at++)
		end.buffer[at] = at < MESSAGE ? peer_pattern(at) : 0;
	end.pd = ibv_alloc_pd(id->verbs);
	end.cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	must(end.pd != NULL && end.cq != NULL);
	end.mr = ibv_reg_mr(end.pd, end.buffer, PEER_BUFFER, IBV_ACCESS_LOCAL_WRITE);
	want.send_cq = want.recv_cq = end.cq;
	must(end.mr != NULL);
	if (managed) {
		must(rdma_create_qp(id, end.pd, &want) == 0);
		end.qp = id->qp;
	} else {
		end.qp = ibv_create_qp(end.pd, &want);
		must(end.qp != NULL);
		to_state(&end, id, IBV_QPS_INIT);
	}
	peer_receive(&end, 1);
	return end;
}

static void end_close(struct peer *end, struct rdma_cm_id *id)
{
	if (id->qp != NULL)
		rdma_destroy_qp(id);
	else
		must(ibv_destroy_qp(end->qp) == 0);
	must(ibv_dereg_mr(end->mr) == 0 && ibv_destroy_cq(end->cq) == 0 && ibv_dealloc_pd(end->pd) == 0);
	must(rdma_destroy_id(id) == 0);
}

static void arrived(struct peer *end)
{
	struct ibv_wc wc = peer_completion_of(end, 1001, IBV_WC_SUCCESS);

	must(wc.byte_len == MESSAGE);
	for (size_t at = 0; at < MESSAGE; at++)
		must(end->buffer[PEER_SLOT + at] == peer_pattern(at));
}

/* A message there and one back; then it is over. */
static void talk(struct peer *end, struct rdma_cm_id *id)
{
	const struct peer_operation send = {.words = "SEND", .opcode = IBV_WR_SEND, .len = MESSAGE};

	if (!end->is_client)
		arrived(end);
	peer_post(end, &send, 1, 0);
	peer_completion_of(end, 1, IBV_WC_SUCCESS);
	if (end->is_client)
		arrived(end);
	peer_meet(end);
	if (end->is_client)
		must(rdma_disconnect(id) == 0);
	wait_for(RDMA_CM_EVENT_DISCONNECTED, 0);
	if (!end->is_client)
		must(rdma_disconnect(id) == 0);
	peer_meet(end);
	end_close(end, id);
}

/* ---- one case after another ---- */

static void is_ece(struct rdma_cm_id *id, uint32_t options)
{
	struct ibv_ece ece;

	must(rdma_get_remote_ece(id, &ece) == 0);
	printf("    the other's ECE: vendor %06x, options %08x\n", ece.vendor_id, ece.options);
	must(ece.vendor_id == VENDOR && ece.options == options);
}

static void external_client(struct peer *peer)
{
	struct rdma_cm_id *id = resolved(peer, 0, RDMA_PS_TCP);
	struct peer end = end_open(peer, id, false);
	struct rdma_conn_param param = params(words, end.qp->qp_num);
	struct rdma_cm_event *event;

	must(rdma_set_local_ece(id, &(struct ibv_ece){.vendor_id = VENDOR, .options = ASKED}) == 0);
	must(rdma_connect(id, &param) == 0);
	event = event_of(RDMA_CM_EVENT_CONNECT_RESPONSE);
	has_words(event, other_words);
	must(rdma_ack_cm_event(event) == 0);
	is_ece(id, GRANTED);
	to_state(&end, id, IBV_QPS_RTR);
	to_state(&end, id, IBV_QPS_RTS);
	must(rdma_establish(id) == 0);
	talk(&end, id);
}

static void external_server(struct peer *peer)
{
	struct rdma_cm_event *event = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;
	struct peer end = end_open(peer, id, false);
	struct rdma_conn_param param = params(other_words, end.qp->qp_num);

	has_words(event, words);
	is_ece(id, ASKED);
	to_state(&end, id, IBV_QPS_RTR);
	to_state(&end, id, IBV_QPS_RTS);
	must(rdma_set_local_ece(id, &(struct ibv_ece){.vendor_id = VENDOR, .options = GRANTED}) == 0);
	must(rdma_accept(id, &param) == 0);
	must(rdma_ack_cm_event(event) == 0);
	wait_for(RDMA_CM_EVENT_ESTABLISHED, 0);
	talk(&end, id);
}

/* rxe has no ECE: its reply grants nothing. (A server was asked for nothing; its queue pair goes on telling what it could.) */
static void is_plain(struct peer *end)
{
	struct ibv_ece ece;

	if (ibv_query_ece(end->qp, &ece) == 0) {
		printf("    in force: vendor %06x, options %08x\n", ece.vendor_id, ece.options);
		must(ece.options == 0);
	}
}

static void managed_client(struct peer *peer)
{
	struct rdma_cm_id *id = resolved(peer, 0, RDMA_PS_TCP);
	struct peer end = end_open(peer, id, true);
	struct rdma_conn_param param = params(words, 0);

	must(rdma_connect(id, &param) == 0);
	wait_for(RDMA_CM_EVENT_ESTABLISHED, 0);
	is_plain(&end);
	talk(&end, id);
}

static void managed_server(struct peer *peer)
{
	struct rdma_cm_event *event = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;
	struct peer end = end_open(peer, id, true);
	struct rdma_conn_param param = params(other_words, 0);

	must(rdma_accept(id, &param) == 0);
	must(rdma_ack_cm_event(event) == 0);
	wait_for(RDMA_CM_EVENT_ESTABLISHED, 0);
	talk(&end, id);
}

/* port: how far behind that of the server. */
static void refused(struct peer *peer, int port, int reason, const char *text)
{
	struct rdma_cm_id *id = resolved(peer, port, RDMA_PS_TCP);
	struct rdma_conn_param param = params(words, 0xabcd);
	struct rdma_cm_event *event;

	must(rdma_set_local_ece(id, &(struct ibv_ece){.vendor_id = VENDOR, .options = ASKED}) == 0);
	must(rdma_connect(id, &param) == 0);
	event = event_of(RDMA_CM_EVENT_REJECTED);
	printf("    refused: %d\n", event->status);
	must(event->status == reason);
	if (text != NULL)
		has_words(event, text);
	must(rdma_ack_cm_event(event) == 0);
	must(rdma_destroy_id(id) == 0);
}

static void refuses(int (*refuse)(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len), const char *text)
{
	struct rdma_cm_event *event = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;

	must(refuse(id, text, (uint8_t)(text ? strlen(text) : 0)) == 0);
	must(rdma_ack_cm_event(event) == 0);
	must(rdma_destroy_id(id) == 0);
}

/* The server has accepted, and the client does not like how. */
static void reply_refused(struct peer *peer)
{
	struct rdma_conn_param param = params(words, 0xabcd);
	struct rdma_cm_id *id;

	if (peer->is_client) {
		id = resolved(peer, 0, RDMA_PS_TCP);
		must(rdma_connect(id, &param) == 0);
		wait_for(RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
		must(rdma_reject_ece(id, refusal, strlen(refusal)) == 0);
	} else {
		struct rdma_cm_event *event = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);

		id = event->id;
		must(rdma_accept(id, &param) == 0 && rdma_ack_cm_event(event) == 0);
		wait_for(RDMA_CM_EVENT_REJECTED, 35);
	}
	peer_meet(peer);
	must(rdma_destroy_id(id) == 0);
}

/* ---- datagrams ---- */

static void service_found(struct peer *peer)
{
	struct rdma_conn_param param = params(peer->is_client ? words : other_words, 0xdcba);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (peer->is_client) {
		id = resolved(peer, 0, RDMA_PS_UDP);
		must(rdma_connect(id, &param) == 0);
		event = event_of(RDMA_CM_EVENT_ESTABLISHED);
		must(event->param.ud.qp_num == 0xdcba && event->param.ud.qkey == RDMA_UDP_QKEY);
		must(event->param.ud.private_data_len >= strlen(other_words));
		must(memcmp(event->param.ud.private_data, other_words, strlen(other_words)) == 0);
	} else {
		event = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);
		id = event->id;
		must(event->param.ud.private_data_len >= strlen(words));
		must(memcmp(event->param.ud.private_data, words, strlen(words)) == 0);
		must(rdma_accept(id, &param) == 0);
	}
	must(rdma_ack_cm_event(event) == 0);
	peer_meet(peer);
	must(rdma_destroy_id(id) == 0);
}

/* status: of the SIDR_REP. */
static void service_refused(struct peer *peer, int port, int status)
{
	struct rdma_cm_id *id = resolved(peer, port, RDMA_PS_UDP);
	struct rdma_conn_param param = params(words, 0);

	must(rdma_connect(id, &param) == 0);
	wait_for(RDMA_CM_EVENT_UNREACHABLE, status);
	must(rdma_destroy_id(id) == 0);
}

static void service_refuses(struct peer *peer)
{
	if (peer->is_client)
		service_refused(peer, 0, 2);
	else
		refuses(rdma_reject, refusal);
}

static void service_of_nobody(struct peer *peer)
{
	if (peer->is_client)
		service_refused(peer, 1, 1);
}

static void external(struct peer *peer)
{
	(peer->is_client ? external_client : external_server)(peer);
}

static void managed(struct peer *peer)
{
	(peer->is_client ? managed_client : managed_server)(peer);
}

static void with_words(struct peer *peer)
{
	if (peer->is_client)
		refused(peer, 0, 28, refusal); /* consumer defined */
	else
		refuses(rdma_reject, refusal);
}

static void for_the_options(struct peer *peer)
{
	if (peer->is_client)
		refused(peer, 0, 35, refusal); /* vendor option not supported */
	else
		refuses(rdma_reject_ece, refusal);
}

static void by_nobody(struct peer *peer)
{
	if (peer->is_client)
		refused(peer, 1, 8, NULL); /* no such service */
}

void peer_run_cm(struct peer *peer)
{
	static const struct {
		const char *words;
		void (*run)(struct peer *peer);
	} cases[] = {
		{"queue pairs of our own, ECE", external}, {"rdma_create_qp", managed}, {"refused", with_words},
		{"refused, vendor option not supported", for_the_options}, {"the reply refused, the same", reply_refused},
		{"nobody listens", by_nobody}, {"datagrams", service_found}, {"datagrams, refused", service_refuses},
		{"datagrams, nobody listens", service_of_nobody},
	};

	channel = rdma_create_event_channel();
	must(channel != NULL);
	if (!peer->is_client) {
		listener = listening(peer, RDMA_PS_TCP);
		service = listening(peer, RDMA_PS_UDP);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		printf("  %s\n", cases[i].words);
		peer_meet(peer);
		cases[i].run(peer);
	}
	peer_meet(peer);
	if (!peer->is_client)
		must(rdma_destroy_id(listener) == 0 && rdma_destroy_id(service) == 0);
	rdma_destroy_event_channel(channel);
}
