/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of libibverbs that are functions of their arguments: texts, rates, layouts, files, the header area of UD. */
#include "base/err.h"
#include "verbs/grh_view.h"
#include "verbs/driver.h"
#include "verbs/newer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every text is there for every value, and a number out of range is "unknown", on both sides. */
static void test_texts(void **state)
{
	for (int i = 0; i <= IBV_WC_TM_RNDV_INCOMPLETE; i++)
		assert_string_not_equal(ibv_wc_status_str((enum ibv_wc_status)i), "unknown");
	for (int i = 0; i <= IBV_EVENT_WQ_FATAL + 1; i++)
		assert_string_not_equal(ibv_event_type_str((enum ibv_event_type)i), "unknown");
	for (int i = 0; i <= IBV_PORT_ACTIVE_DEFER; i++)
		assert_string_not_equal(ibv_port_state_str((enum ibv_port_state)i), "unknown");
	for (int i = 1; i <= IBV_NODE_UNSPECIFIED; i++)
		assert_string_not_equal(ibv_node_type_str((enum ibv_node_type)i), "unknown");
	assert_string_equal(ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR), "remote access error");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_SEND), "IBV_WR_SEND");
	assert_string_equal(ibv_node_type_str((enum ibv_node_type)0), "unknown");
	for (int i = -2; i < 1000; i += i < 0 ? 1 : 333) {
		if (i >= 0 && i < 334)
			continue;
		assert_string_equal(ibv_wc_status_str((enum ibv_wc_status)i), "unknown");
		assert_string_equal(ibv_event_type_str((enum ibv_event_type)i), "unknown");
		assert_string_equal(ibv_port_state_str((enum ibv_port_state)i), "unknown");
		assert_string_equal(ibv_node_type_str((enum ibv_node_type)i), "unknown");
		assert_string_equal(ibv_wr_opcode_str((enum ibv_wr_opcode)i), "unknown");
	}
}

/* Rates convert there and back; those without a whole multiple say so. */
static void test_rates(void **state)
{
	int with_multiple = 0;

	for (int i = IBV_RATE_2_5_GBPS; i <= IBV_RATE_1200_GBPS; i++) {
		enum ibv_rate rate = (enum ibv_rate)i;

		assert_true(ibv_rate_to_mbps(rate) > 0);
		assert_int_equal(mbps_to_ibv_rate(ibv_rate_to_mbps(rate)), rate);
		if (ibv_rate_to_mult(rate) < 0)
			continue;
		assert_int_equal(mult_to_ibv_rate(ibv_rate_to_mult(rate)), rate);
		with_multiple++;
	}
	assert_int_equal(with_multiple, 15);
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_100_GBPS), -1);
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_40_GBPS), 16);
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_MAX), -1);
	assert_int_equal(mult_to_ibv_rate(0), IBV_RATE_MAX);
	assert_int_equal(mult_to_ibv_rate(3), IBV_RATE_MAX);
	assert_int_equal(mbps_to_ibv_rate(1), IBV_RATE_MAX);
}

/* Each field arrives where it belongs: distinct values in, the same out. */
static void test_layouts(void **state)
{
	struct ib_user_path_rec kern, back;
	struct ibv_sa_path_rec rec;
	struct ib_uverbs_qp_attr qp = { .qp_state = 3, .path_mtu = 5, .qkey = 7, .rq_psn = 8, .sq_psn = 9, .dest_qp_num = 10,
		.max_send_wr = 11, .max_inline_data = 12, .pkey_index = 13, .max_rd_atomic = 14, .max_dest_rd_atomic = 15,
		.min_rnr_timer = 16, .port_num = 1, .timeout = 17, .retry_cnt = 6, .rnr_retry = 4, .alt_timeout = 18,
		.ah_attr = { .grh = { .dgid = { 0xfe, 0x80 }, .flow_label = 19, .sgid_index = 2, .hop_limit = 64 },
			.dlid = 20, .sl = 3, .is_global = 1, .port_num = 1 },
		.alt_ah_attr = { .dlid = 21 } };
	struct ibv_qp_attr attr;

	for (size_t i = 0; i < sizeof(kern); i++)
		((uint8_t *)&kern)[i] = (uint8_t)(i + 1);
	kern.mtu = 5; /* 32 bits there, 8 here */
	memset(&back, 0, sizeof(back));
	ibv_copy_path_rec_from_kern(&rec, &kern);
	assert_int_equal(rec.mtu, 5);
	assert_int_equal(rec.pkey, kern.pkey);
	assert_int_equal(rec.numb_path, kern.numb_path);
	ibv_copy_path_rec_to_kern(&back, &rec);
	assert_memory_equal(&back, &kern, sizeof(kern));

	memset(&attr, 0x5a, sizeof(attr));
	ibv_copy_qp_attr_from_kern(&attr, &qp);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, IBV_MTU_4096);
	assert_int_equal(attr.sq_psn, 9);
	assert_int_equal(attr.rq_psn, 8);
	assert_int_equal(attr.cap.max_inline_data, 12);
	assert_int_equal(attr.rnr_retry, 4);
	assert_int_equal(attr.retry_cnt, 6);
	assert_int_equal(attr.alt_timeout, 18);
	assert_int_equal(attr.ah_attr.grh.dgid.raw[1], 0x80);
	assert_int_equal(attr.ah_attr.grh.flow_label, 19);
	assert_int_equal(attr.ah_attr.sl, 3);
	assert_int_equal(attr.alt_ah_attr.dlid, 21);
	assert_int_equal(attr.rate_limit, 0);
}

