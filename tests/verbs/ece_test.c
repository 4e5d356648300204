/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ibv_query_ece and ibv_set_ece: what is told, granted and refused, by type and state, for each personality; and that messages
 * arrive between QPs with the option. Each case is a process of its own and sets its environment before the first use of verbs.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OUR_VENDOR = 0x025356, SELECTIVE_REPEAT = 1, ANOTHER_VENDOR = 0x15b3 };

static int set(struct rc *rc, uint32_t vendor_id, uint32_t options)
{
	return ibv_set_ece(rc->qp, &(struct ibv_ece){ .vendor_id = vendor_id, .options = options });
}

static void need_told(struct rc *rc, uint32_t vendor_id, uint32_t options)
{
	struct ibv_ece ece;

	memset(&ece, 0xff, sizeof(ece));
	need_equal(ibv_query_ece(rc->qp, &ece), 0);
	need_equal(ece.vendor_id, vendor_id);
	need_equal(ece.options, options);
	need_equal(ece.comp_mask, 0);
}

static void conventions(void)
{
	struct rc rc;
	struct ibv_ece ece = { .vendor_id = OUR_VENDOR };

	rc_open(&rc, NULL);
	need_told(&rc, OUR_VENDOR, SELECTIVE_REPEAT);
	errno = 0;
	need_equal(set(&rc, 0, 0), EOPNOTSUPP);
	need_equal(errno, EOPNOTSUPP);
	need_equal(set(&rc, ANOTHER_VENDOR, 0), EINVAL);
	need_equal(set(&rc, OUR_VENDOR | 1u << 24, 0), EINVAL);
	ece.comp_mask = 1;
	need_equal(ibv_set_ece(rc.qp, &ece), EINVAL);
	need_equal(ibv_set_ece(NULL, &ece), EINVAL);
	need_equal(ibv_set_ece(rc.qp, NULL), EINVAL);
	need_equal(ibv_query_ece(NULL, &ece), EINVAL);
	need_equal(ibv_query_ece(rc.qp, NULL), EINVAL);
	/* What was refused changed nothing. */
	need_told(&rc, OUR_VENDOR, SELECTIVE_REPEAT);
	need_equal(set(&rc, OUR_VENDOR, UINT32_MAX), 0);
	need_told(&rc, OUR_VENDOR, SELECTIVE_REPEAT);
	need_equal(set(&rc, OUR_VENDOR, ~(uint32_t)SELECTIVE_REPEAT), 0);
	need_told(&rc, OUR_VENDOR, 0);
	rc_close(&rc);
}

static void states(void)
{
	struct rc a, b;

	rc_open(&a, NULL);
	rc_open(&b, &(struct rc_options){ .context = a.context });
	struct rc_address to = rc_address_of(&b);

	need_equal(set(&a, OUR_VENDOR, 0), 0);
	need_equal(rc_to_init(&a), 0);
	need_equal(set(&a, OUR_VENDOR, SELECTIVE_REPEAT), 0);
	need_equal(rc_to_rtr(&a, &to), 0);
	need_equal(set(&a, OUR_VENDOR, 0), 0);
	need_equal(set(&a, OUR_VENDOR, SELECTIVE_REPEAT), 0);
	need_equal(rc_to_rts(&a), 0);
	need_equal(set(&a, OUR_VENDOR, 0), EINVAL);
	need_told(&a, OUR_VENDOR, SELECTIVE_REPEAT);
	need_equal(rc_to_error(&a), 0);
	need_equal(set(&a, OUR_VENDOR, 0), EINVAL);
	need_told(&a, OUR_VENDOR, SELECTIVE_REPEAT);
	need_equal(rc_to_reset(&a), 0);
	need_equal(set(&a, OUR_VENDOR, 0), 0);
	need_told(&a, OUR_VENDOR, 0);
	/* And what it was is forgotten. */
	need_equal(rc_to_reset(&a), 0);
	need_told(&a, OUR_VENDOR, SELECTIVE_REPEAT);
	rc_close(&b);
	rc_close(&a);
}

static void only_of_rc(void)
{
	struct rc rc;

	rc_open(&rc, &(struct rc_options){ .type = IBV_QPT_UC });
	need_told(&rc, OUR_VENDOR, 0);
	need_equal(set(&rc, OUR_VENDOR, SELECTIVE_REPEAT), 0);
	need_told(&rc, OUR_VENDOR, 0);
	rc_close(&rc);
	rc_open(&rc, &(struct rc_options){ .type = IBV_QPT_UD });
	need_told(&rc, OUR_VENDOR, 0);
	rc_close(&rc);
}

static void without(void)
{
	struct ibv_ece ece;
	struct rc rc;

	need_equal(setenv("SOFTVERBS_ECE", "off", 1), 0);
	rc_open(&rc, NULL);
	need_equal(ibv_query_ece(rc.qp, &ece), EOPNOTSUPP);
	need_equal(set(&rc, OUR_VENDOR, 0), EOPNOTSUPP);
	rc_close(&rc);
}

