/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Public functions of librdmacm newer than our oldest headers (44). Prototypes agree with the newer ones. */
#ifndef RDMACM_NEWER_H
#define RDMACM_NEWER_H

#include <rdma/rdma_cma.h>

#include <sys/epoll.h>

/* -1 and errno on failure. */
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service, const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg);

/* epoll for rsockets: an epoll set that may hold them. */
int repoll_create(int size);
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);

#endif
