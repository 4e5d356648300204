/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What comes of ECE between adapters of all kinds: each client with each server, with QPs of rdma_create_qp and with QPs that the
 * programs make themselves, accepted and rejected. softverbs-ece(7) has the table; it is read from there (SOFTVERBS_PAGE is its
 * source) and compared with what was seen. Where it differs the table as it should be is printed.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 4, COLUMNS = 7, CELL = 32, REJECTED = 35, ERROR_STATUS = 1 << 16 };

static const struct kind {
	const char *name, *ece, *options;
} kinds[KINDS] = {
	{ "ours", "on", "0xffffffff" },
	{ "subset", "on", "0xfffffffe" },
	{ "foreign", "0x0015b3", "0x3" },
	{ "off", "off", "0xffffffff" },
};

/* Of one connection, as far as each side could look; vendor 0: none. */
struct seen {
	struct ibv_ece request, granted, reply, in_force;
	int status;   /* of the event that ended connecting; ERROR_STATUS: not the event that it should be */
};

/* [0] QPs of rdma_create_qp(), [1] QPs of the program. */
struct report {
	struct seen accepted[2], rejected[2];
};

static const struct kind *playing; /* in a peer: what it is */
static struct rdma_event_channel *channel;
static struct ibv_cq *cq; /* of a QP that the program made */

static void play(void)
{
	need_equal(setenv("SOFTVERBS_ECE", playing->ece, 1), 0);
	need_equal(setenv("SOFTVERBS_ECE_OPTIONS", playing->options, 1), 0);
	channel = rdma_create_event_channel();
	need(channel != NULL);
}

static struct rdma_cm_id *expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	need_equal(rdma_get_cm_event(channel, &event), 0);
	struct rdma_cm_id *id = event->id;
	if (event->event != type || event->status != 0)
		harness_fail(__FILE__, __LINE__, "%s, status %d, not %s", rdma_event_str(event->event), event->status, rdma_event_str(type));
	rdma_ack_cm_event(event);
	return id;
}

/* What the QP tells; zeros without ECE. */
static struct ibv_ece told(struct ibv_qp *qp)
{
	struct ibv_ece ece = { 0 };
	int err = ibv_query_ece(qp, &ece);

	need(err == 0 || err == EOPNOTSUPP);
	return err == 0 ? ece : (struct ibv_ece){ 0 };
}

static struct ibv_ece remote_of(struct rdma_cm_id *id)
{
	struct ibv_ece ece;

	need_equal(rdma_get_remote_ece(id, &ece), 0);
	return ece;
}

