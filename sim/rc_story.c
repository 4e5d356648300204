/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Storyboards: short scenes between two RC QPs, told as the trace that they must leave. a requests, b responds; a packet
 * takes 10 us on the way and none on the link, the path MTU is 256. Times in microseconds. `x>` is a packet that x puts on
 * the link, `x:` what x notes.
 *
 *   rc_story [--print] [scene]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sim/world.h"

enum { KEY_A = 0x10, KEY_B = 0x20, KEY_B_READ = 0x30, KEY_B_WORD = 0x40, MEMORY = 1 << 16 };

struct scene;

struct stage {
	struct sim_world world;
	struct sim_endpoint a, b;
	const struct scene *scene;
	char text[16384];
	size_t used;
	uint64_t start;
	uint64_t a_lost; /* bit n: packet n of a is lost */
	uint64_t b_lost;
	int moment;
};

struct scene {
	const char *name, *goal;
	void (*begin)(struct stage *s);
	/* Called at these times, in order; 0 ends. */
	uint64_t at[3];
	void (*then)(struct stage *s);
	/* What is told when all is over. */
	void (*after)(struct stage *s);
	const char *expected;
	bool lossless;
};

static void keep_line(struct sim_world *world, const char *line)
{
	struct stage *s = world->user;
	size_t len = strlen(line);

	if (s->used + len + 2 > sizeof(s->text))
		return;
	memcpy(s->text + s->used, line, len);
	s->used += len;
	s->text[s->used++] = '\n';
	s->text[s->used] = 0;
}

static bool lose(struct sim_endpoint *ep, uint64_t n)
{
	struct stage *s = ep->world->user;
	uint64_t plan = ep == &s->a ? s->a_lost : s->b_lost;

	return plan == UINT64_MAX || (n < 64 && (plan >> n & 1));
}

static void post(struct stage *s, uint8_t op, uint32_t length, uint32_t lkey, uint32_t rkey)
{
	uint32_t n = atomic_load(&s->a.host.sq.posted);
	struct transport_sge sge = { .addr = 0x1000 + n, .length = length, .lkey = lkey };
	struct transport_wqe wqe = {
		.wr_id = n, .op = op, .flags = TRANSPORT_WQE_SIGNALED, .length = length, .num_sge = 1, .remote_addr = 0x2000 + n,
		.rkey = rkey,
	};

	if (!sim_host_post_send(&s->a.host, &wqe, &sge, sizeof(sge)))
		abort();
	sim_wake(&s->a, s->world.now);
}

static void send(struct stage *s, uint32_t length)
{
	post(s, TRANSPORT_OP_SEND, length, KEY_A, 0);
}

static void write_(struct stage *s, uint32_t length)
{
	post(s, TRANSPORT_OP_RDMA_WRITE, length, KEY_A, KEY_B);
}

static void receive(struct stage *s, uint32_t length)
{
	struct transport_sge sge = { .addr = 0x2000, .length = length, .lkey = KEY_B };

	sim_host_post_recv(&s->b.host, s->b.host.recvs_posted, &sge, 1);
}

static void note(struct stage *s, const char *what)
{
	sim_trace(&s->world, "%s", what);
}

/* ---- the scenes ---- */

static void plain_send(struct stage *s)
{
	receive(s, 4096);
	receive(s, 4096);
	send(s, 100);
	send(s, 0);
}

static void lost_middle(struct stage *s)
{
	s->a_lost = 1 << 2;
	write_(s, 6 * 256);
}

static void lost_report(struct stage *s)
{
	s->a_lost = 1 << 1;
	s->b_lost = 1 << 0;
	write_(s, 4 * 256);
}

static void lost_twice(struct stage *s)
{
	s->a_lost = 1 << 1 | 1 << 4;
	write_(s, 4 * 256);
}

static void not_ready(struct stage *s)
{
	send(s, 300);
	send(s, 10);
}

static void not_ready_then(struct stage *s)
{
	receive(s, 4096);
	receive(s, 4096);
	note(s, "b posts two receives");
}

static void never_ready(struct stage *s)
{
	s->a.config.rnr_retry = 1;
	rc_update(&s->a.qp, &s->a.config);
	send(s, 10);
	send(s, 20);
}

static void lost_tail(struct stage *s)
{
	s->a_lost = 1 << 2;
	write_(s, 3 * 256);
}

