/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "efa/abi/event.h"

#include <string.h>

#include "efa/abi/bytes.h"

struct efa_abi_aenq efa_abi_aenq_load(const uint8_t *entry)
{
	struct efa_abi_aenq event = { .group = efa_abi_le16_load(entry), .syndrome = efa_abi_le16_load(entry + 2),
				      .phase = entry[EFA_AENQ_FLAGS_AT] & 1, .time = efa_abi_le64_load(entry + 8) };

	for (uint32_t i = 0; i < 12; i++)
		event.data[i] = efa_abi_le32_load(entry + 16 + 4 * i);
	return event;
}

void efa_abi_aenq_store(uint8_t *entry, const struct efa_abi_aenq *event)
{
	memset(entry, 0, EFA_AENQ_ENTRY_BYTES);
	efa_abi_le16_store(entry, event->group);
	efa_abi_le16_store(entry + 2, event->syndrome);
	entry[EFA_AENQ_FLAGS_AT] = event->phase;
	efa_abi_le64_store(entry + 8, event->time);
	for (uint32_t i = 0; i < 12; i++)
		efa_abi_le32_store(entry + 16 + 4 * i, event->data[i]);
}

struct efa_abi_eqe efa_abi_eqe_load(const uint8_t *entry)
{
	uint32_t common = efa_abi_le32_load(entry);

	return (struct efa_abi_eqe){ .phase = common & 1, .type = common >> 1 & 0xff, .cqn = efa_abi_le16_load(entry + 8) };
}

void efa_abi_eqe_store(uint8_t *entry, const struct efa_abi_eqe *event)
{
	memset(entry, 0, EFA_EQE_BYTES);
	efa_abi_le32_store(entry, (event->phase ? 1u : 0u) | (uint32_t)event->type << 1);
	efa_abi_le16_store(entry + 8, event->cqn);
}
