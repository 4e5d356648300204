/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names at versions that are not the default ones. Only a link with the version script of lib/ can hold this file.
 *
 * libibverbs 1.0 had other structures than today (a work request has `next` before `wr_id`, every object wraps another), and no
 * program of the last decade imports its names. They exist so that such a program starts and hears in one line what to do: its
 * first call, ibv_get_device_list, finds nothing, so that the others are never reached in earnest. ibv_register_driver of 1.1
 * is different: old libfabric calls it and expects nothing. The private node got a new number between releases.
 */
#include "base/log.h"
#include "verbs/driver.h"
#include "verbs/newer.h"
#include "verbs/symbol.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* The public name as published by 1.0: a function that makes an object, with NULL and errno for an answer. */
#define OLD_OBJECT(name) \
	VERBS_PUBLIC void *verbs_1_0_##name(void); \
	VERBS_PUBLIC void *verbs_1_0_##name(void) \
	{ \
		errno = EOPNOTSUPP; \
		return NULL; \
	} \
	VERBS_COMPAT(verbs_1_0_##name, name, IBVERBS_1.0)

/* One that returns an errno value. */
#define OLD_CALL(name) \
	VERBS_PUBLIC int verbs_1_0_##name(void); \
	VERBS_PUBLIC int verbs_1_0_##name(void) \
	{ \
		return EOPNOTSUPP; \
	} \
	VERBS_COMPAT(verbs_1_0_##name, name, IBVERBS_1.0)

/* One that returns -1 and errno. */
#define OLD_MINUS_ONE(name) \
	VERBS_PUBLIC int verbs_1_0_##name(void); \
	VERBS_PUBLIC int verbs_1_0_##name(void) \
	{ \
		errno = EOPNOTSUPP; \
		return -1; \
	} \
	VERBS_COMPAT(verbs_1_0_##name, name, IBVERBS_1.0)

/* One that returns nothing. */
#define OLD_VOID(name) \
	VERBS_PUBLIC void verbs_1_0_##name(void); \
	VERBS_PUBLIC void verbs_1_0_##name(void) \
	{ \
	} \
	VERBS_COMPAT(verbs_1_0_##name, name, IBVERBS_1.0)

VERBS_PUBLIC void *verbs_1_0_ibv_get_device_list(int *num);
VERBS_PUBLIC void *verbs_1_0_ibv_get_device_list(int *num)
{
	base_error("this program was linked against libibverbs 1.0 (before 2007); rebuild it against a current libibverbs");
	if (num != NULL)
		*num = 0;
	errno = EOPNOTSUPP;
	return NULL;
}
VERBS_COMPAT(verbs_1_0_ibv_get_device_list, ibv_get_device_list, IBVERBS_1.0);

VERBS_PUBLIC uint64_t verbs_1_0_ibv_get_device_guid(void *device);
VERBS_PUBLIC uint64_t verbs_1_0_ibv_get_device_guid(void *device)
{
	return 0;
}
VERBS_COMPAT(verbs_1_0_ibv_get_device_guid, ibv_get_device_guid, IBVERBS_1.0);

OLD_VOID(ibv_free_device_list);
OLD_OBJECT(ibv_get_device_name);
OLD_OBJECT(ibv_open_device);
OLD_MINUS_ONE(ibv_close_device);
OLD_MINUS_ONE(ibv_get_async_event);
OLD_VOID(ibv_ack_async_event);
OLD_CALL(ibv_query_device);
OLD_CALL(ibv_query_port);
OLD_MINUS_ONE(ibv_query_gid);
OLD_MINUS_ONE(ibv_query_pkey);
OLD_OBJECT(ibv_alloc_pd);
OLD_CALL(ibv_dealloc_pd);
OLD_OBJECT(ibv_reg_mr);
OLD_CALL(ibv_dereg_mr);
OLD_OBJECT(ibv_create_cq);
OLD_CALL(ibv_resize_cq);
OLD_CALL(ibv_destroy_cq);
OLD_MINUS_ONE(ibv_get_cq_event);
OLD_VOID(ibv_ack_cq_events);
OLD_OBJECT(ibv_create_srq);
OLD_CALL(ibv_modify_srq);
OLD_CALL(ibv_query_srq);
OLD_CALL(ibv_destroy_srq);
OLD_OBJECT(ibv_create_qp);
OLD_CALL(ibv_query_qp);
OLD_CALL(ibv_modify_qp);
OLD_CALL(ibv_destroy_qp);
OLD_OBJECT(ibv_create_ah);
OLD_CALL(ibv_destroy_ah);
OLD_CALL(ibv_attach_mcast);
OLD_CALL(ibv_detach_mcast);

VERBS_PUBLIC void verbs_1_1_ibv_register_driver(const char *name, void *init);
VERBS_PUBLIC void verbs_1_1_ibv_register_driver(const char *name, void *init)
{
}
VERBS_COMPAT(verbs_1_1_ibv_register_driver, ibv_register_driver, IBVERBS_1.1);

VERBS_PUBLIC int verbs_65_ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
	enum verbs_gid_type_sysfs *type);
VERBS_PUBLIC int verbs_65_ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
	enum verbs_gid_type_sysfs *type)
{
	return ibv_query_gid_type(context, port_num, index, type);
}
VERBS_COMPAT(verbs_65_ibv_query_gid_type, ibv_query_gid_type, IBVERBS_PRIVATE_65);

VERBS_PUBLIC const char *verbs_65_ibv_wr_opcode_str(enum ibv_wr_opcode opcode);
VERBS_PUBLIC const char *verbs_65_ibv_wr_opcode_str(enum ibv_wr_opcode opcode)
{
	return ibv_wr_opcode_str(opcode);
}
VERBS_COMPAT(verbs_65_ibv_wr_opcode_str, ibv_wr_opcode_str, IBVERBS_PRIVATE_65);
