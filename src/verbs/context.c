/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening a device, the operations table, and what the device says about itself. */
#include "verbs/context.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "hca/async.h"
#include "hca/limits.h"
#include "hca/qp_rate.h"
#include "verbs/device.h"
#include "verbs/import.h"
#include "verbs/newer.h"
#include "verbs/ops.h"
#include "verbs/symbol.h"

enum { CORE_CLOCK_KHZ = 1000000 }; /* a tick is a nanosecond */

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static struct verbs_context_object *contexts;                     /* guarded by contexts_lock */

void *verbs_null_inherited(void)
{
	errno = EIO;
	return NULL;
}

void *verbs_null(int err)
{
	errno = base_err_to_errno(err);
	return NULL;
}

int verbs_minus_one(int err)
{
	/* A blocking call that a signal interrupted says so; everything else by the table. */
	errno = err == BASE_ERR_IO ? EINTR : base_err_to_errno(err);
	return -1;
}

void verbs_context_fill_ops(struct verbs_context *ex)
{
	struct ibv_context_ops *ops = &ex->context.ops;

	ops->_compat_query_device = verbs_query_device;
	ops->_compat_query_port = verbs_query_port_old;
	ops->poll_cq = verbs_poll_cq;
	ops->req_notify_cq = verbs_req_notify_cq;
	ops->post_send = verbs_post_send;
	ops->post_recv = verbs_post_recv;
	ops->post_srq_recv = verbs_post_srq_recv;
	ops->alloc_mw = verbs_alloc_mw;
	ops->bind_mw = verbs_bind_mw;
	ops->dealloc_mw = verbs_dealloc_mw;
	ex->alloc_null_mr = verbs_alloc_null_mr;
	ex->advise_mr = verbs_advise_mr;
	ex->alloc_dm = verbs_alloc_dm;
	ex->free_dm = verbs_free_dm;
	ex->reg_dm_mr = verbs_reg_dm_mr;
	ex->query_port = verbs_query_port;
	ex->query_device_ex = verbs_query_device_ex;
	ex->create_cq_ex = verbs_create_cq_ex;
	ex->modify_cq = verbs_modify_cq;
	ex->alloc_td = verbs_alloc_td;
	ex->dealloc_td = verbs_dealloc_td;
	ex->alloc_parent_domain = verbs_alloc_parent_domain;
	ex->query_rt_values = verbs_query_rt_values;
	ex->modify_qp_rate_limit = verbs_modify_qp_rate_limit;
	ex->create_qp_ex = verbs_create_qp_ex;
	ex->create_srq_ex = verbs_create_srq_ex;
	ex->open_xrcd = verbs_open_xrcd;
	ex->close_xrcd = verbs_close_xrcd;
	ex->get_srq_num = verbs_get_srq_num;
	ex->open_qp = verbs_open_qp;
}

/* --- what a fork child's inherited contexts answer on the data path --- */

static int inherited_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	return -EIO;
}

static int inherited_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return EIO;
}

static int inherited_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	*bad_wr = wr;
	return EIO;
}

static int inherited_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	*bad_wr = wr;
	return EIO;
}

static int inherited_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	*bad_wr = wr;
	return EIO;
}

static void fork_prepare(void)
{
	verbs_devices_lock();
	pthread_mutex_lock(&contexts_lock);
	verbs_handles_lock();
}

static void fork_parent(void)
{
	verbs_handles_unlock();
	pthread_mutex_unlock(&contexts_lock);
	verbs_devices_unlock();
}

static void fork_child(void)
{
	for (struct verbs_context_object *object = contexts; object != NULL; object = object->next) {
		struct ibv_context_ops *ops = &object->ex.context.ops;

		ops->poll_cq = inherited_poll_cq;
		ops->req_notify_cq = inherited_req_notify_cq;
		ops->post_send = inherited_post_send;
		ops->post_recv = inherited_post_recv;
		ops->post_srq_recv = inherited_post_srq_recv;
		object->ex.create_qp_ex = NULL;
		object->ex.create_srq_ex = NULL;
		object->ex.create_cq_ex = NULL;
	}
	fork_parent();
}

static void register_fork_handlers(void)
{
	if (pthread_atfork(fork_prepare, fork_parent, fork_child) != 0)
		base_error("no memory for the fork handlers: a forked child must not use RDMA");
}

void verbs_fork_prepare_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_fork_handlers);
}

