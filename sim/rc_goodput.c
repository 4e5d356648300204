/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_goodput: what loss costs, with go-back-N and with selective repeat. One RC QP streams WRITEs over a link of 100 Gbit/s that
 * loses packets at random in both directions; time is virtual, so that the table is the same on each machine.
 *
 *   rc_goodput [--seed S]
 *
 * It fails when selective repeat at 1 % has less than 1.5 times the goodput of go-back-N, or less than 80 % of the lossless one.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "sim/world.h"

enum { MTU = 4096, MESSAGE = 64 * 1024, MESSAGES = 4000, KEY_SOURCE = 1, KEY_TARGET = 2, PACKET_NS = 330, SQ_DEPTH = 128 };
enum { TARGET_GAIN_PERCENT = 150, TARGET_SHARE_PERCENT = 80 };

struct stream {
	uint32_t posted, done;
	bool failed;
};

struct result {
	double gbit;
	uint64_t sent, again, timeouts, probes, shrinks;
};

static uint64_t app(struct sim_endpoint *ep, uint64_t now)
{
	struct stream *stream = ep->user;
	struct transport_sge sge = { .addr = 0x100000, .length = MESSAGE, .lkey = KEY_SOURCE };
	struct transport_wqe wqe = { .remote_addr = 0x200000, .rkey = KEY_TARGET, .length = MESSAGE, .op = TRANSPORT_OP_RDMA_WRITE,
				     .flags = TRANSPORT_WQE_SIGNALED, .num_sge = 1 };

	while (stream != NULL && stream->posted < MESSAGES && sim_host_post_send(&ep->host, &wqe, &sge, sizeof(sge)))
		stream->posted++;
	return BASE_NEVER;
}

static void on_send(struct sim_endpoint *ep, const struct transport_completion *c)
{
	struct stream *stream = ep->user;

	stream->done++;
	stream->failed |= c->status != TRANSPORT_SUCCESS;
}

static struct result run(uint64_t seed, uint64_t delay_ns, uint32_t loss_per_100000, bool selective)
{
	struct sim_world world;
	struct sim_endpoint ep[2];
	struct stream stream = { 0 };
	uint64_t start;

	sim_world_init(&world, seed);
	for (int i = 0; i < 2; i++) {
		sim_endpoint_init(&ep[i], &world, i ? "b" : "a", SQ_DEPTH, 1);
		ep[i].config = (struct transport_config){
			.qpn = 0x100 + (uint32_t)i, .dest_qpn = 0x101 - (uint32_t)i, .mtu = MTU, .access = TRANSPORT_REMOTE_WRITE, .timeout = 14,
			.retry_cnt = 7, .rnr_retry = RC_RNR_RETRY_FOREVER, .pkey = 0xffff,
		};
		ep[i].link = (struct sim_link){
			.framed = true, .capacity = 4096, .room_packets = 16, .merge_packets = 16, .packet_ns = PACKET_NS,
			.faults = { .drop = loss_per_100000, .delay_ns = delay_ns },
		};
		if (selective)
			sim_selective(&ep[i]);
	}
	sim_host_region(&ep[0].host, 0x100000, MESSAGE, 0, KEY_SOURCE);
	sim_host_region(&ep[1].host, 0x200000, MESSAGE, TRANSPORT_LOCAL_WRITE | TRANSPORT_REMOTE_WRITE, KEY_TARGET);
	ep[0].user = &stream;
	ep[0].app = app;
	ep[0].on_send = on_send;
	sim_connect(&ep[0], &ep[1]);
	start = world.now;
	while (stream.done < MESSAGES && !stream.failed && sim_world_step(&world))
		;
	const struct transport_stats *st = transport_qp_stats(&ep[0].qp);
	struct result result = {
		.gbit = stream.failed ? 0 : (double)MESSAGES * MESSAGE * 8 / (double)(world.now - start), .sent = st->sent_packets,
		.again = st->retransmitted_packets, .timeouts = st->timeouts, .probes = st->tail_probes, .shrinks = st->window_shrinks,
	};
	sim_endpoint_fini(&ep[0]);
	sim_endpoint_fini(&ep[1]);
	sim_world_fini(&world);
	return result;
}

static void print(const char *name, const struct result *r)
{
	printf("  %-10s %7.2f Gbit/s, %5.2f %% again, %llu shrinks, %llu probes, %llu timeouts\n", name, r->gbit,
	       100.0 * (double)r->again / (double)r->sent, (unsigned long long)r->shrinks, (unsigned long long)r->probes,
	       (unsigned long long)r->timeouts);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "seed", required_argument, NULL, 's' }, { NULL, 0, NULL, 0 } };
	static const uint32_t losses[] = { 0, 100, 1000, 3000 }; /* of 100,000 */
	static const uint64_t delays[] = { 5 * BASE_USEC, 20 * BASE_USEC };
	uint64_t seed = 1;
	int status = 0, c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 's') {
			fprintf(stderr, "usage: %s [--seed S]\n", argv[0]);
			return 2;
		}
		seed = strtoull(optarg, NULL, 0);
	}
	for (size_t d = 0; d < sizeof(delays) / sizeof(delays[0]); d++) {
		double lossless = 0;

		for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
			struct result back = run(seed, delays[d], losses[i], false), selective = run(seed, delays[d], losses[i], true);

			if (losses[i] == 0)
				lossless = back.gbit;
			printf("%llu us one way, %.1f %% lost: %.2f times go-back-N, %.0f %% of lossless\n",
			       (unsigned long long)(delays[d] / BASE_USEC), losses[i] / 1000.0, selective.gbit / back.gbit,
			       100 * selective.gbit / lossless);
			print("go-back-N", &back);
			print("selective", &selective);
			if (losses[i] == 1000 && (100 * selective.gbit < TARGET_GAIN_PERCENT * back.gbit ||
						  100 * selective.gbit < TARGET_SHARE_PERCENT * lossless)) {
				printf("  below the target of %d %% of go-back-N and %d %% of lossless\n", TARGET_GAIN_PERCENT, TARGET_SHARE_PERCENT);
				status = 1;
			}
		}
	}
	return status;
}
