/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names that libibverbs exports for its own family of libraries and that no installed header declares any more: file access below
 * /sys, the conversions from the kernel's layouts, and a private name that utilities import. Layouts: <rdma/ib_user_verbs.h>,
 * <rdma/ib_user_sa.h>, <infiniband/sa.h>. Stateless except for the path, which is read from SYSFS_PATH once. Thread-safe.
 */
#ifndef VERBS_DRIVER_H
#define VERBS_DRIVER_H

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

/* The text of dir/file without its line end, terminated if it fits with room to spare. Returns its length or -1 with errno. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
/* "/sys", or SYSFS_PATH without trailing slashes (not for a set-user-id program). Never NULL, lives for ever. */
const char *ibv_get_sysfs_path(void);

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src);

enum verbs_gid_type_sysfs {
	VERBS_GID_SYSFS_IB_ROCE_V1 = 0,
	VERBS_GID_SYSFS_ROCE_V2 = 1,
};

/* 0, with type 0 for an empty slot; -1 and errno for a port or index outside the tables. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, enum verbs_gid_type_sysfs *type);
/* Exported since 1.1; nothing to do, 0. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

#endif
