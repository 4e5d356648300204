/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A device (one per network interface and process) and its contexts (one per open).
 *
 * The device holds what all contexts share: engine, memory table, export, identity, port state. It knows nothing of GID tables or
 * neighbours: addresses are resolved by its owner through hca_device_ops.
 *
 * Errors: BASE_ERR_*, named per function. Ownership: the creator destroys; a device outlives its contexts, a context its objects.
 * Threads: every call is safe in any thread unless it says otherwise.
 */
#ifndef HCA_DEVICE_H
#define HCA_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "dma/mr.h"
#include "export/export.h"
#include "hca/ah.h"
#include "hca/engine.h"
#include "hca/qp_ece.h"

struct hca_device;  /* opaque */
struct hca_context; /* opaque */

struct hca_device_ops {
	/*
	 * Where packets to this address go: fills kind, gid_type, sgid, dgid, ifindex, dest_ifindex, dest_qpn, flow_label,
	 * traffic_class, hop_limit, gso. Called without the progress lock; may wait (pair of rings, neighbour). dest_qpn is 0
	 * for an AH. BASE_ERR_INVAL: sgid_index holds no GID; BASE_ERR_TIMEDOUT, BASE_ERR_UNREACH: the neighbour does not
	 * answer, no route.
	 */
	int (*resolve_path)(void *context, const struct hca_ah_attr *ah, uint32_t dest_qpn, struct link_path *out);
	/* Optional: the index of the interface that the device is; 0: not known. No lock is held. */
	uint32_t (*interface)(void *context);
	/*
	 * Optional: a QP is attached to this group, or no longer. Best effort: without it what reaches the process is what groups were
	 * joined elsewhere. Called without the progress lock, as often for leaving as for entering.
	 */
	void (*group)(void *context, uint32_t ifindex, const struct wire_gid *mgid, bool enter);
};

/* Who the device says it is. hca_identity_default() is a pair that Debian's perftest knows and gives inline data to. */
struct hca_identity {
	uint32_t vendor_id, vendor_part_id, hw_ver;
	uint64_t node_guid, sys_image_guid; /* host order */
	char fw_ver[64];
};
void hca_identity_default(struct hca_identity *out);

struct hca_device_config {
	char name[32];
	struct hca_engine engine;
	const struct hca_device_ops *ops;
	void *ops_context;
	struct dma_table *memory;     /* of the process; borrowed */
	struct export_writer *export; /* of the process; borrowed */
	struct hca_identity identity;
	struct hca_ece ece;           /* what its QPs offer; all zero: it has no ECE */
	int active_mtu;               /* a code, 1..5 */
	bool port_active;
	uint32_t speed;               /* of the interface, Mb/s; 0: not known */
	bool windows_2a;              /* windows of type 2 are of kind 2A; false: 2B, which asks for the domain as well */
};

/* Values of enum ibv_port_state. */
enum hca_port_state { HCA_PORT_DOWN = 1, HCA_PORT_ACTIVE = 4 };

struct hca_port_attr {
	enum hca_port_state state;
	int max_mtu, active_mtu;
	uint32_t port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr;
	uint16_t pkey_tbl_len;
	uint8_t phys_state, active_width, active_speed, max_vl_num;
};

/* Names and meaning as in ibv_device_attr; cap_flags are values of ibv_device_cap_flags. */
struct hca_device_attr {
	struct hca_identity identity;
	uint64_t max_mr_size, page_size_cap, max_dm_size;
	uint32_t cap_flags;
	int max_qp, max_qp_wr, max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_mw, max_pd, max_qp_rd_atom, max_res_rd_atom,
		max_qp_init_rd_atom, max_ah, max_srq, max_srq_wr, max_srq_sge, max_inline, comp_vectors, max_mcast_groups, max_mcast_qp;
	bool atomics;                 /* ATOMIC_HCA */
	uint16_t max_pkeys;
	uint8_t local_ca_ack_delay, phys_port_cnt;
};

/* BASE_ERR_NOMEM: memory or the export's port entries are used up. BASE_ERR_INVAL: a config member is missing. */
int hca_device_create(const struct hca_device_config *config, struct hca_device **out);
/* BASE_ERR_BUSY while a context is open. */
int hca_device_destroy(struct hca_device *device);
void hca_device_query(const struct hca_device *device, struct hca_device_attr *out);
void hca_device_query_port(const struct hca_device *device, struct hca_port_attr *out);
/* The interface changed. Raises PORT_ACTIVE or PORT_ERR on every context when `active` differs from before. */
void hca_device_port_set(struct hca_device *device, bool active, int active_mtu, uint32_t speed);
/* The GID table changed: GID_CHANGE on every context. */
void hca_device_gids_changed(struct hca_device *device);
/*
 * The interface is gone, and with it this device, for good: the port is down, DEVICE_FATAL is raised on every context, every QP goes
 * to error and flushes. From now on BASE_ERR_IO is the answer to whatever makes or changes an object; destroying goes as always.
 * A second call does nothing. No lock is held.
 */
void hca_device_lost(struct hca_device *device);
bool hca_device_is_lost(const struct hca_device *device);

/* BASE_ERR_NOMEM: memory or descriptors. `user` comes back with port and device events. */
int hca_context_open(struct hca_device *device, void *user, struct hca_context **out);
/* BASE_ERR_BUSY while an object of it lives. Events nobody took are forgotten. */
int hca_context_close(struct hca_context *context);
struct hca_device *hca_context_device(const struct hca_context *context);
void *hca_context_user(const struct hca_context *context);

#endif