static struct ibv_qp *qp_make(struct rdma_cm_id *id, bool own)
{
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	if (!own) {
		need_equal(rdma_create_qp(id, NULL, &attr), 0);
		return id->qp;
	}
	cq = ibv_create_cq(id->verbs, 8, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = cq;
	struct ibv_qp *qp = cq != NULL ? ibv_create_qp(id->pd, &attr) : NULL;
	need(qp != NULL);
	return qp;
}

static void qp_end(struct rdma_cm_id *id, struct ibv_qp *qp, bool own)
{
	if (!own) {
		rdma_destroy_qp(id);
	} else {
		need_equal(ibv_destroy_qp(qp), 0);
		need_equal(ibv_destroy_cq(cq), 0);
	}
}

static void qp_ready(struct rdma_cm_id *id, struct ibv_qp *qp)
{
	static const enum ibv_qp_state way[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	for (int i = 0; i < 3; i++) {
		struct ibv_qp_attr attr = { .qp_state = way[i] };
		int mask;

		need_equal(rdma_init_qp_attr(id, &attr, &mask), 0);
		need_equal(ibv_modify_qp(qp, &attr, mask), 0);
	}
}

/* As ibv_set_ece(3) has it: the peer's options if they are of our vendor; nothing of another one's means anything here. */
static void options_take(struct ibv_qp *qp, const struct ibv_ece *remote)
{
	struct ibv_ece ours = told(qp), take = *remote;

	if (remote->vendor_id == 0 || ours.vendor_id == 0)
		return;
	if (remote->vendor_id != ours.vendor_id) {
		need_equal(ibv_set_ece(qp, &take), EINVAL);
		take = (struct ibv_ece){ .vendor_id = ours.vendor_id };
	}
	need_equal(ibv_set_ece(qp, &take), 0);
}

static void options_tell(struct rdma_cm_id *id, struct ibv_qp *qp)
{
	struct ibv_ece ece = told(qp);

	if (ece.vendor_id != 0)
		need_equal(rdma_set_local_ece(id, &ece), 0);
}

/* --- the server --- */

static struct rdma_conn_param param_of(const struct ibv_qp *qp)
{
	return (struct rdma_conn_param){ .qp_num = qp->qp_num, .initiator_depth = 1, .responder_resources = 1, .retry_count = 7 };
}

static void answer(struct seen *seen, bool own, bool accept)
{
	struct rdma_cm_id *id = expect(RDMA_CM_EVENT_CONNECT_REQUEST);

	seen->request = remote_of(id);
	struct ibv_qp *qp = qp_make(id, own);
	struct rdma_conn_param param = param_of(qp);
	if (own) {
		options_take(qp, &seen->request);
		qp_ready(id, qp);
		options_tell(id, qp);
	}
	if (accept) {
		need_equal(rdma_accept(id, &param), 0);
		expect(RDMA_CM_EVENT_ESTABLISHED);
		seen->granted = told(qp);
		/* The client's empty message, then it parts. */
		expect(RDMA_CM_EVENT_DISCONNECTED);
		need_equal(rdma_disconnect(id), 0);
	} else {
		need_equal(rdma_reject_ece(id, "no", 2), 0);
	}
	qp_end(id, qp, own);
	need_equal(rdma_destroy_id(id), 0);
}

static void serve(struct peer *peer)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct report report = { 0 };
	struct rdma_cm_id *listener;

	play();
	need_equal(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), 0);
	need_equal(rdma_bind_addr(listener, (struct sockaddr *)&address), 0);
	need_equal(rdma_listen(listener, 4), 0);
	uint16_t port = rdma_get_src_port(listener);
	peer_send(peer, &port, sizeof(port));
	for (int own = 0; own < 2; own++) {
		answer(&report.accepted[own], own, true);
		answer(&report.rejected[own], own, false);
	}
	need_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(channel);
	peer_send(peer, &report, sizeof(report));
}

/* --- the client --- */

static void message_send(struct ibv_qp *qp)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED }, *bad;

	need_equal(ibv_post_send(qp, &send, &bad), 0);
	cq_expect(qp->send_cq, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
}

static void ask(struct seen *seen, uint16_t port, bool own, bool accept)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	need_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000), 0);
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	need_equal(rdma_resolve_route(id, 2000), 0);
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	struct ibv_qp *qp = qp_make(id, own);
	struct rdma_conn_param param = param_of(qp);
	if (own)
		options_tell(id, qp);
	need_equal(rdma_connect(id, &param), 0);
	need_equal(rdma_get_cm_event(channel, &event), 0);
	const enum rdma_cm_event_type wanted = !accept ? RDMA_CM_EVENT_REJECTED : own ? RDMA_CM_EVENT_CONNECT_RESPONSE :
											RDMA_CM_EVENT_ESTABLISHED;
	seen->status = event->event == wanted ? event->status : ERROR_STATUS + (int)event->event;
	if (!accept)
		need(event->param.conn.private_data_len >= 2 && memcmp(event->param.conn.private_data, "no", 2) == 0);
	rdma_ack_cm_event(event);
	if (accept && own) {
		seen->reply = remote_of(id);
		options_take(qp, &seen->reply);
		qp_ready(id, qp);
		need_equal(rdma_establish(id), 0);
	}
	if (accept) {
		seen->in_force = told(qp);
		message_send(qp);
		need_equal(rdma_disconnect(id), 0);
		expect(RDMA_CM_EVENT_DISCONNECTED);
	}
	qp_end(id, qp, own);
	need_equal(rdma_destroy_id(id), 0);
}

static void call(struct peer *peer)
{
	struct report report = { 0 };
	uint16_t port;

	peer_receive(peer, &port, sizeof(port));
	play();
	for (int own = 0; own < 2; own++) {
		ask(&report.accepted[own], port, own, true);
		ask(&report.rejected[own], port, own, false);
	}
	rdma_destroy_event_channel(channel);
	peer_send(peer, &report, sizeof(report));
}

/* --- the table --- */

struct line {
	char cells[COLUMNS][CELL];
};

