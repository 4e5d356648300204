/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/qp_values.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "hca/limits.h"

enum { MAX_TIMER_CODE = 31, MAX_RETRIES = 7, QPN_MASK = 0xffffff };
#define QKEY_PRIVILEGED 0x80000000u

static bool has_net_raw(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	return syscall(SYS_capget, &header, data) == 0 && (data[0].effective >> CAP_NET_RAW & 1);
}

static int refuse(const char *what, unsigned long long value, unsigned long long most)
{
	base_explain("modify refused: %s is %llu, at most %llu here", what, value, most);
	return BASE_ERR_INVAL;
}

int hca_qp_values_check(const struct hca_qp_values *limits, const struct hca_qp_attr *attr, uint32_t mask)
{
	const struct {
		uint32_t bit;
		const char *name;
		uint32_t value, least, most;
	} rules[] = {
		{ HCA_QP_STATE, "qp_state", attr->state, 0, HCA_QPS_ERR },
		{ HCA_QP_CUR_STATE, "cur_qp_state", attr->cur_state, HCA_QPS_RTR, HCA_QPS_SQE },
		{ HCA_QP_PORT, "port_num", attr->port_num, 1, HCA_PORTS },
		{ HCA_QP_PKEY_INDEX, "pkey_index", attr->pkey_index, 0, 0 },
		{ HCA_QP_PATH_MTU, "path_mtu", attr->path_mtu, 1, (uint32_t)limits->active_mtu },
		{ HCA_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", attr->max_rd_atomic, 0, HCA_MAX_RD_ATOM },
		{ HCA_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", attr->max_dest_rd_atomic, 0, HCA_MAX_RD_ATOM },
		{ HCA_QP_TIMEOUT, "timeout", attr->timeout, 0, MAX_TIMER_CODE },
		{ HCA_QP_MIN_RNR_TIMER, "min_rnr_timer", attr->min_rnr_timer, 0, MAX_TIMER_CODE },
		{ HCA_QP_RETRY_CNT, "retry_cnt", attr->retry_cnt, 0, MAX_RETRIES },
		{ HCA_QP_RNR_RETRY, "rnr_retry", attr->rnr_retry, 0, MAX_RETRIES },
		{ HCA_QP_DEST_QPN, "dest_qp_num", attr->dest_qpn, 0, QPN_MASK },
	};

	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if ((mask & rules[i].bit) && (rules[i].value < rules[i].least || rules[i].value > rules[i].most))
			return refuse(rules[i].name, rules[i].value, rules[i].most);
	if (mask & HCA_QP_ALT_PATH) {
		base_explain("modify refused: alternate paths do not exist on Ethernet ports");
		return BASE_ERR_INVAL;
	}
	if (mask & HCA_QP_AV) {
		int err = hca_ah_attr_check(&attr->ah);

		if (err != 0)
			return err;
		if (limits->port_num != 0 && attr->ah.port_num != limits->port_num)
			return refuse("ah_attr.port_num", attr->ah.port_num, limits->port_num);
	}
	if ((mask & HCA_QP_QKEY) && (attr->qkey & QKEY_PRIVILEGED) && !has_net_raw()) {
		base_explain("modify refused: a qkey with bit 31 set needs CAP_NET_RAW");
		return BASE_ERR_PERM;
	}
	return 0;
}
