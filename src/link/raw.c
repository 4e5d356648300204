/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/log.h"
#include "ipc/pair.h"
#include "link/count.h"
#include "link/hook.h"
#include "wire/bth.h"
#include "wire/frame.h"

#define RING_BYTES ((size_t)LINK_RAW_BLOCKS * LINK_RAW_BLOCK_BYTES)
#define SLOT_AT (WIRE_ETH_BYTES + WIRE_GRH_BYTES + 5) /* the high byte of the destination QPN */

void link_raw_init(struct link_raw *raw, const struct link_config *config)
{
	*raw = (struct link_raw){
		.counters = config->counters,
		.hooks = config->hooks,
		.socket = config->raw_socket > 0 ? config->raw_socket : -1,
		.slot = config->slot,
		.owns = config->raw_owns,
		.owns_context = config->raw_owns_context,
	};
}

void link_raw_fini(struct link_raw *raw)
{
	if (raw->ring != NULL)
		munmap(raw->ring, RING_BYTES);
	raw->ring = NULL;
}

/* --- the socket ---------------------------------------------------------------------------------------------------------- */

static int filter_set(const struct link_raw *raw)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, SLOT_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, raw->slot, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_QPN_MULTICAST >> 16, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(raw->socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

int link_raw_start(struct link_raw *raw)
{
	struct tpacket_req request = {
		.tp_block_size = LINK_RAW_BLOCK_BYTES,
		.tp_block_nr = LINK_RAW_BLOCKS,
		.tp_frame_size = LINK_RAW_FRAME_BYTES,
		.tp_frame_nr = LINK_RAW_FRAMES,
	};
	struct sockaddr_ll every = {.sll_family = AF_PACKET, .sll_protocol = htons(WIRE_ETHERTYPE_ROCE_V1)};
	int version = TPACKET_V2;
	void *ring;

	if (raw->ring != NULL)
		return 0;
	if (raw->socket < 0)
		return BASE_ERR_PERM;
	if (setsockopt(raw->socket, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 || filter_set(raw) != 0 ||
	    setsockopt(raw->socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) != 0)
		goto fail;
	ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, raw->socket, 0);
	if (ring == MAP_FAILED)
		goto fail;
	(void)madvise(ring, RING_BYTES, MADV_DONTFORK);
	raw->ring = ring;
	raw->at = 0;
	/* Last: from now on frames come. */
	if (bind(raw->socket, (struct sockaddr *)&every, sizeof(every)) == 0)
		return 0;
	link_raw_fini(raw);
fail:
	base_error("no ring for frames of RoCE v1: %s", strerror(errno));
	return errno == ENOMEM ? BASE_ERR_NOMEM : BASE_ERR_IO;
}

int link_raw_membership(struct link_raw *raw, uint32_t ifindex, const struct wire_gid *mgid, bool enter)
{
	struct packet_mreq request = {.mr_ifindex = (int)ifindex, .mr_type = PACKET_MR_MULTICAST, .mr_alen = WIRE_MAC_BYTES};

	if (raw->socket < 0)
		return BASE_ERR_PERM;
	if (!wire_gid_multicast_mac(request.mr_address, mgid))
		return BASE_ERR_INVAL;
	if (setsockopt(raw->socket, SOL_PACKET, enter ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, &request, sizeof(request)) == 0)
		return 0;
	return base_err_from_errno(errno);
}

/* --- receiving ----------------------------------------------------------------------------------------------------------- */

/* Is the frame meant for the interface, and is the interface the GID's? Groups are sorted out by whoever attached to them. */
static bool is_addressed(struct link_raw *raw, const struct link_raw_arrival *arrival, const struct wire_frame *frame, uint32_t ifindex)
{
	uint8_t group[WIRE_MAC_BYTES];

	if (ifindex == 0)
		return false;
	if (wire_gid_multicast_mac(group, &frame->grh.dgid))
		return arrival->packet_type == PACKET_MULTICAST && memcmp(frame->eth.dst, group, sizeof(group)) == 0;
	return arrival->packet_type == PACKET_HOST && raw->owns != NULL &&
	       raw->owns(raw->owns_context, &frame->grh.dgid, ifindex);
}

bool link_raw_take(struct link_raw *raw, const struct link_raw_arrival *arrival, const uint8_t *bytes, uint32_t len, link_sink *sink,
		   void *context)
{
	struct wire_frame frame;
	struct link_rx rx; /* filled as far as its opcode says */
	int err = wire_frame_decode(&frame, bytes, len);

	if (err == 0 && frame.encap != WIRE_ENCAP_V1)
		err = BASE_ERR_MALFORMED;
	if (err == 0)
		err = wire_packet_decode(&rx.run.head, frame.ib, frame.ib_len);
	if (err != 0) {
		link_count_drop(raw->counters, err == BASE_ERR_TRUNCATED ? LINK_DROP_TRUNCATED : LINK_DROP_MALFORMED, 1);
		return false;
	}
	if (!wire_frame_icrc_is_good(&frame)) {
		link_count_drop(raw->counters, LINK_DROP_ICRC, 1);
		return false;
	}
	const uint32_t qpn = rx.run.head.bth.dest_qpn;
	const uint32_t ifindex = arrival->ifindex == LINK_RAW_LO ? link_raw_local_interface(frame.eth.src) : arrival->ifindex;

	if (!is_addressed(raw, arrival, &frame, ifindex)) {
		link_count_drop(raw->counters, LINK_DROP_ADDRESS, 1);
		return false;
	}
	/* The filter looked at a byte; a tag in the frame would have moved it. */
	if (qpn >> 16 != raw->slot && qpn != WIRE_QPN_MULTICAST) {
		link_count_drop(raw->counters, LINK_DROP_STRAY, 1);
		return false;
	}
	rx.kind = LINK_RAW;
	rx.gid_type = WIRE_GID_ROCE_V1;
	rx.sgid = frame.grh.sgid;
	rx.dgid = frame.grh.dgid;
	rx.ifindex = ifindex;
	rx.traffic_class = frame.grh.traffic_class;
	rx.hop_limit = frame.grh.hop_limit;
	rx.source_slot = 0;
	rx.run.packets = 1;
	rx.run.last_opcode = rx.run.head.bth.opcode;
	rx.run.mtu = 0;
	link_count_received(raw->counters, LINK_RAW, 1, rx.run.head.payload_len);
	if (link_hooks_any(&raw->hooks))
		link_hooks_sink(&raw->hooks, raw->counters, &rx, sink, context);
	else
		sink(context, &rx);
	return true;
}

/* What found no place in the ring. The kernel's count begins anew with each question. */
static void note_drops(struct link_raw *raw)
{
	struct tpacket_stats stats;
	socklen_t len = sizeof(stats);

	if (getsockopt(raw->socket, SOL_PACKET, PACKET_STATISTICS, &stats, &len) == 0 && stats.tp_drops != 0)
		link_count_drop(raw->counters, LINK_DROP_RECEIVE_FULL, stats.tp_drops);
}

static bool place_take(struct link_raw *raw, const uint8_t *place, link_sink *sink, void *context)
{
	const struct tpacket2_hdr *header = (const void *)place;
	const struct sockaddr_ll *from = (const void *)(place + TPACKET_ALIGN(sizeof(*header)));
	const struct link_raw_arrival arrival = {.ifindex = (uint32_t)from->sll_ifindex, .packet_type = from->sll_pkttype};

	if (header->tp_snaplen < header->tp_len) {
		link_count_drop(raw->counters, LINK_DROP_MALFORMED, 1); /* longer than any packet */
		return false;
	}
	return link_raw_take(raw, &arrival, place + header->tp_mac, header->tp_snaplen, sink, context);
}

unsigned link_raw_receive(struct link_raw *raw, unsigned budget, link_sink *sink, void *context)
{
	unsigned done = 0, looked = 0;

	if (raw->ring == NULL)
		return 0;
	for (; done < budget && looked < LINK_RAW_FRAMES; looked++) {
		uint8_t *place = raw->ring + (size_t)(raw->at / LINK_RAW_BLOCK_FRAMES) * LINK_RAW_BLOCK_BYTES +
				 (size_t)(raw->at % LINK_RAW_BLOCK_FRAMES) * LINK_RAW_FRAME_BYTES;
		struct tpacket2_hdr *header = (void *)place;
		uint32_t status = __atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE);

		if ((status & TP_STATUS_USER) == 0)
			break;
		if (status & TP_STATUS_LOSING)
			note_drops(raw);
		done += place_take(raw, place, sink, context);
		__atomic_store_n(&header->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		raw->at = (raw->at + 1) % LINK_RAW_FRAMES;
	}
	if (looked > 0)
		raw->silent = 0;
	else if (raw->silent <= LINK_RAW_SILENT && raw->silent++ == LINK_RAW_SILENT)
		note_drops(raw);
	return done;
}
