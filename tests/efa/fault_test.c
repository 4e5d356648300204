/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The matrix of admin faults: an answer that is lost, late, of a wrong id or without its interrupt, an adapter that hangs or refuses,
 * resets that do not begin or end, registers that do not answer; at every command of the start, and of life afterwards. Either
 * the driver goes on, or it fails at once, says so, and recovers by a reset.
 */
#include "efa/abi/event.h"
#include "rig.h"

static int setup_with(void **state, uint64_t keep_alive)
{
	struct rig *r = malloc(sizeof(*r));
	struct efa_device_profile profile = *efa_device_profile_find("full");

	profile.keep_alive = keep_alive;
	rig_init(r, &profile);
	*state = r;
	return 0;
}

/* Keep-alives come by the vector of the answers, and would tell of those as well. */
static int setup(void **state)
{
	return setup_with(state, BASE_NEVER);
}

static int setup_alive(void **state)
{
	return setup_with(state, BASE_SEC);
}

static int teardown(void **state)
{
	struct rig *r = *state;

	rig_fini(r);
	free(r);
	return 0;
}

static void clear(struct rig *r)
{
	rig_fault(r, EFA_FAULT_NONE, 0, 0);
}

/* What a fault of a single command must lead to. */
static const struct {
	enum efa_device_fault_kind kind;
	uint64_t delay;
	int error;      /* of the command */
	bool stops;     /* the queue */
	bool stray;     /* an answer to nobody is counted */
	uint16_t id_flip;
} rows[] = {
	{ EFA_FAULT_LOST, 0, BASE_ERR_TIMEDOUT, true, false },
	{ EFA_FAULT_LATE, BASE_SEC, 0, false, false },
	{ EFA_FAULT_LATE, 2 * BASE_SEC, BASE_ERR_TIMEDOUT, true, false },
	{ EFA_FAULT_WRONG_ID, 0, BASE_ERR_TIMEDOUT, true, true },
	{ EFA_FAULT_WRONG_ID, 0, BASE_ERR_TIMEDOUT, true, true, EFA_AQ_DEPTH }, /* the place is right, the command is an earlier one */
	{ EFA_FAULT_NO_INTERRUPT, 0, BASE_ERR_TIMEDOUT, true, false },
	{ EFA_FAULT_HANG, 0, BASE_ERR_TIMEDOUT, true, false },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* The queue works, and the adapter has nothing of an earlier life. */
static void healthy(struct rig *r)
{
	uint16_t pd;

	assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), 0);
	assert_int_equal(efa_device_usage(r->device).pds, 1);
	assert_int_equal(efa_com_dealloc_pd(&r->driver.com, pd), 0);
	assert_int_equal(r->driver.num_eqs, RIG_EQS);
}

/* Goal: each fault, at a command in the middle of life, in both modes of waiting. */
static void in_life(void **state)
{
	struct rig *r = *state;

	for (uint32_t polling = 0; polling < 2; polling++) {
		for (uint32_t i = 0; i < ROWS; i++) {
			struct efa_device_fault fault = { .kind = rows[i].kind, .count = 1, .delay = rows[i].delay,
							  .id_flip = rows[i].id_flip };
			/* Whoever polls needs no interrupt. */
			bool fine = polling && rows[i].kind == EFA_FAULT_NO_INTERRUPT;
			uint16_t pd = 0xabcd;
			uint64_t before;

			assert_int_equal(efa_driver_probe(&r->driver, &r->config), 0);
			efa_com_set_polling(&r->driver.com, polling);
			efa_device_set_fault(r->device, &fault);
			before = r->now;
			assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), fine ? 0 : rows[i].error);
			clear(r);
			if (rows[i].error != 0 && !fine) {
				assert_int_equal(pd, 0xabcd); /* results are of successes only */
				assert_true(r->now >= before + r->driver.com.admin_timeout);
				assert_true(r->now < before + r->driver.com.admin_timeout + BASE_SEC);
			}
			assert_int_equal(r->driver.com.running, !rows[i].stops || fine);
			assert_int_equal(r->driver.com.stats.strays, rows[i].stray);
			assert_int_equal(r->driver.com.stats.no_completion, rows[i].stops && !fine);
			if (rows[i].stops && !fine) {
				before = r->now;
				for (uint32_t k = 0; k < 3; k++) /* for ever, and at once */
					assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), BASE_ERR_NODEV);
				assert_true(r->now == before);
				assert_int_equal(efa_driver_recover(&r->driver), 0);
				assert_int_equal(efa_device_stats(r->device)->reset_reason, EFA_RESET_ADMIN_TIMEOUT);
				healthy(r);
				/* What came late to the old rings does not reach the new ones. */
				for (uint64_t end = r->now + 3 * BASE_SEC; r->now < end;)
					rig_wait(r, end);
				healthy(r);
				assert_int_equal(r->driver.com.stats.strays, rows[i].stray);
			}
			efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
		}
	}
}