static void list_add(struct verbs_context_object *object)
{
	pthread_mutex_lock(&contexts_lock);
	object->next = contexts;
	contexts = object;
	pthread_mutex_unlock(&contexts_lock);
}

/* True: nobody else has its adapter's context. */
static bool list_remove(struct verbs_context_object *object)
{
	struct verbs_context_object **at = &contexts;

	pthread_mutex_lock(&contexts_lock);
	while (*at != object)
		at = &(*at)->next;
	*at = object->next;
	bool is_last = --*object->sharers == 0;
	pthread_mutex_unlock(&contexts_lock);
	return is_last;
}

static int context_open(struct verbs_device *self, struct verbs_context_object *object)
{
	struct ibv_context *context = &object->ex.context;
	int err;

	object->sharers = malloc(sizeof(*object->sharers));
	if (object->sharers == NULL)
		return BASE_ERR_NOMEM;
	*object->sharers = 1;
	err = verbs_device_open(self, context, &object->hca, &object->engine);
	if (err != 0) {
		free(object->sharers);
		return err;
	}
	/* Programs may duplicate it and see a character device, as with hardware; nothing is ever written to it. */
	context->cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (context->cmd_fd < 0) {
		err = base_err_from_errno(errno);
		verbs_device_close(object->hca);
		free(object->sharers);
	}
	return err;
}

/* The public part, but for the descriptors. */
static struct ibv_context *context_show(struct verbs_context_object *object, struct verbs_device *device,
					struct process_engine *engine)
{
	struct ibv_context *context = &object->ex.context;

	object->device = device;
	object->engine = engine;
	object->ex.sz = sizeof(object->ex);
	context->device = &device->ibv;
	context->num_comp_vectors = HCA_COMP_VECTORS;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&context->mutex, NULL);
	verbs_context_fill_ops(&object->ex);
	list_add(object);
	return context;
}

VERBS_PUBLIC struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct verbs_device *self = verbs_device_of(device);
	struct verbs_context_object *object = calloc(1, sizeof(*object));
	int cancel;

	if (object == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	verbs_fork_prepare_once();
	/* Opening meets cancellation points; nobody may leave half way. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	int err = context_open(self, object);
	pthread_setcancelstate(cancel, NULL);
	if (err != 0) {
		free(object);
		return verbs_null(err);
	}
	object->ex.context.async_fd = hca_async_fd(object->hca);
	return context_show(object, self, object->engine);
}

/* Whose open file it is a copy of, with a share in its adapter's context. NULL: of none here. */
static struct verbs_context_object *find_file(int fd)
{
	struct verbs_context_object *object;

	pthread_mutex_lock(&contexts_lock);
	for (object = contexts; object != NULL; object = object->next)
		if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, fd, object->ex.context.cmd_fd) == 0)
			break;
	if (object != NULL)
		++*object->sharers;
	pthread_mutex_unlock(&contexts_lock);
	return object;
}

/* A second context over the adapter's one. Files of other processes are not ours to open: their adapter lives there. */
VERBS_PUBLIC struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct verbs_context_object *object = calloc(1, sizeof(*object));

	if (object == NULL)
		return verbs_null(BASE_ERR_NOMEM);
	struct verbs_context_object *first = fcntl(cmd_fd, F_GETFD) < 0 ? NULL : find_file(cmd_fd);
	if (first == NULL) {
		free(object);
		errno = fcntl(cmd_fd, F_GETFD) < 0 ? EBADF : EOPNOTSUPP;
		return NULL;
	}
	object->hca = first->hca;
	object->sharers = first->sharers;
	object->owns_async_fd = true;
	object->ex.context.cmd_fd = cmd_fd;
	object->ex.context.async_fd = fcntl(first->ex.context.async_fd, F_DUPFD_CLOEXEC, 0);
	return context_show(object, first->device, first->engine);
}

VERBS_PUBLIC int ibv_close_device(struct ibv_context *context)
{
	struct verbs_context_object *object = verbs_context_of(context);
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	close(context->cmd_fd);
	context->cmd_fd = -1;
	bool inherited = verbs_is_inherited(context);
	if (inherited || object->owns_async_fd)
		close(context->async_fd);
	bool is_last = !inherited && list_remove(object);
	int err = is_last ? verbs_device_close(object->hca) : 0;
	pthread_setcancelstate(cancel, NULL);
	if (inherited)
		return 0;
	if (err != 0) {
		/*
		 * Programs close with objects left over and expect 0, since a kernel would clean up. Here those objects and
		 * what they stand
		 * on stay as they are until the process ends.
		 */
		base_explain("%s: closed with objects of it still there", context->device->name);
		return 0;
	}
	pthread_mutex_destroy(&context->mutex);
	if (is_last)
		free(object->sharers);
	free(object);
	return 0;
}

