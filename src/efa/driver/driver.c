/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/driver/driver.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "efa/abi/event.h"
#include "efa/driver/command.h"
#include "efa/driver/eq.h"

enum { ADMIN_API_MIN = 1 };

static bool has_feature(const struct efa_driver *driver, enum efa_abi_feature_id id)
{
	return (driver->device.supported_features & 1ull << id) != 0;
}

/* What the adapter is, in the order in which the kernel's driver asks. */
static int learn(struct efa_driver *driver)
{
	struct efa_com *com = &driver->com;
	struct efa_abi_hw_hints hints;
	int err = efa_com_get_feature(com, EFA_FEATURE_DEVICE_ATTR, &driver->device);

	if (err == 0 && driver->device.admin_api_version < ADMIN_API_MIN)
		err = BASE_ERR_UNSUPPORTED;
	if (err == 0)
		err = efa_com_get_feature(com, EFA_FEATURE_QUEUE_ATTR, &driver->queue);
	if (err == 0 && has_feature(driver, EFA_FEATURE_QUEUE_ATTR_2))
		err = efa_com_get_feature(com, EFA_FEATURE_QUEUE_ATTR_2, &driver->queue2);
	if (err == 0)
		err = efa_com_get_feature(com, EFA_FEATURE_NETWORK_ATTR, &driver->network);
	if (err == 0 && has_feature(driver, EFA_FEATURE_EVENT_QUEUE_ATTR))
		err = efa_com_get_feature(com, EFA_FEATURE_EVENT_QUEUE_ATTR, &driver->event_queue);
	/* Hints are asked for because an adapter without them is none; our own times are good. */
	if (err == 0)
		err = efa_com_get_feature(com, EFA_FEATURE_HW_HINTS, &hints);
	return err;
}

static int enable_events(struct efa_driver *driver)
{
	struct efa_abi_aenq_config config;
	int err = efa_com_get_feature(&driver->com, EFA_FEATURE_AENQ_CONFIG, &config);

	if (err != 0)
		return err;
	if ((config.supported & EFA_AENQ_WANTED) != EFA_AENQ_WANTED)
		return BASE_ERR_UNSUPPORTED;
	return efa_com_set_aenq(&driver->com, EFA_AENQ_WANTED);
}

/* From a reset adapter to one that works. */
static int bring_up(struct efa_driver *driver)
{
	struct efa_com *com = &driver->com;
	int err = efa_com_check_version(com);

	if (err == 0)
		err = efa_com_start(com);
	if (err != 0)
		return err;
	efa_com_set_polling(com, false);
	err = learn(driver);
	if (err == 0)
		err = enable_events(driver);
	if (err == 0)
		err = efa_driver_eqs_create(driver);
	/* The adapter may not care to know: that is its own affair. */
	if (err == 0 && has_feature(driver, EFA_FEATURE_HOST_INFO))
		(void)efa_com_set_host_info(com, &driver->host_info);
	return err;
}

/* Stops everything and leaves the adapter reset. An error: it would not; the bus keeps it from the rings, which are unmapped. */
static int take_down(struct efa_driver *driver, enum efa_abi_reset_reason reason)
{
	int err = efa_com_reset(&driver->com, reason);

	efa_driver_eqs_free(driver);
	efa_com_stop(&driver->com);
	return err;
}

int efa_driver_probe(struct efa_driver *driver, const struct efa_driver_config *config)
{
	int err;

	memset(driver, 0, sizeof(*driver));
	driver->events = config->events;
	driver->wanted_eqs = config->eqs;
	if (config->info != NULL)
		driver->host_info = *config->info;
	err = efa_com_init(&driver->com, config->function, config->host);
	if (err != 0)
		return err;
	err = efa_com_reset(&driver->com, EFA_RESET_NORMAL);
	if (err == 0) {
		err = bring_up(driver);
		if (err != 0)
			(void)take_down(driver, EFA_RESET_INIT_ERROR);
	}
	if (err != 0) {
		base_explain("efa: the adapter cannot be used: %s", base_err_text(err));
		efa_com_fini(&driver->com);
	}
	return err;
}

void efa_driver_remove(struct efa_driver *driver, enum efa_abi_reset_reason reason)
{
	efa_driver_eqs_destroy(driver);
	(void)take_down(driver, reason);
	efa_com_fini(&driver->com);
}

int efa_driver_recover(struct efa_driver *driver)
{
	int err;

	driver->stats.recoveries++;
	err = take_down(driver, EFA_RESET_ADMIN_TIMEOUT);
	if (err != 0)
		return err;
	err = bring_up(driver);
	if (err != 0)
		(void)take_down(driver, EFA_RESET_INIT_ERROR);
	return err;
}
