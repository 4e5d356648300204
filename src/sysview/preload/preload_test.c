/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which paths are answered from the tree, and what rdma(8) is answered; linked without the hooks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "sysview/preload/nldev.h"
#include "sysview/preload/path.h"

static char tree[] = "/tmp/preload_test_XXXXXX";

static void becomes(const char *path, const char *expected)
{
	char room[PATH_MAX], full[PATH_MAX];
	const char *got = preload_path(path, room);

	if (expected == NULL) {
		assert_ptr_equal(got, path);
		return;
	}
	snprintf(full, sizeof(full), "%s%s", tree, expected);
	assert_string_equal(got, full);
}

static void test_paths(void **state)
{
	becomes(NULL, NULL);
	becomes("", NULL);
	becomes("/", NULL);
	becomes("/sys/class/infiniband", "/sys/class/infiniband");
	becomes("/sys/class/infiniband/", "/sys/class/infiniband/");
	becomes("//sys//class/infiniband/sv_lo/ports/1/state", "/sys/class/infiniband/sv_lo/ports/1/state");
	becomes("/sys/class/infiniband_verbs/uverbs0", "/sys/class/infiniband_verbs/uverbs0");
	becomes("/dev/infiniband/uverbs0", "/dev/infiniband/uverbs0");
	becomes("/sys/class/infiniband_mad/umad0", NULL);
	becomes("/sys/class/infinibandx", NULL);
	becomes("/sys/class/infinib", NULL);
	becomes("/sys/class/net/lo", NULL);
	becomes("/dev/null", NULL);
	becomes("sys/class/infiniband", NULL);
	char path[PATH_MAX + 16] = "/sys/class/infiniband/";
	memset(path + strlen(path), 'x', PATH_MAX - 40);
	becomes(path, NULL); /* no room: as it is */
}

static void test_paths_below_a_directory(void **state)
{
	int root = open("/", O_RDONLY | O_DIRECTORY), other = open("/tmp", O_RDONLY | O_DIRECTORY);
	char room[PATH_MAX];

	errno = 77;
	assert_ptr_equal(preload_path_at(root, "sys/class/infiniband", room), room);
	assert_memory_equal(room, tree, strlen(tree));
	const char *elsewhere = "sys/class/infiniband";
	assert_ptr_equal(preload_path_at(other, elsewhere, room), elsewhere);
	assert_ptr_equal(preload_path_at(-5, elsewhere, room), elsewhere);
	assert_ptr_equal(preload_path_at(other, "/dev/infiniband", room), room);
	assert_int_equal(chdir("/"), 0);
	assert_ptr_equal(preload_path_at(AT_FDCWD, "dev/infiniband/rdma_cm", room), room);
	assert_int_equal(errno, 77);
	close(root);
	close(other);
}

static void test_paths_shown(void **state)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/class/infiniband/sv_lo", tree);
	assert_string_equal(preload_path_shown(path), "/sys/class/infiniband/sv_lo");
	snprintf(path, sizeof(path), "%sx/sys", tree);
	assert_string_equal(preload_path_shown(path) + strlen(tree), "x/sys");
	assert_null(preload_path_shown(NULL));
}

/* --- rdma(8) --------------------------------------------------------------------- */

static struct {
	uint8_t messages[16][NLDEV_MESSAGE_MAX];
	unsigned count;
} sent;

static void on_send(void *context, const void *message, size_t len)
{
	const struct nlmsghdr *header = message;

	assert_true(sent.count < 16 && len <= NLDEV_MESSAGE_MAX && header->nlmsg_len == len);
	assert_int_equal(header->nlmsg_pid, 99);
	assert_int_equal(header->nlmsg_seq, 5);
	memcpy(sent.messages[sent.count++], message, len);
}

static const struct nlmsghdr *got(unsigned i)
{
	assert_true(i < sent.count);
	return (const struct nlmsghdr *)(const void *)sent.messages[i];
}

/* The attribute's value in message i. */
static const void *value(unsigned i, unsigned type, size_t *len)
{
	const struct nlmsghdr *header = got(i);

	for (size_t at = NLMSG_HDRLEN; at < header->nlmsg_len;) {
		const struct nlattr *a = (const void *)(sent.messages[i] + at);

		if (a->nla_type == type) {
			if (len != NULL)
				*len = a->nla_len - NLA_HDRLEN;
			return (const uint8_t *)a + NLA_HDRLEN;
		}
		at += NLA_ALIGN(a->nla_len);
	}
	fail_msg("message %u has no attribute %u", i, type);
	return NULL;
}

struct request {
	struct nlmsghdr header;
	struct nlattr device;
	uint32_t index;
	struct nlattr port;
	uint32_t number;
};

static struct request request_make(unsigned command, unsigned flags, bool named, uint32_t index, uint32_t port)
{
	struct request r = {
		.header = {.nlmsg_len = named ? sizeof(r) : NLMSG_HDRLEN, .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
			   .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = 5},
		.device = {.nla_len = NLA_HDRLEN + 4, .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX},
		.index = index,
		.port = {.nla_len = NLA_HDRLEN + 4, .nla_type = RDMA_NLDEV_ATTR_PORT_INDEX},
		.number = port,
	};
	return r;
}

static void ask(const struct request *r, size_t len)
{
	sent.count = 0;
	nldev_answer(tree, r, len, 99, on_send, NULL);
}

