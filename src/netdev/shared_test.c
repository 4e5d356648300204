/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "netdev/shared.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"

static struct netdev_table table, copy;
static _Atomic bool stop;

/* A table in which every number follows from n. */
static void table_fill(uint64_t n)
{
	table.generation = n;
	table.count = 3;
	for (unsigned d = 0; d < 3; d++) {
		table.devices[d].mtu = (uint32_t)n;
		for (unsigned i = 0; i < NETDEV_MAX_GIDS; i++) {
			memset(table.devices[d].gids[i].gid.raw, (int)(n & 0xff), 16);
			table.devices[d].gids[i].ifindex = (uint32_t)n;
		}
	}
}

static void *writer(void *argument)
{
	for (uint64_t n = 2; !atomic_load(&stop); n++) {
		table_fill(n);
		netdev_shared_publish(argument, &table);
	}
	return NULL;
}

static void test_readers_see_whole_tables(void **state)
{
	struct netdev_shared *mine, *theirs;
	pthread_t thread;
	int fd;

	assert_int_equal(netdev_shared_create(&fd, &mine), BASE_OK);
	int reader = netdev_shared_reader(fd);
	assert_true(reader >= 0);
	assert_int_equal(netdev_shared_open(reader, false, &theirs), BASE_OK);
	netdev_shared_read(theirs, &copy);
	assert_int_equal(copy.count, 0);
	table_fill(1);
	netdev_shared_publish(mine, &table);
	stop = false;
	assert_int_equal(pthread_create(&thread, NULL, writer, mine), 0);
	uint64_t last = 0;
	/* The writer may get its first turn late: go on until it had one. */
	for (unsigned i = 0; i < 2000 || last <= 1; i++) {
		struct netdev_gid gid;

		netdev_shared_read(theirs, &copy);
		assert_true(copy.generation >= last);
		last = copy.generation;
		for (unsigned d = 0; d < 3; d++) {
			assert_int_equal(copy.devices[d].mtu, (uint32_t)last);
			assert_int_equal(copy.devices[d].gids[NETDEV_MAX_GIDS - 1].ifindex, (uint32_t)last);
		}
		assert_int_equal(netdev_shared_gid(theirs, 2, 5, &gid), BASE_OK);
		for (unsigned b = 0; b < 16; b++)
			assert_int_equal(gid.gid.raw[b], gid.ifindex & 0xff);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	netdev_shared_close(theirs);
	netdev_shared_close(mine);
	close(reader);
	close(fd);
}

static void test_limits(void **state)
{
	static struct netdev_device device;
	struct netdev_shared *mine, *theirs;
	struct netdev_gid gid;
	int fd;

	assert_int_equal(netdev_shared_create(&fd, &mine), BASE_OK);
	table_fill(1);
	netdev_shared_publish(mine, &table);
	assert_int_equal(netdev_shared_device(mine, 2, &device), BASE_OK);
	assert_int_equal(netdev_shared_device(mine, 3, &device), BASE_ERR_RANGE);
	assert_int_equal(netdev_shared_gid(mine, 0, NETDEV_MAX_GIDS, &gid), BASE_ERR_RANGE);
	assert_int_equal(netdev_shared_gid(mine, 3, 0, &gid), BASE_ERR_RANGE);
	assert_int_equal(ftruncate(fd, 0), -1);
	/* A reader's descriptor does not map for writing. */
	int reader = netdev_shared_reader(fd);
	assert_int_equal(netdev_shared_open(reader, true, &theirs), BASE_ERR_NOMEM);
	close(reader);
	netdev_shared_close(mine);
	close(fd);
	int other = memfd_create("other", MFD_CLOEXEC);
	assert_int_equal(netdev_shared_open(other, false, &theirs), BASE_ERR_MALFORMED);
	close(other);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(netdev_shared_open(null, false, &theirs), BASE_ERR_MALFORMED);
	close(null);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers_see_whole_tables), /* a writer that never pauses */
		cmocka_unit_test(test_limits),                   /* indexes, seals, foreign descriptors */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
