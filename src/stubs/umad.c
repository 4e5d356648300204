/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libibumad.so.3: management datagrams by hand. They belong to InfiniBand ports: an Ethernet port has no subnet manager, no QP0
 * and no umad device, so there is no adapter to list and no port to open. What works on a caller's buffer alone is complete.
 */
#include "stubs/umad_newer.h"
#include "verbs/symbol.h"

#include <infiniband/umad.h>

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int debug_level;

VERBS_PUBLIC int umad_init(void)
{
	return 0;
}

VERBS_PUBLIC int umad_done(void)
{
	return 0;
}

VERBS_PUBLIC int umad_debug(int level)
{
	if (level >= 0)
		debug_level = level;
	return debug_level;
}

/* adapters and ports: none */

VERBS_PUBLIC int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	return 0;
}

VERBS_PUBLIC int umad_get_ca_portguids(const char *ca_name, __be64 *portguids, int max)
{
	return -ENODEV;
}

VERBS_PUBLIC int umad_get_ca(const char *ca_name, umad_ca_t *ca)
{
	return -ENODEV;
}

VERBS_PUBLIC int umad_release_ca(umad_ca_t *ca)
{
	return -ENODEV;
}

VERBS_PUBLIC int umad_get_port(const char *ca_name, int portnum, umad_port_t *port)
{
	return -ENODEV;
}

VERBS_PUBLIC int umad_release_port(umad_port_t *port)
{
	return -ENODEV;
}

VERBS_PUBLIC int umad_get_issm_path(const char *ca_name, int portnum, char path[], int max)
{
	return -ENODEV;
}

VERBS_PUBLIC int umad_open_port(const char *ca_name, int portnum)
{
	return -ENODEV;
}

VERBS_PUBLIC int umad_open_smi_port(const char *ca_name, int portnum)
{
	return -ENODEV;
}

VERBS_PUBLIC int umad_get_smi_gsi_pairs(struct umad_ca_pair *pairs, size_t max)
{
	return 0;
}

VERBS_PUBLIC int umad_get_smi_gsi_pair_by_ca_name(const char *ca_name, uint8_t portnum, struct umad_ca_pair *pair)
{
	return -ENODEV;
}

/* NULL with errno 0 is an empty list. */
VERBS_PUBLIC struct umad_device_node *umad_get_ca_device_list(void)
{
	errno = 0;
	return NULL;
}

VERBS_PUBLIC void umad_free_ca_device_list(struct umad_device_node *head)
{
	while (head != NULL) {
		struct umad_device_node *next = head->next;

		free((void *)(uintptr_t)head->ca_name);
		free(head);
		head = next;
	}
}

static int by_name(const void *a, const void *b)
{
	const struct umad_device_node *const *left = a;
	const struct umad_device_node *const *right = b;

	return strcmp((*left)->ca_name, (*right)->ca_name);
}

/* Sorts by name; `size` 0 means "count them". A positive errno on failure, with the list as it was. */
VERBS_PUBLIC int umad_sort_ca_device_list(struct umad_device_node **head, size_t size)
{
	struct umad_device_node **nodes;
	size_t count = 0;

	for (struct umad_device_node *node = *head; node != NULL; node = node->next)
		count++;
	if (size != 0 && size != count)
		return EINVAL;
	if (count < 2)
		return 0;
	nodes = calloc(count, sizeof(*nodes));
	if (nodes == NULL)
		return ENOMEM;
	count = 0;
	for (struct umad_device_node *node = *head; node != NULL; node = node->next)
		nodes[count++] = node;
	qsort(nodes, count, sizeof(*nodes), by_name);
	for (size_t i = 0; i < count; i++)
		nodes[i]->next = i + 1 < count ? nodes[i + 1] : NULL;
	*head = nodes[0];
	free(nodes);
	return 0;
}

/* ports by number: no number is one */

VERBS_PUBLIC int umad_close_port(int portid)
{
	return -EINVAL;
}

VERBS_PUBLIC int umad_get_fd(int portid)
{
	return -EINVAL;
}

VERBS_PUBLIC int umad_poll(int portid, int timeout_ms)
{
	return -EINVAL;
}

