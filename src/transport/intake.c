/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/intake.h"

#include <string.h>

#include "base/err.h"

void intake_init(struct intake *in, const struct transport_recv_ops *ops, void *host)
{
	memset(in, 0, sizeof(*in));
	in->ops = ops;
	in->host = host;
}

int intake_hold(struct intake *in)
{
	int err;

	if (in->held)
		return BASE_OK;
	if (in->count == INTAKE_COMPLETIONS)
		return BASE_ERR_AGAIN;
	err = in->ops->take(in->host, &in->recv);
	in->held = err == BASE_OK;
	return err;
}

void intake_complete(struct intake *in, struct transport_completion completion)
{
	if (!in->held)
		return;
	completion.wr_id = in->recv.wr_id;
	completion.index = in->recv.index;
	completion.srqn = in->recv.srqn;
	completion.signaled = true;
	completion.vendor_err = transport_vendor_err(completion.status, completion.vendor_err);
	/* intake_hold() left a free entry. */
	in->completions[(in->first + in->count++) % INTAKE_COMPLETIONS] = completion;
	in->held = false;
}

void intake_end(struct intake *in, uint32_t status, uint32_t src_qpn)
{
	intake_complete(in, (struct transport_completion){ .status = status, .opcode = TRANSPORT_WC_RECV, .src_qpn = src_qpn });
}

int intake_completion_next(struct intake *in, struct transport_completion *out)
{
	if (in->count == 0)
		return 0;
	*out = in->completions[in->first];
	in->first = (uint8_t)((in->first + 1) % INTAKE_COMPLETIONS);
	in->count--;
	return 1;
}