static int error_of(unsigned i)
{
	assert_int_equal(got(i)->nlmsg_type, NLMSG_ERROR);
	return ((const struct nlmsgerr *)NLMSG_DATA(got(i)))->error;
}

static void test_devices(void **state)
{
	struct request r = request_make(RDMA_NLDEV_CMD_GET, NLM_F_DUMP | NLM_F_ACK, false, 0, 0);

	ask(&r, r.header.nlmsg_len);
	assert_int_equal(sent.count, 3);
	assert_string_equal(value(0, RDMA_NLDEV_ATTR_DEV_NAME, NULL), "sv_eth0");
	assert_string_equal(value(1, RDMA_NLDEV_ATTR_DEV_NAME, NULL), "sv_lo");
	assert_int_equal(*(const uint32_t *)value(1, RDMA_NLDEV_ATTR_DEV_INDEX, NULL), 0);
	assert_string_equal(value(1, RDMA_NLDEV_ATTR_FW_VERSION, NULL), "1.2 x");
	assert_true(*(const uint64_t *)value(0, RDMA_NLDEV_ATTR_NODE_GUID, NULL) == 0x0011223344556677ull);
	assert_int_equal(got(2)->nlmsg_type, NLMSG_DONE);
}

static void test_ports(void **state)
{
	struct request r = request_make(RDMA_NLDEV_CMD_PORT_GET, NLM_F_ACK, true, 3, 1);

	ask(&r, sizeof(r));
	assert_int_equal(sent.count, 2);
	assert_string_equal(value(0, RDMA_NLDEV_ATTR_NDEV_NAME, NULL), "eth0");
	assert_int_equal(*(const uint8_t *)value(0, RDMA_NLDEV_ATTR_PORT_STATE, NULL), 1);
	assert_int_equal(error_of(1), 0); /* the acknowledgement */
	r = request_make(RDMA_NLDEV_CMD_PORT_GET, NLM_F_ACK, true, 3, 2);
	ask(&r, sizeof(r));
	assert_int_equal(sent.count, 1);
	assert_int_equal(error_of(0), -ENODEV);
	r = request_make(RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP, true, 0, 0);
	ask(&r, sizeof(r));
	assert_int_equal(sent.count, 2);
	assert_string_equal(value(0, RDMA_NLDEV_ATTR_NDEV_NAME, NULL), "lo");
}

static void test_others(void **state)
{
	struct request r = request_make(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK, false, 0, 0);

	ask(&r, r.header.nlmsg_len);
	assert_int_equal(sent.count, 1);
	assert_int_equal(error_of(0), -EOPNOTSUPP);
	r = request_make(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, false, 0, 0);
	ask(&r, r.header.nlmsg_len);
	assert_int_equal(sent.count, 1);
	assert_int_equal(got(0)->nlmsg_type, NLMSG_DONE);
	r = request_make(RDMA_NLDEV_CMD_SYS_GET, 0, false, 0, 0);
	ask(&r, r.header.nlmsg_len);
	assert_int_equal(sent.count, 1);
}

/* Lengths that are lies: no answer that reads past the end. Each message lies at the end of its memory, for sanitizers. */
static void test_hostile_requests(void **state)
{
	const struct request good = request_make(RDMA_NLDEV_CMD_PORT_GET, NLM_F_ACK, true, 3, 1);

	for (size_t len = 0; len <= sizeof(good); len++) {
		for (unsigned lie = 0; lie < 64; lie++) {
			uint8_t *copy = malloc(len == 0 ? 1 : len);
			struct request r = good;

			if (lie % 3 == 0)
				r.header.nlmsg_len = lie;
			else if (lie % 3 == 1)
				r.device.nla_len = (uint16_t)(lie * 7);
			else
				r.header.nlmsg_len = (uint32_t)len;
			memcpy(copy, &r, len);
			sent.count = 0;
			nldev_answer(tree, copy, len, 99, on_send, NULL);
			assert_true(sent.count <= 4);
			free(copy);
		}
	}
}

static void write_text(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", tree, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	char path[256];
	const char *const directories[] = {"sys", "sys/class", "sys/class/infiniband", "sys/class/infiniband/sv_lo"};

	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", tree, directories[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	write_text("devices", "3 sv_eth0 0011223344556677 1 3 2 eth0\n0 sv_lo 000200fffe000001 4 5 1 lo\n");
	write_text("sys/class/infiniband/sv_lo/fw_ver", "1.2 x\n");
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", tree);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),	cmocka_unit_test(test_paths_below_a_directory), cmocka_unit_test(test_paths_shown),
		cmocka_unit_test(test_devices), cmocka_unit_test(test_ports),			cmocka_unit_test(test_others),
		cmocka_unit_test(test_hostile_requests),
	};

	/* The variable is read before main(), as in any program that the library is loaded into. */
	const char *place = getenv(PRELOAD_TREE_VARIABLE);
	if (place == NULL) {
		if (mkdtemp(tree) == NULL || setenv(PRELOAD_TREE_VARIABLE, tree, 1) != 0)
			return 1;
		execv("/proc/self/exe", argv);
		return 1;
	}
	snprintf(tree, sizeof(tree), "%s", place);
	return cmocka_run_group_tests(tests, setup, teardown);
}