VERBS_PUBLIC int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	return -EINVAL;
}

VERBS_PUBLIC int umad_send(int portid, int agentid, void *umad, int length, int timeout_ms, int retries)
{
	return -EINVAL;
}

VERBS_PUBLIC int umad_register(int portid, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
	long method_mask[16 / sizeof(long)])
{
	return -EINVAL;
}

VERBS_PUBLIC int umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
	long method_mask[16 / sizeof(long)])
{
	return -EINVAL;
}

/* The one call here that returns a positive errno. */
VERBS_PUBLIC int umad_register2(int port_fd, struct umad_reg_attr *attr, uint32_t *agent_id)
{
	return EBADF;
}

VERBS_PUBLIC int umad_unregister(int portid, int agentid)
{
	return -EINVAL;
}

/* the caller's buffer */

VERBS_PUBLIC size_t umad_size(void)
{
	return sizeof(struct ib_user_mad);
}

VERBS_PUBLIC void *umad_get_mad(void *umad)
{
	return ((struct ib_user_mad *)umad)->data;
}

VERBS_PUBLIC ib_mad_addr_t *umad_get_mad_addr(void *umad)
{
	return &((struct ib_user_mad *)umad)->addr;
}

VERBS_PUBLIC int umad_status(void *umad)
{
	return (int)((struct ib_user_mad *)umad)->status;
}

/* From an address in host order; NULL takes the header away. */
VERBS_PUBLIC int umad_set_grh(void *umad, void *mad_addr)
{
	struct ib_user_mad *mad = umad;
	const struct ib_mad_addr *from = mad_addr;

	mad->addr.grh_present = from != NULL;
	if (from == NULL)
		return 0;
	memcpy(mad->addr.gid, from->gid, sizeof(mad->addr.gid));
	mad->addr.flow_label = htobe32(from->flow_label);
	mad->addr.hop_limit = from->hop_limit;
	mad->addr.traffic_class = from->traffic_class;
	mad->addr.gid_index = from->gid_index;
	return 0;
}

VERBS_PUBLIC int umad_set_addr_net(void *umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey)
{
	struct ib_user_mad *mad = umad;

	mad->addr.lid = dlid;
	mad->addr.qpn = dqp;
	mad->addr.sl = (uint8_t)sl;
	mad->addr.qkey = qkey;
	return 0;
}

VERBS_PUBLIC int umad_set_addr(void *umad, int dlid, int dqp, int sl, int qkey)
{
	return umad_set_addr_net(umad, htobe16((uint16_t)dlid), htobe32((uint32_t)dqp), sl, htobe32((uint32_t)qkey));
}

VERBS_PUBLIC int umad_set_pkey(void *umad, int pkey_index)
{
	((struct ib_user_mad *)umad)->addr.pkey_index = (uint16_t)pkey_index;
	return 0;
}

VERBS_PUBLIC int umad_get_pkey(void *umad)
{
	return ((struct ib_user_mad *)umad)->addr.pkey_index;
}

VERBS_PUBLIC void umad_addr_dump(ib_mad_addr_t *addr)
{
	char gid[2 * sizeof(addr->gid) + 1];

	for (size_t i = 0; i < sizeof(addr->gid); i++)
		snprintf(gid + 2 * i, 3, "%02x", addr->gid[i]);
	fprintf(stderr, "umad address: qpn %u qkey 0x%x lid %u sl %u pkey_index 0x%x\n", be32toh(addr->qpn), be32toh(addr->qkey),
		be16toh(addr->lid), addr->sl, addr->pkey_index);
	fprintf(stderr, "  grh_present %u gid_index %u hop_limit %u traffic_class %u flow_label 0x%x gid 0x%s\n", addr->grh_present,
		addr->gid_index, addr->hop_limit, addr->traffic_class, be32toh(addr->flow_label), gid);
}

VERBS_PUBLIC void umad_dump(void *umad)
{
	struct ib_user_mad *mad = umad;

	fprintf(stderr, "umad: agent %u status 0x%x timeout %u ms\n", mad->agent_id, mad->status, mad->timeout_ms);
	umad_addr_dump(&mad->addr);
}
