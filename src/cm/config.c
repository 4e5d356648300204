/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/config.h"

const struct cm_config cm_config_linux = {
	.ids = 65536,
	.ids_per_owner = 65536,
	.backlog = 1024,
	.answers = 1024,
	.first_port = 32768,
	.last_port = 60999,
	.tid_high = 1,
	.response_timeout = 20,
	.max_retries = 15,
	.mra_timeout = 24,
	.timewait_min = 0,
	.timewait_max = 24, /* 65 s: the peer names the ACK timeout that it follows from */
};

const struct cm_config cm_config_fast = {
	.ids = 65536,
	.ids_per_owner = 65536,
	.backlog = 1024,
	.answers = 1024,
	.first_port = 32768,
	.last_port = 60999,
	.tid_high = 1,
	.response_timeout = 14,
	.max_retries = 7,
	.mra_timeout = 18,
	.timewait_min = 0,
	.timewait_max = 14,
};

bool cm_config_is_valid(const struct cm_config *config)
{
	return config->ids >= 1 && config->ids <= CM_IDS_MAX && config->ids_per_owner >= 1 && config->ids_per_owner <= config->ids &&
	       config->backlog >= 1 && config->backlog <= config->ids && config->answers >= 1 && config->answers <= 65536 &&
	       config->first_port >= 1 && config->first_port <= config->last_port && config->response_timeout <= CM_TIMEOUT_CODE_MAX &&
	       config->max_retries <= CM_RETRIES_MAX && config->mra_timeout <= CM_TIMEOUT_CODE_MAX &&
	       config->timewait_min <= config->timewait_max && config->timewait_max <= CM_TIMEOUT_CODE_MAX;
}