static void lost_ack(struct stage *s)
{
	s->b_lost = 1 << 0;
	receive(s, 256);
	send(s, 256);
}

static void nobody_answers(struct stage *s)
{
	s->a_lost = UINT64_MAX;
	s->a.config.retry_cnt = 2;
	s->a.config.timeout = 10;
	rc_update(&s->a.qp, &s->a.config);
	write_(s, 10);
	write_(s, 10);
}

static void psn_wrap(struct stage *s)
{
	s->a_lost = 1 << 4;
	write_(s, 5 * 256);
	write_(s, 5);
}

static void wait_for_turn(struct stage *s)
{
	s->a_lost = 1 << 0;
	write_(s, 10);
	post(s, TRANSPORT_OP_RDMA_WRITE, 600, 0xbad, KEY_B);
	write_(s, 10);
}

static void refused(struct stage *s)
{
	receive(s, 4096);
	write_(s, 10);
	post(s, TRANSPORT_OP_RDMA_WRITE, 600, KEY_A, KEY_B_READ);
	write_(s, 10);
}

static void too_long(struct stage *s)
{
	receive(s, 600);
	receive(s, 600);
	send(s, 1000);
}

static void drain_queue(struct stage *s)
{
	write_(s, 3 * 256);
	write_(s, 10);
}

static void drain_queue_then(struct stage *s)
{
	if (s->moment == 1) {
		note(s, "a: to SQD");
		rc_to_sqd(&s->a.qp);
		write_(s, 20);
	} else {
		note(s, rc_is_draining(&s->a.qp) ? "a: still draining" : s->a.events & TRANSPORT_EVENT_SQ_DRAINED ? "a: drained, to RTS" : "a: ?");
		rc_to_rts(&s->a.qp, &s->a.config);
		sim_wake(&s->a, s->world.now);
	}
}

static void gone(struct stage *s)
{
	write_(s, 10);
}

static void gone_then(struct stage *s)
{
	if (s->moment == 1) {
		note(s, "b dies");
		sim_kill(&s->b);
		rc_peer_gone(&s->a.qp, s->world.now);
	} else {
		write_(s, 20);
		write_(s, 30);
	}
}

static void stopped_peer(struct stage *s)
{
	s->a.config.retry_cnt = 0;
	s->a.config.timeout = 10;
	rc_update(&s->a.qp, &s->a.config);
	s->b.asleep_until = s->world.now + 60 * BASE_MSEC;
	s->b.slept_total = 60 * BASE_MSEC;
	write_(s, 10);
}

static void read_(struct stage *s, uint32_t length)
{
	post(s, TRANSPORT_OP_RDMA_READ, length, KEY_A, KEY_B_READ);
}

static void add(struct stage *s)
{
	post(s, TRANSPORT_OP_FETCH_ADD, 8, KEY_A, KEY_B_WORD);
	transport_sq_wqe(&s->a.host.sq, atomic_load(&s->a.host.sq.posted) - 1)->remote_addr = 0x2000;
	transport_sq_wqe(&s->a.host.sq, atomic_load(&s->a.host.sq.posted) - 1)->swap_or_add = 1;
}

static void note_word(struct stage *s)
{
	uint64_t word;

	memcpy(&word, sim_host_bytes(&s->b.host, KEY_B_WORD, 0x2000, 8), 8);
	sim_trace(&s->world, "b's word is %llu", (unsigned long long)word);
}

static void read_lost_response(struct stage *s)
{
	s->b_lost = 1 << 1;
	read_(s, 4 * 256);
	write_(s, 10);
}

static void read_lost_request(struct stage *s)
{
	s->a_lost = 1 << 0;
	read_(s, 10);
	write_(s, 10);
}

static void atomic_lost_answer(struct stage *s)
{
	s->b_lost = 1 << 0;
	add(s);
	add(s);
}

static void atomic_limit(struct stage *s)
{
	add(s);
	add(s);
	add(s);
	write_(s, 10);
}

static void fenced(struct stage *s)
{
	read_(s, 300);
	write_(s, 10);
	transport_sq_wqe(&s->a.host.sq, 1)->flags |= TRANSPORT_WQE_FENCE;
}

static void invalidated(struct stage *s)
{
	receive(s, 4096);
	post(s, TRANSPORT_OP_SEND_WITH_INV, 10, KEY_A, 0);
	transport_sq_wqe(&s->a.host.sq, 0)->imm_or_inv = KEY_B_WORD;
	add(s);
}