int verbs_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct hca_device_attr ours;

	hca_device_query(hca_context_device(verbs_context_of(context)->hca), &ours);
	*attr = (struct ibv_device_attr){
		.node_guid = htobe64(ours.identity.node_guid),
		.sys_image_guid = htobe64(ours.identity.sys_image_guid),
		.max_mr_size = ours.max_mr_size,
		.page_size_cap = ours.page_size_cap,
		.vendor_id = ours.identity.vendor_id,
		.vendor_part_id = ours.identity.vendor_part_id,
		.hw_ver = ours.identity.hw_ver,
		.max_qp = ours.max_qp,
		.max_qp_wr = ours.max_qp_wr,
		.device_cap_flags = ours.cap_flags,
		.max_sge = ours.max_sge,
		.max_sge_rd = ours.max_sge_rd,
		.max_cq = ours.max_cq,
		.max_cqe = ours.max_cqe,
		.max_mr = ours.max_mr,
		.max_mw = ours.max_mw,
		.max_pd = ours.max_pd,
		.max_qp_rd_atom = ours.max_qp_rd_atom,
		.max_res_rd_atom = ours.max_res_rd_atom,
		.max_qp_init_rd_atom = ours.max_qp_init_rd_atom,
		.atomic_cap = ours.atomics ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE,
		.max_ah = ours.max_ah,
		.max_mcast_grp = ours.max_mcast_groups,
		.max_mcast_qp_attach = ours.max_mcast_qp,
		.max_total_mcast_qp_attach = ours.max_mcast_groups * ours.max_mcast_qp,
		.max_srq = ours.max_srq,
		.max_srq_wr = ours.max_srq_wr,
		.max_srq_sge = ours.max_srq_sge,
		.max_pkeys = ours.max_pkeys,
		.local_ca_ack_delay = ours.local_ca_ack_delay,
		.phys_port_cnt = ours.phys_port_cnt,
	};
	memcpy(attr->fw_ver, ours.identity.fw_ver, sizeof(attr->fw_ver));
	attr->fw_ver[sizeof(attr->fw_ver) - 1] = '\0';
	return 0;
}

VERBS_PUBLIC int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)
{
	return verbs_query_device(context, device_attr);
}

int verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t answered = values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK;

	/* Ticks, all in tv_nsec, as programs know it from hardware whose ticks are no nanoseconds. */
	if (answered != 0)
		values->raw_clock = (struct timespec){ .tv_nsec = (long)base_clock_now() };
	values->comp_mask = answered;
	return 0;
}

int verbs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input, struct
		ibv_device_attr_ex *attr,
			  size_t attr_size)
{
	/* Whatever touches memory here survives a page that is not there. */
	const uint32_t odp_ud = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
	const uint32_t odp_uc = odp_ud | IBV_ODP_SUPPORT_WRITE;
	const uint32_t odp_reliable = odp_uc | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
	struct ibv_device_attr_ex ours = {
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = CORE_CLOCK_KHZ,
		.packet_pacing_caps = { HCA_RATE_MIN_KBPS, HCA_RATE_MAX_KBPS, 1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD },
		.cq_mod_caps = { .max_cq_count = UINT16_MAX, .max_cq_period = UINT16_MAX },
		.phys_port_cnt_ex = HCA_PORTS,
		.odp_caps = {
			.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
			.per_transport_caps = { .rc_odp_caps = odp_reliable, .uc_odp_caps = odp_uc, .ud_odp_caps = odp_ud },
		},
		.xrc_odp_caps = odp_reliable,
	};

	if (input != NULL && input->comp_mask != 0)
		return EINVAL;
	if (attr_size < sizeof(ours.orig_attr))
		return EINVAL;
	verbs_query_device(context, &ours.orig_attr);
	ours.device_cap_flags_ex = ours.orig_attr.device_cap_flags | VERBS_DEVICE_FLUSH_GLOBAL | VERBS_DEVICE_FLUSH_PERSISTENT |
				   VERBS_DEVICE_ATOMIC_WRITE;
	ours.max_dm_size = HCA_MAX_DM_BYTES;
	memset(attr, 0, attr_size);
	memcpy(attr, &ours, attr_size < sizeof(ours) ? attr_size : sizeof(ours));
	return 0;
}
