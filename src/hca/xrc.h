/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Extended reliable connections: domains, the SRQs in them, and target queue pairs, which take each message into the SRQ that it
 * names (roce-wire: XRCETH). A target belongs to nobody: every opener holds a reference and gets its events, the last one to
 * close it ends it.
 *
 * A domain is known by a file (device and inode number), so that programs' parts find each other's; or by nothing, and is then
 * its opener's alone. It lives in one process: shared by contexts of a device, not between processes.
 *
 * Errors: named per function. Ownership: who opened or created closes. Threads: any.
 */
#ifndef HCA_XRC_H
#define HCA_XRC_H

#include <stdbool.h>
#include <stdint.h>

struct hca_context;
struct hca_cq;
struct hca_pd;
struct hca_qp;
struct hca_qp_init;
struct hca_srq;
struct hca_srq_attr;
struct hca_xrc_opener; /* opaque: one reference to a target */
struct hca_xrcd;       /* opaque: one reference to a domain */

struct hca_xrcd_key {
	uint64_t device, inode;
	bool create, exclusive; /* O_CREAT, O_EXCL */
};

/*
 * key NULL: a domain of its own. BASE_ERR_AGAIN: there is none for this file, and it shall not be created; BASE_ERR_INVAL: there
 * is one, and it shall not; BASE_ERR_NOMEM.
 */
int hca_xrcd_open(struct hca_context *context, const struct hca_xrcd_key *key, struct hca_xrcd **out);
/* BASE_ERR_BUSY while an SRQ or an opener that was made with this reference lives. */
int hca_xrcd_close(struct hca_xrcd *xrcd);

/*
 * As hca_srq_create(); destroyed with hca_srq_destroy(). Completions of its receives go to cq. A target that is in the middle of
 * a message for an SRQ that is destroyed goes to error. BASE_ERR_INVAL: an object of another context.
 */
int hca_xrc_srq_create(struct hca_xrcd *xrcd, struct hca_pd *pd, struct hca_cq *cq, struct hca_srq_attr *attr, void *user,
		       struct hca_srq **out);
/* 24 bits. 0: not of this kind. */
uint32_t hca_xrc_srq_number(const struct hca_srq *srq);

/* A new target, and its first opener. *qp is for hca_qp_modify(), hca_qp_query() and hca_qp_number(). user: of its events. */
int hca_xrc_target_create(struct hca_xrcd *xrcd, struct hca_qp_init *init, void *user, struct hca_qp **qp,
			  struct hca_xrc_opener **out);
/* BASE_ERR_INVAL: the domain has no target of this number; BASE_ERR_NOMEM. */
int hca_xrc_target_open(struct hca_xrcd *xrcd, uint32_t qpn, void *user, struct hca_qp **qp, struct hca_xrc_opener **out);
/* Waits until events that this opener took are acknowledged. With the last one the target ends. */
void hca_xrc_target_close(struct hca_xrc_opener *opener);
/* For hca_async_ack(). */
void *hca_xrc_opener_async_token(struct hca_xrc_opener *opener);

#endif
