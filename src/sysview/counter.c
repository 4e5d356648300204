/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sysview/counter.h"

#include <string.h>

static const struct sysview_counter port_counters[] = {
	{"port_xmit_data", "sent_bytes", 4},
	{"port_xmit_packets", "sent_packets", 1},
	{"port_rcv_data", "received_bytes", 4},
	{"port_rcv_packets", "received_packets", 1},
	{"VL15_dropped", NULL, 1},
	{"excessive_buffer_overrun_errors", NULL, 1},
	{"link_downed", NULL, 1},
	{"link_error_recovery", NULL, 1},
	{"local_link_integrity_errors", NULL, 1},
	{"port_rcv_constraint_errors", NULL, 1},
	{"port_rcv_errors", NULL, 1},
	{"port_rcv_remote_physical_errors", NULL, 1},
	{"port_rcv_switch_relay_errors", NULL, 1},
	{"port_xmit_constraint_errors", NULL, 1},
	{"port_xmit_discards", NULL, 1},
	{"port_xmit_wait", NULL, 1},
	{"symbol_error", NULL, 1},
};

/* The adapter's own, and beside them the names that rxe has for the same. */
static const struct sysview_counter hw_counters[] = {
	{"sent_pkts", "sent_packets", 1},
	{"rcvd_pkts", "received_packets", 1},
	{"duplicate_request", "duplicate", 1},
	{"out_of_seq_request", "out_of_order", 1},
	{"send_rnr_err", "receiver_not_ready", 1},
	{"refused", "refused", 1},
	{"receive_failed", "receive_failed", 1},
	{"cq_overrun", "cq_overrun", 1},
	{"drop_access", "drop_access", 1},
	{"drop_address", "drop_address", 1},
	{"drop_gap", "drop_gap", 1},
	{"drop_length", "drop_length", 1},
	{"drop_no_receive", "drop_no_receive", 1},
	{"drop_opcode", "drop_opcode", 1},
	{"drop_pkey", "drop_pkey", 1},
	{"drop_psn", "drop_psn", 1},
	{"drop_qkey", "drop_qkey", 1},
	{"drop_state", "drop_state", 1},
};

const struct sysview_counter *sysview_counter_at(bool hw, unsigned number)
{
	if (hw)
		return number < sizeof(hw_counters) / sizeof(hw_counters[0]) ? &hw_counters[number] : NULL;
	return number < sizeof(port_counters) / sizeof(port_counters[0]) ? &port_counters[number] : NULL;
}

const struct sysview_counter *sysview_counter_find(bool hw, const char *file)
{
	const struct sysview_counter *counter;

	for (unsigned i = 0; (counter = sysview_counter_at(hw, i)) != NULL; i++)
		if (strcmp(counter->file, file) == 0)
			return counter;
	return NULL;
}
