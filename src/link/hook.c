/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/hook.h"

#include "link/count.h"

enum link_verdict link_hooks_run(const struct link_hooks *hooks, bool outgoing, const struct link_path *path,
		const struct transport_run *run)
{
	enum link_verdict verdict = LINK_PASS;

	if (hooks->judge != NULL)
		verdict = hooks->judge(hooks->context, outgoing, path, run);
	if (hooks->observe != NULL && verdict != LINK_LOSE)
		for (int i = 0; i < (verdict == LINK_TWICE ? 2 : 1); i++)
			hooks->observe(hooks->context, outgoing, path, run);
	return verdict;
}

/* The path of something that arrived, in the direction it travelled: sgid and qpn are the sender's. */
static struct link_path path_of(const struct link_rx *rx)
{
	return (struct link_path){
		.kind = rx->kind,
		.gid_type = rx->gid_type,
		.sgid = rx->sgid,
		.dgid = rx->dgid,
		.dest_ifindex = rx->ifindex,
		.dest_qpn = rx->run.head.bth.dest_qpn,
		.traffic_class = rx->traffic_class,
		.hop_limit = rx->hop_limit,
	};
}

void link_hooks_sink(const struct link_hooks *hooks, struct link_counters *counters, const struct link_rx *rx,
		link_sink *sink, void *context)
{
	struct link_path path = path_of(rx);

	switch (link_hooks_run(hooks, false, &path, &rx->run)) {
	case LINK_LOSE:
		link_count_drop(counters, LINK_DROP_FAULT, rx->run.packets);
		return;
	case LINK_TWICE:
		sink(context, rx);
		/* fall through */
	case LINK_PASS:
		sink(context, rx);
		return;
	}
}
