/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of libibumad that work without a port: the caller's buffer, the device list, the texts. And what is refused. */
#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_str.h>
#include <infiniband/umad_types.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Addresses are stored in network order; the header can be set and taken away. */
static void test_buffer(void **state)
{
	struct ib_user_mad *mad = umad_alloc(1, umad_size() + 256);
	struct ib_mad_addr from = { .flow_label = 0x12345, .hop_limit = 7, .traffic_class = 8, .gid_index = 9, .gid = { [15] = 1 } };

	assert_non_null(mad);
	assert_int_equal(umad_size(), sizeof(*mad));
	assert_ptr_equal(umad_get_mad(mad), (char *)mad + umad_size());
	assert_ptr_equal(umad_get_mad_addr(mad), &mad->addr);
	assert_int_equal(umad_set_addr(mad, 0x102, 0x30405, 6, 0x708), 0);
	assert_int_equal(be16toh(mad->addr.lid), 0x102);
	assert_int_equal(be32toh(mad->addr.qpn), 0x30405);
	assert_int_equal(mad->addr.sl, 6);
	assert_int_equal(be32toh(mad->addr.qkey), 0x708);
	assert_int_equal(umad_set_pkey(mad, 11), 0);
	assert_int_equal(umad_get_pkey(mad), 11);
	assert_int_equal(umad_set_grh(mad, &from), 0);
	assert_int_equal(mad->addr.grh_present, 1);
	assert_int_equal(be32toh(mad->addr.flow_label), 0x12345);
	assert_int_equal(mad->addr.hop_limit, 7);
	assert_int_equal(mad->addr.traffic_class, 8);
	assert_int_equal(mad->addr.gid_index, 9);
	assert_int_equal(mad->addr.gid[15], 1);
	assert_int_equal(umad_set_grh(mad, NULL), 0);
	assert_int_equal(mad->addr.grh_present, 0);
	mad->status = 110;
	assert_int_equal(umad_status(mad), 110);
	umad_free(mad);
}

static struct umad_device_node *node(const char *name, struct umad_device_node *next)
{
	struct umad_device_node *made = malloc(sizeof(*made));

	assert_non_null(made);
	made->ca_name = strdup(name);
	made->next = next;
	return made;
}

/* A list sorts by name; a wrong count leaves it alone; an empty one is fine. */
static void test_device_list(void **state)
{
	struct umad_device_node *list = node("b", node("c", node("a", NULL)));

	assert_int_equal(umad_sort_ca_device_list(&list, 2), EINVAL);
	assert_string_equal(list->ca_name, "b");
	assert_int_equal(umad_sort_ca_device_list(&list, 0), 0);
	assert_string_equal(list->ca_name, "a");
	assert_string_equal(list->next->ca_name, "b");
	assert_string_equal(list->next->next->ca_name, "c");
	assert_null(list->next->next->next);
	umad_free_ca_device_list(list);
	list = NULL;
	assert_int_equal(umad_sort_ca_device_list(&list, 0), 0);
	errno = EIO;
	assert_null(umad_get_ca_device_list());
	assert_int_equal(errno, 0);
}

static void test_texts(void **state)
{
	assert_string_equal(umad_class_str(UMAD_CLASS_SUBN_DIRECTED_ROUTE), "Subn");
	assert_string_equal(umad_class_str(0x30), "Vendor");
	assert_string_equal(umad_class_str(0x2f), "Application");
	assert_string_equal(umad_class_str(0), "<unknown>");
	assert_string_equal(umad_class_str(0xff), "<unknown>");
	assert_string_equal(umad_method_str(UMAD_CLASS_SUBN_ADM, UMAD_SA_METHOD_GET_TABLE), "GetTable");
	assert_string_equal(umad_method_str(UMAD_CLASS_PERF_MGMT, UMAD_SA_METHOD_GET_TABLE), "<unknown>");
	assert_string_equal(umad_attribute_str(UMAD_CLASS_SUBN_ADM, htobe16(UMAD_SA_ATTR_PATH_REC)), "PathRecord");
	assert_string_equal(umad_attribute_str(UMAD_CLASS_CM, htobe16(0x10)), "ConnectRequest");
	assert_string_equal(umad_attribute_str(UMAD_CLASS_SUBN_LID_ROUTED, htobe16(0x10)), "NodeDescription");
	assert_string_equal(umad_attribute_str(UMAD_CLASS_PERF_MGMT, htobe16(0x10)), "<unknown>");
	assert_string_equal(umad_common_mad_status_str(htobe16(0x1c)), "Invalid attribute/modifier field");
	assert_string_equal(umad_common_mad_status_str(0), "Success");
	assert_string_equal(umad_sa_mad_status_str(htobe16(3 << 8)), "No Records");
	assert_string_equal(umad_sa_mad_status_str(htobe16(9 << 8)), "Undefined Error");
}

/* No adapter, no port: each call by its own convention. */
static void test_no_port(void **state)
{
	char names[2][UMAD_CA_NAME_LEN];
	struct umad_reg_attr attr = { 0 };
	struct ib_user_mad mad;
	uint32_t agent;
	umad_ca_t ca;
	int length = 0;

	assert_int_equal(umad_init(), 0);
	assert_int_equal(umad_get_cas_names(names, 2), 0);
	assert_int_equal(umad_get_ca(NULL, &ca), -ENODEV);
	assert_int_equal(umad_open_port(NULL, 0), -ENODEV);
	assert_int_equal(umad_poll(0, 0), -EINVAL);
	assert_int_equal(umad_recv(0, &mad, &length, 0), -EINVAL);
	assert_int_equal(umad_get_fd(0), -EINVAL);
	assert_int_equal(umad_register2(0, &attr, &agent), EBADF);
	assert_int_equal(umad_done(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffer), cmocka_unit_test(test_device_list), cmocka_unit_test(test_texts),
		cmocka_unit_test(test_no_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