static void not_to_be_invalidated(struct stage *s)
{
	s->a.config.retry_cnt = 0;
	s->a.config.timeout = 10;
	rc_update(&s->a.qp, &s->a.config);
	receive(s, 4096);
	receive(s, 4096);
	post(s, TRANSPORT_OP_SEND_WITH_INV, 10, KEY_A, 0);
	transport_sq_wqe(&s->a.host.sq, 0)->imm_or_inv = KEY_B_READ;
	send(s, 20);
}

static const struct scene scenes[] = {
#include "sim/rc_story_expected.h"
};

/* ---- playing them ---- */

static bool same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static void play(struct stage *s, const struct scene *scene)
{
	struct sim_link link = { .lossless = scene->lossless, .framed = !scene->lossless, .capacity = 100, .room_packets = 64,
				 .merge_packets = scene->lossless ? 64 : 1, .faults.delay_ns = 10000 };

	memset(s, 0, sizeof(*s));
	s->scene = scene;
	sim_world_init(&s->world, 1);
	s->start = s->world.now;
	s->world.user = s;
	s->world.trace = keep_line;
	s->world.lose = lose;
	sim_endpoint_init(&s->a, &s->world, "a", 16, 16);
	sim_endpoint_init(&s->b, &s->world, "b", 16, 16);
	sim_host_region(&s->a.host, 0x1000, MEMORY, TRANSPORT_LOCAL_WRITE, KEY_A);
	sim_host_region(&s->b.host, 0x2000, MEMORY, TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_WRITE, KEY_B);
	sim_host_region(&s->b.host, 0x2000, MEMORY, TRANSPORT_REMOTE_READ, KEY_B_READ);
	sim_host_region(&s->b.host, 0x2000, 8, TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_ATOMIC, KEY_B_WORD)->invalidatable = true;
	s->a.link = s->b.link = link;
	s->a.config = (struct transport_config){
		.qpn = 1, .dest_qpn = 2, .mtu = 256, .sq_psn = same(scene->name, "psn wrap") ? 0xfffffe : 0x10, .access = 14,
		.max_rd_atomic = 2, .max_dest_rd_atomic = 2,
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 7, .lossless = scene->lossless, .pkey = 0xffff,
	};
	s->b.config = s->a.config;
	s->b.config.qpn = 2;
	s->b.config.dest_qpn = 1;
	s->b.config.rq_psn = s->a.config.sq_psn;
	sim_connect(&s->a, &s->b);
	scene->begin(s);
	for (int i = 0; i < 3 && scene->at[i]; i++) {
		while (s->world.heap_count && s->world.heap[0].at < s->start + scene->at[i])
			sim_world_step(&s->world);
		s->world.now = s->start + scene->at[i];
		s->moment++;
		scene->then(s);
	}
	while (sim_world_step(&s->world) && s->world.events_done < 10000)
		;
	if (scene->after)
		scene->after(s);
	sim_endpoint_fini(&s->a);
	sim_endpoint_fini(&s->b);
	sim_world_fini(&s->world);
}

static void show_difference(const char *name, const char *expected, const char *got)
{
	size_t line = 1, at = 0, start = 0;

	while (expected[at] && expected[at] == got[at]) {
		if (expected[at++] == '\n') {
			line++;
			start = at;
		}
	}
	fprintf(stderr, "%s, line %zu:\n  expected: %.*s\n  got:      %.*s\n", name, line, (int)strcspn(expected + start, "\n"),
		expected + start, (int)strcspn(got + start, "\n"), got + start);
}

int main(int argc, char **argv)
{
	bool print = argc > 1 && same(argv[1], "--print");
	const char *only = argc > 1 + print ? argv[1 + print] : NULL;
	static struct stage s;
	int failures = 0;

	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		if (only && !same(only, scenes[i].name))
			continue;
		play(&s, &scenes[i]);
		if (print) {
			printf("== %s\n%s", scenes[i].name, s.text);
			continue;
		}
		printf("%s %s: %s\n", same(s.text, scenes[i].expected) ? "ok  " : "FAIL", scenes[i].name, scenes[i].goal);
		if (!same(s.text, scenes[i].expected)) {
			show_difference(scenes[i].name, scenes[i].expected, s.text);
			failures++;
		}
	}
	return failures != 0;
}