static void ece_print(char out[CELL], const struct ibv_ece *ece)
{
	if (ece->vendor_id == 0)
		snprintf(out, CELL, "%s", ece->options == 0 ? "none" : "options of nobody");
	else if (ece->vendor_id == 0x025356)
		snprintf(out, CELL, "ours 0x%x", ece->options);
	else if (ece->vendor_id == 0x0015b3)
		snprintf(out, CELL, "foreign 0x%x", ece->options);
	else
		snprintf(out, CELL, "0x%06x 0x%x", ece->vendor_id, ece->options);
}

/* For one way to make QPs. What only a program with QPs of its own can see is told by that one for both. */
static struct line line_of(const struct kind *client, const struct kind *server, const struct report *c, const struct report *s, int own)
{
	struct line line;

	snprintf(line.cells[0], CELL, "%s", client->name);
	snprintf(line.cells[1], CELL, "%s", server->name);
	ece_print(line.cells[2], &s->accepted[own].request);
	ece_print(line.cells[3], &s->accepted[own].granted);
	ece_print(line.cells[4], &c->accepted[1].reply);
	ece_print(line.cells[5], &c->accepted[own].in_force);
	snprintf(line.cells[6], CELL, "%d", c->rejected[own].status);
	need_equal(c->accepted[own].status, 0);
	need_equal(memcmp(&s->rejected[own].request, &s->accepted[own].request, sizeof(struct ibv_ece)), 0);
	return line;
}

static void line_write(char *out, size_t size, const struct line *line)
{
	out[0] = '\0';
	for (int i = 0; i < COLUMNS; i++)
		snprintf(out + strlen(out), size - strlen(out), "%s%s", i == 0 ? ".It " : " Ta ", line->cells[i]);
}

/* The rows between the marks of the page. */
static unsigned page_read(char rows[][CELL * COLUMNS], unsigned max)
{
	const char *path = getenv("SOFTVERBS_PAGE");
	char text[512];
	bool inside = false;
	unsigned count = 0;

	need(path != NULL);
	FILE *f = fopen(path, "r");
	need(f != NULL);
	while (fgets(text, sizeof(text), f) != NULL) {
		text[strcspn(text, "\n")] = '\0';
		if (strncmp(text, ".\\\" matrix", 10) == 0)
			inside = !inside;
		else if (inside && count < max)
			snprintf(rows[count++], CELL * COLUMNS, "%.*s", CELL * COLUMNS - 1, text);
	}
	fclose(f);
	return count;
}

static char seen_rows[KINDS * KINDS][CELL * COLUMNS];

static void pair_run(unsigned row, const struct kind *client_is, const struct kind *server_is)
{
	struct report client_saw, server_saw;
	uint16_t port;
	char other[CELL * COLUMNS];

	playing = server_is;
	struct peer server = peer_start(serve);
	playing = client_is;
	struct peer client = peer_start(call);
	peer_receive(&server, &port, sizeof(port));
	peer_send(&client, &port, sizeof(port));
	peer_receive(&client, &client_saw, sizeof(client_saw));
	peer_receive(&server, &server_saw, sizeof(server_saw));
	peer_join(&client);
	peer_join(&server);
	for (int own = 0; own < 2; own++) {
		struct line line = line_of(client_is, server_is, &client_saw, &server_saw, own);

		line_write(own ? other : seen_rows[row], sizeof(other), &line);
	}
	if (strcmp(seen_rows[row], other) != 0)
		harness_fail(__FILE__, __LINE__, "QPs of rdma_create_qp and of the program differ:\n%s\n%s", seen_rows[row], other);
}

static void matrix(void)
{
	char rows[KINDS * KINDS + 1][CELL * COLUMNS];
	unsigned count = page_read(rows, KINDS * KINDS + 1), differ = 0;

	for (unsigned i = 0; i < KINDS * KINDS; i++) {
		pair_run(i, &kinds[i / KINDS], &kinds[i % KINDS]);
		differ += i >= count || strcmp(rows[i], seen_rows[i]) != 0;
	}
	if (differ == 0 && count == KINDS * KINDS)
		return;
	printf("The table of the page, as it should be:\n");
	for (unsigned i = 0; i < KINDS * KINDS; i++)
		printf("%s\n", seen_rows[i]);
	harness_fail(__FILE__, __LINE__, "%u rows differ from what was seen, and the page has %u", differ, count);
}

static const struct harness_case cases[] = {
	{ "matrix", "the table of softverbs-ece(7) is what happens", matrix },
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