/* Goal: each fault at each command of probe: it fails or it works, never in between, and the next probe works. */
static void at_start(void **state)
{
	struct rig *r = *state;
	uint32_t commands;

	assert_int_equal(efa_driver_probe(&r->driver, &r->config), 0);
	commands = (uint32_t)r->driver.com.stats.submitted;
	efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
	for (uint32_t i = 0; i < ROWS; i++) {
		for (uint32_t at = 0; at < commands; at++) {
			struct efa_device_fault fault = { .kind = rows[i].kind, .skip = at, .count = 1, .delay = rows[i].delay,
							  .id_flip = rows[i].id_flip };
			bool last = at == commands - 1; /* host information may fail */
			int err;

			efa_device_set_fault(r->device, &fault);
			err = efa_driver_probe(&r->driver, &r->config);
			clear(r);
			assert_int_equal(err, last ? 0 : rows[i].error);
			if (err == 0) {
				assert_int_equal(r->driver.com.running, !(last && rows[i].stops));
				efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
			} else {
				assert_int_equal(efa_device_stats(r->device)->reset_reason, EFA_RESET_INIT_ERROR);
			}
			assert_int_equal(r->bus.map.count, 0);
			assert_int_equal(efa_device_usage(r->device).eqs, 0);
		}
	}
	for (uint32_t at = 0; at < commands; at++) {
		for (uint8_t status = EFA_ADMIN_NO_RESOURCE; status < EFA_ADMIN_STATUSES + 2; status++) {
			struct efa_device_fault fault = { .kind = EFA_FAULT_STATUS, .skip = at, .count = 1, .status = status };
			int want = status == EFA_ADMIN_NO_RESOURCE ? BASE_ERR_NOMEM
				   : status == EFA_ADMIN_UNSUPPORTED ? BASE_ERR_UNSUPPORTED : BASE_ERR_INVAL;

			efa_device_set_fault(r->device, &fault);
			assert_int_equal(efa_driver_probe(&r->driver, &r->config), at == commands - 1 ? 0 : want);
			clear(r);
			if (at == commands - 1)
				efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
			assert_int_equal(r->bus.map.count, 0);
		}
	}
	assert_int_equal(efa_driver_probe(&r->driver, &r->config), 0);
	healthy(r);
	efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
}

/* Goal: resets that do not begin or do not end, and registers that do not answer: an error in bounded time, then a good probe. */
static void registers(void **state)
{
	static const struct { enum efa_device_fault_kind kind; int error; } faults[] = {
		{ EFA_FAULT_RESET_DEAF, BASE_ERR_TIMEDOUT }, { EFA_FAULT_RESET_STUCK, BASE_ERR_TIMEDOUT },
		{ EFA_FAULT_MMIO_SILENT, BASE_ERR_NODEV }, { EFA_FAULT_MMIO_WRONG, BASE_ERR_NODEV },
	};
	struct rig *r = *state;

	for (uint32_t i = 0; i < 4; i++) {
		uint64_t before = r->now;

		rig_fault(r, faults[i].kind, 0, 0); /* for ever */
		assert_int_equal(efa_driver_probe(&r->driver, &r->config), faults[i].error);
		assert_true(r->now - before < 3 * BASE_SEC);
		assert_int_equal(r->bus.map.count, 0);
		clear(r);
		assert_int_equal(efa_driver_probe(&r->driver, &r->config), 0); /* also of one that is left within a reset */
		healthy(r);
		/* The same in life: recovery fails, is said to, and can be tried again. */
		rig_fault(r, EFA_FAULT_LOST, EFA_OP_ALLOC_PD, 1);
		assert_int_equal(efa_com_alloc_pd(&r->driver.com, &(uint16_t){ 0 }), BASE_ERR_TIMEDOUT);
		rig_fault(r, faults[i].kind, 0, 0);
		assert_int_equal(efa_driver_recover(&r->driver), faults[i].error);
		assert_int_equal(efa_com_alloc_pd(&r->driver.com, &(uint16_t){ 0 }), BASE_ERR_NODEV);
		efa_driver_interrupts(&r->driver); /* harmless without rings */
		clear(r);
		assert_int_equal(efa_driver_recover(&r->driver), 0);
		healthy(r);
		rig_fault(r, faults[i].kind, 0, 0);
		efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
		clear(r);
	}
	/* Each register read of a start, lost by itself. */
	for (uint32_t at = 0; at < 12; at++) {
		struct efa_device_fault fault = { .kind = EFA_FAULT_MMIO_SILENT, .skip = at, .count = 1 };
		int err;

		efa_device_set_fault(r->device, &fault);
		err = efa_driver_probe(&r->driver, &r->config);
		assert_true(err == 0 || err == BASE_ERR_NODEV);
		if (err == 0)
			efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
		assert_int_equal(r->bus.map.count, 0);
		assert_true(at >= 9 || err != 0);
	}
}

