/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/mcast.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "hca/limits.h"
#include "hca/mcast_internal.h"
#include "hca/qp_type.h"
#include "wire/bytes.h"

static struct hca_mcast_member **bucket_of(struct hca_mcast *mcast, const struct wire_gid *mgid)
{
	/* Groups differ in their last bytes. */
	return &mcast->members[wire_be32_load(mgid->raw + 12) & (HCA_MCAST_BUCKETS - 1)];
}

/*
 * The kernel gives a socket what any interface brings for a group that the socket is in (IPv6), so the interface is looked at
 * here.
 */
static bool is_for(const struct hca_mcast_member *member, const struct link_rx *rx)
{
	return wire_gid_equal(&member->mgid, &rx->dgid) &&
	       (rx->ifindex == 0 || member->ifindex == 0 || rx->ifindex == member->ifindex);
}

static uint64_t flow_receive(struct node_flow *flow, uint64_t now, const struct link_rx *rx, bool may_wait)
{
	struct hca_mcast *mcast = (struct hca_mcast *)(void *)((char *)flow - offsetof(struct hca_mcast, flow));
	uint64_t taken = 0;

	if (!wire_gid_is_multicast(&rx->dgid))
		return 0;
	for (const struct hca_mcast_member *m = *bucket_of(mcast, &rx->dgid); m != NULL; m = m->next) {
		const struct hca_engine *engine = hca_context_engine(m->qp->context);

		if (!is_for(m, rx))
			continue;
		if (hca_qp_ud_is_own(m->qp, rx)) {
			taken++;
			continue;
		}
		/* One member without a receive must not hold up the others. */
		hca_qp_ud_deliver(m->qp, now, rx, false);
		engine->ops->schedule(engine->context, &m->qp->flow);
		taken++;
	}
	return taken;
}

static const struct node_flow_ops flow_ops = { .receive = flow_receive };

static int check(const struct hca_qp *qp, const struct wire_gid *mgid)
{
	if (qp->type == HCA_QPT_UD && wire_gid_is_multicast(mgid))
		return 0;
	base_explain("multicast refused: it needs a UD QP and a multicast GID (ff.., or ::ffff:224.0.0.0 and up)");
	return BASE_ERR_INVAL;
}

/* The place of the pointer to it, or of the bucket's end; counts how many the group has. Progress lock held. */
static struct hca_mcast_member **find(struct hca_mcast *mcast, const struct hca_qp *qp, const struct wire_gid *mgid, unsigned *count)
{
	struct hca_mcast_member **at = bucket_of(mcast, mgid);

	*count = 0;
	for (; *at != NULL; at = &(*at)->next) {
		if (!wire_gid_equal(&(*at)->mgid, mgid))
			continue;
		if ((*at)->qp == qp)
			break;
		++*count;
	}
	return at;
}

/* The member came into the table, or is out of it. No lock held. */
static void tell(const struct hca_qp *qp, const struct hca_mcast_member *member, bool enter)
{
	const struct hca_device_config *config = &qp->context->device->config;

	if (config->ops->group != NULL)
		config->ops->group(config->ops_context, member->ifindex, &member->mgid, enter);
}

int hca_mcast_attach(struct hca_qp *qp, const struct wire_gid *mgid)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);
	struct hca_device *device = qp->context->device;
	const struct hca_device_config *config = &device->config;
	struct hca_mcast_member *member, **at;
	bool added = false;
	unsigned count;
	int err = check(qp, mgid);

	if (err != 0)
		return err;
	member = calloc(1, sizeof(*member));
	if (member == NULL)
		return BASE_ERR_NOMEM;
	*member = (struct hca_mcast_member){ .mgid = *mgid, .qp = qp,
		.ifindex = config->ops->interface == NULL ? 0 : config->ops->interface(config->ops_context) };
	/* Once it is in the table, another thread may take it out. */
	const struct hca_mcast_member told = *member;

	engine->ops->lock(engine->context);
	at = find(&device->mcast, qp, mgid, &count);
	if (*at == NULL && count < HCA_MAX_MCAST_QP) {
		*at = member;
		added = true;
		if (!device->mcast.listening) {
			device->mcast.flow.ops = &flow_ops;
			engine->ops->group_add(engine->context, &device->mcast.flow);
			device->mcast.listening = true;
		}
	} else if (*at == NULL) {
		err = BASE_ERR_NOMEM;
	}
	engine->ops->unlock(engine->context);
	if (added)
		tell(qp, &told, true);
	else
		free(member);
	return err;
}

int hca_mcast_detach(struct hca_qp *qp, const struct wire_gid *mgid)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);
	struct hca_mcast_member *member, **at;
	unsigned count;
	int err = check(qp, mgid);

	if (err != 0)
		return err;
	engine->ops->lock(engine->context);
	at = find(&qp->context->device->mcast, qp, mgid, &count);
	member = *at;
	if (member != NULL)
		*at = member->next;
	engine->ops->unlock(engine->context);
	if (member == NULL)
		return BASE_ERR_INVAL;
	tell(qp, member, false);
	free(member);
	return 0;
}

bool hca_mcast_is_attached(struct hca_qp *qp)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);
	const struct hca_mcast *mcast = &qp->context->device->mcast;
	bool found = false;

	if (qp->type != HCA_QPT_UD)
		return false;
	engine->ops->lock(engine->context);
	for (unsigned i = 0; i < HCA_MCAST_BUCKETS; i++)
		for (const struct hca_mcast_member *m = mcast->members[i]; m != NULL; m = m->next)
			found |= m->qp == qp;
	engine->ops->unlock(engine->context);
	return found;
}

void hca_mcast_forget(struct hca_qp *qp)
{
	const struct hca_engine *engine = hca_context_engine(qp->context);
	struct hca_mcast *mcast = &qp->context->device->mcast;
	struct hca_mcast_member *gone = NULL, *next;

	if (qp->type != HCA_QPT_UD)
		return;
	engine->ops->lock(engine->context);
	for (unsigned i = 0; i < HCA_MCAST_BUCKETS; i++) {
		struct hca_mcast_member **at = &mcast->members[i];

		while (*at != NULL) {
			struct hca_mcast_member *m = *at;

			if (m->qp != qp) {
				at = &m->next;
				continue;
			}
			*at = m->next;
			m->next = gone;
			gone = m;
		}
	}
	engine->ops->unlock(engine->context);
	for (; gone != NULL; gone = next) {
		next = gone->next;
		tell(qp, gone, false);
		free(gone);
	}
}