/* A file's text without its line end; too long, missing, empty. */
static void test_sysfs_file(void **state)
{
	static const struct {
		const char *text;
		int result;
		const char *read;
	} cases[] = {
		{ "abc\n", 3, "abc" }, { "abcdefg", 7, "abcdefg" }, { "abcdefg\n", 7, "abcdefg" }, { "abcdefgh", -1, NULL },
		{ "abcdefgh\n", -1, NULL }, { "", 0, "" }, { "\n", 0, "" },
	};
	char name[] = "/tmp/verbs-pure-XXXXXX";
	char buf[8];
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *f = fopen(name, "w");

		assert_non_null(f);
		fputs(cases[i].text, f);
		fclose(f);
		memset(buf, 'x', sizeof(buf));
		assert_int_equal(ibv_read_sysfs_file("/tmp", name + strlen("/tmp/"), buf, sizeof(buf)), cases[i].result);
		if (cases[i].read != NULL)
			assert_string_equal(buf, cases[i].read);
	}
	unlink(name);
	errno = 0;
	assert_int_equal(ibv_read_sysfs_file("/tmp", name + strlen("/tmp/"), buf, sizeof(buf)), -1);
	assert_int_equal(errno, ENOENT);
}

static void ipv4_checksum(uint8_t *header)
{
	uint32_t sum = 0;

	header[10] = header[11] = 0;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	header[10] = (uint8_t)(~sum >> 8);
	header[11] = (uint8_t)~sum;
}

/* IPv4 and IPv6 are told apart even when the undefined bytes before an IPv4 header look like IPv6. */
static void test_header_area(void **state)
{
	static const uint8_t ipv4[20] = { 0x45, 0x28, 0, 60, 0, 0, 0x40, 0, 63, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2 };
	static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 };
	uint8_t area[40] = { 0 };
	struct verbs_grh_view view;

	memcpy(area + 20, ipv4, sizeof(ipv4));
	ipv4_checksum(area + 20);
	assert_int_equal(verbs_grh_view(&view, (const struct ibv_grh *)area), 0);
	assert_memory_equal(view.source.raw, mapped, 16);
	assert_int_equal(view.destination.raw[15], 2);
	assert_int_equal(view.traffic_class, 0x28);
	assert_int_equal(view.hop_limit, 63);
	assert_int_equal(view.gid_type, IBV_GID_TYPE_ROCE_V2);

	area[0] = 0x6f; /* stale bytes that look like IPv6: the checksum decides for IPv4 ... */
	area[6] = 17;
	assert_int_equal(verbs_grh_view(&view, (const struct ibv_grh *)area), 0);
	assert_memory_equal(view.source.raw, mapped, 16);
	area[30] ^= 1; /* ... and a wrong one for IPv6 */
	assert_int_equal(verbs_grh_view(&view, (const struct ibv_grh *)area), 0);
	assert_memory_equal(view.source.raw, area + 8, 16);
	assert_memory_equal(view.destination.raw, area + 24, 16);
	area[30] ^= 1;

	area[0] = 0;
	area[29] = 6; /* TCP is nobody's */
	assert_int_equal(verbs_grh_view(&view, (const struct ibv_grh *)area), BASE_ERR_MALFORMED);

	memset(area, 0, sizeof(area));
	assert_int_equal(verbs_grh_view(&view, (const struct ibv_grh *)area), BASE_ERR_MALFORMED);
	area[0] = 0x6a;
	area[1] = 0xb1;
	area[2] = 0x23;
	area[3] = 0x45;
	area[6] = 0x1b;
	area[7] = 9;
	area[8] = 0xfe;
	assert_int_equal(verbs_grh_view(&view, (const struct ibv_grh *)area), 0);
	assert_int_equal(view.gid_type, IBV_GID_TYPE_ROCE_V1);
	assert_int_equal(view.traffic_class, 0xab);
	assert_int_equal(view.flow_label, 0x12345);
	assert_int_equal(view.hop_limit, 9);
	area[6] = 17;
	assert_int_equal(verbs_grh_view(&view, (const struct ibv_grh *)area), 0);
	assert_int_equal(view.gid_type, IBV_GID_TYPE_ROCE_V2);
	area[6] = 58;
	assert_int_equal(verbs_grh_view(&view, (const struct ibv_grh *)area), BASE_ERR_MALFORMED);
}

/* fork() needs no preparation, and says so. */
static void test_fork(void **state)
{
	assert_int_equal(ibv_fork_init(), 0);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	assert_int_equal(ibv_dontfork_range(NULL, 0), 0);
	assert_int_equal(ibv_dofork_range(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts), cmocka_unit_test(test_rates), cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_sysfs_file), cmocka_unit_test(test_header_area), cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