static void another_vendor(void)
{
	struct rc rc;

	need_equal(setenv("SOFTVERBS_ECE", "0x15b3", 1), 0);
	need_equal(setenv("SOFTVERBS_ECE_OPTIONS", "0x10000000", 1), 0);
	rc_open(&rc, NULL);
	need_told(&rc, ANOTHER_VENDOR, 0x10000000);
	need_equal(set(&rc, OUR_VENDOR, SELECTIVE_REPEAT), EINVAL);
	need_equal(set(&rc, ANOTHER_VENDOR, 0x30000001), 0);
	need_told(&rc, ANOTHER_VENDOR, 0x10000000);
	rc_close(&rc);
}

static void masked(void)
{
	struct rc rc;

	need_equal(setenv("SOFTVERBS_ECE_OPTIONS", "0xfffffffe", 1), 0);
	rc_open(&rc, NULL);
	need_told(&rc, OUR_VENDOR, 0);
	need_equal(set(&rc, OUR_VENDOR, SELECTIVE_REPEAT), 0);
	need_told(&rc, OUR_VENDOR, 0);
	rc_close(&rc);
}

static void traffic(void)
{
	enum { ROUNDS = 200, LENGTH = 10000 };
	struct rc a, b;

	rc_open(&a, NULL);
	rc_open(&b, &(struct rc_options){ .context = a.context });
	need_equal(set(&a, OUR_VENDOR, SELECTIVE_REPEAT), 0);
	need_equal(set(&b, OUR_VENDOR, SELECTIVE_REPEAT), 0);
	struct rc_address to_a = rc_address_of(&a), to_b = rc_address_of(&b);

	rc_connect(&a, &to_b);
	rc_connect(&b, &to_a);
	for (int i = 0; i < ROUNDS; i++) {
		memset(a.buf, i + 1, LENGTH);
		need_equal(rc_receive(&b, 1, 0, LENGTH), 0);
		need_equal(rc_post(&a, 2, IBV_WR_RDMA_WRITE, 0, 0, LENGTH, &to_b, LENGTH), 0);
		need_equal(rc_post(&a, 3, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 2 * LENGTH, LENGTH, &to_b, LENGTH), 0);
		need_equal(rc_post(&a, 4, IBV_WR_SEND, IBV_SEND_SIGNALED, 0, LENGTH, NULL, 0), 0);
		cq_expect(a.send_cq, 3, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
		cq_expect(a.send_cq, 4, IBV_WC_SUCCESS, IBV_WC_SEND);
		cq_expect(b.recv_cq, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
		need(memcmp(a.buf, b.buf, LENGTH) == 0 && memcmp(a.buf, b.buf + LENGTH, LENGTH) == 0 &&
		     memcmp(a.buf, a.buf + 2 * LENGTH, LENGTH) == 0);
	}
	rc_close(&b);
	rc_close(&a);
}

/* The broker may be one that ran before the interface came; no event tells when it has seen it. */
static struct ibv_context *open_when_listed(const char *name)
{
	const uint64_t end = harness_now_ms() + 5000;
	bool listed = false;

	while (!listed) {
		struct ibv_device **list = ibv_get_device_list(NULL);

		need(list != NULL && harness_now_ms() < end);
		for (int i = 0; list[i] != NULL; i++)
			listed = listed || strcmp(ibv_get_device_name(list[i]), name) == 0;
		ibv_free_device_list(list);
		if (!listed)
			nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	}
	return rc_device_open_named(name);
}

/* Each device its own, from a file. */
static void by_device(void)
{
	char path[] = "/tmp/softverbs-ece-XXXXXX";
	const char text[] = "{\"devices\": {\"sv_sva\": {\"ece\": \"off\"}, \"sv_svb\": {\"ece\": \"0x0015b3\", \"ece_options\": 6}}}";
	const int fd = mkstemp(path);
	struct ibv_ece ece;
	struct rc rc;

	need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	need_equal(setenv("SOFTVERBS_CONFIG", path, 1), 0);
	harness_ip("link add sva type veth peer name svb");
	harness_ip("addr add 10.97.0.1/24 dev sva");
	harness_ip("addr add 10.97.0.2/24 dev svb");
	harness_ip("link set svb up");
	harness_ip("link set sva up");
	rc_open(&rc, NULL);
	need_told(&rc, OUR_VENDOR, SELECTIVE_REPEAT);
	rc_close(&rc);
	rc_open(&rc, &(struct rc_options){ .context = open_when_listed("sv_sva") });
	need_equal(ibv_query_ece(rc.qp, &ece), EOPNOTSUPP);
	rc_close(&rc);
	rc_open(&rc, &(struct rc_options){ .context = open_when_listed("sv_svb") });
	need_told(&rc, ANOTHER_VENDOR, 6);
	rc_close(&rc);
	unlink(path);
}

static const struct harness_case cases[] = {
	{ "conventions", "what is told, masked and refused", conventions },
	{ "states", "set up to RTR, forgotten at RESET", states },
	{ "only_of_rc", "other types have no options", only_of_rc },
	{ "off", "a device without ECE", without },
	{ "another_vendor", "a device that plays another vendor's", another_vendor },
	{ "masked", "a device that offers less", masked },
	{ "by_device", "what a file says of one device", by_device },
	{ "traffic", "messages between QPs with the option", traffic },
};

int main(int argc, char **argv)
{
	harness_wants_interfaces();
	return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
