/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/err.h"
#include "efa/driver/command.h"
#include "efa/driver/driver.h"
#include "efa/driver/page_list.h"

/* The pages of a region that lies in one piece on the bus. */
struct piece {
	uint64_t first;
	uint32_t shift;
};

static uint64_t page_of(const void *context, uint32_t i)
{
	const struct piece *p = context;

	return p->first + ((uint64_t)i << p->shift);
}

int efa_driver_reg_mr(struct efa_driver *driver, uint16_t pd, void *start, uint64_t length, uint64_t iova, uint8_t perms,
		      struct efa_driver_mr *out)
{
	const struct efa_bus_function *function = &driver->com.function;
	struct efa_driver_mr mr = { .length = length, .direction = EFA_BUS_TO_DEVICE };
	struct efa_abi_reg_mr in = { .pd = pd, .length = length, .iova = iova, .perms = perms };
	struct piece piece = { .shift = efa_pages_shift(driver->device.page_size_cap, length, iova ^ (uintptr_t)start) };
	struct efa_pages pages;
	uint64_t offset, count;
	uint8_t flags;
	int err;

	/* Pages are told by their start: where the region begins in the first is where iova does. */
	offset = iova & ((1ull << piece.shift) - 1);
	count = (offset + length + (1ull << piece.shift) - 1) >> piece.shift;
	if (piece.shift == 0 || count > driver->queue.max_mr_pages)
		return BASE_ERR_INVAL;
	if ((perms & (EFA_MR_LOCAL_WRITE | EFA_MR_REMOTE_WRITE)) != 0)
		mr.direction = EFA_BUS_BOTH;
	err = function->ops->map(function->context, start, length, mr.direction, &mr.bus);
	if (err != 0)
		return err;
	piece.first = mr.bus - offset;
	in.flags = (uint8_t)piece.shift;
	err = efa_pages_init(&pages, function, (uint32_t)count, page_of, &piece, &in, &flags);
	if (err == 0) {
		err = efa_com_reg_mr(&driver->com, &in, flags, &mr.keys);
		efa_pages_fini(&pages, function);
	}
	if (err != 0) {
		function->ops->unmap(function->context, mr.bus, mr.length, mr.direction);
		return err;
	}
	*out = mr;
	return 0;
}

int efa_driver_dereg_mr(struct efa_driver *driver, struct efa_driver_mr *mr)
{
	const struct efa_bus_function *function = &driver->com.function;
	int err = efa_com_dereg_mr(&driver->com, mr->keys.lkey);

	/* An adapter that was reset, or whose queue has stopped, has no regions any more, or soon will not. */
	if (err == 0 || err == BASE_ERR_NODEV)
		function->ops->unmap(function->context, mr->bus, mr->length, mr->direction);
	return err;
}