/* Goal: an answer without an interrupt is found when a keep-alive brings the next one in time. */
static void rescued(void **state)
{
	struct rig *r = *state;
	uint16_t pd;

	assert_int_equal(efa_driver_probe(&r->driver, &r->config), 0);
	rig_fault(r, EFA_FAULT_NO_INTERRUPT, EFA_OP_ALLOC_PD, 1);
	assert_int_equal(efa_com_alloc_pd(&r->driver.com, &pd), 0);
	assert_int_equal(r->driver.stats.keep_alives, 1);
	assert_true(r->driver.com.running);
	efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
}

static int probe_of(const struct efa_device_profile *profile)
{
	struct rig *r = malloc(sizeof(*r));
	int err;

	rig_init(r, profile);
	err = efa_driver_probe(&r->driver, &r->config);
	if (err == 0)
		efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
	rig_fini(r);
	free(r);
	return err;
}

/* Goal: adapters that the driver cannot use are refused with the documented error. */
static void unfit(void **state)
{
	struct efa_device_profile p;

	(void)state;
#define UNFIT(error, ...) do { p = *efa_device_profile_find("full"); __VA_ARGS__; assert_int_equal(probe_of(&p), error); } while (0)
	UNFIT(0, (void)0);
	UNFIT(BASE_ERR_UNSUPPORTED, p.version = 0);
	UNFIT(0, p.version = 0x100);
	UNFIT(BASE_ERR_UNSUPPORTED, p.controller_version = 0x53000000);
	UNFIT(BASE_ERR_INVAL, p.caps.dma_width = 31);
	UNFIT(BASE_ERR_INVAL, p.caps.dma_width = 65);
	UNFIT(BASE_ERR_INVAL, p.caps.reset_timeout = 0);
	UNFIT(BASE_ERR_UNSUPPORTED, p.device.admin_api_version = 0);
	UNFIT(BASE_ERR_UNSUPPORTED, p.aenq_groups = 0x0e);
	UNFIT(0, p.caps.admin_timeout = 0);
	UNFIT(0, p.device.supported_features |= 1ull << EFA_FEATURE_QUEUE_ATTR_2);
	UNFIT(0, p.device.supported_features &= ~(1ull << EFA_FEATURE_HOST_INFO));
}

/* Goal: memory that cannot be mapped, at each mapping in turn: an error, and nothing left. */
static uint32_t maps_left;

static int failing_map(void *context, void *start, uint64_t len, enum efa_bus_direction direction, uint64_t *addr)
{
	return maps_left-- == 0 ? BASE_ERR_NOMEM : rig_map(context, start, len, direction, addr);
}

static void no_memory(void **state)
{
	struct rig *r = *state;
	struct efa_bus_function_ops ops = *r->config.function.ops;
	uint32_t failures = 0;

	ops.map = failing_map;
	r->config.function.ops = &ops;
	for (uint32_t n = 0; n < 16; n++) {
		int err;

		maps_left = n;
		err = efa_driver_probe(&r->driver, &r->config);
		assert_true(err == 0 || err == BASE_ERR_NOMEM);
		failures += err != 0;
		if (err == 0)
			efa_driver_remove(&r->driver, EFA_RESET_NORMAL);
		assert_int_equal(r->bus.map.count, 0);
		assert_int_equal(efa_device_usage(r->device).eqs, 0);
	}
	assert_int_equal(failures, 1 + 3 + RIG_EQS); /* answer, three rings, event queues; host information may fail */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(in_life), CASE(at_start), CASE(registers), cmocka_unit_test_setup_teardown(rescued, setup_alive, teardown),
		cmocka_unit_test(unfit), CASE(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
