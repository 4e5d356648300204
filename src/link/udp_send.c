/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp.h"

#include <assert.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "link/count.h"
#include "link/hook.h"
#include "link/path.h"
#include "link/raw.h"
#include "wire/frame.h"

static inline unsigned path_sender(const struct link_path *path)
{
	return (uint8_t)(path->dest_qpn >> 16) + (path->kind == LINK_RAW ? LINK_UDP_SENDERS_RAW : 0);
}

/* --- pauses: udp_pace.h -------------------------------------------------------------------------------------------------- */

static bool may_burst(struct link_udp *udp, struct link_udp_pace *pace)
{
	uint64_t now = base_clock_now(), until = link_udp_pace_open(pace, now);

	udp->reserved_at = now;
	if (until == 0)
		return true;
	if (until < udp->pace_until) {
		struct itimerspec at = {
			.it_value = {.tv_sec = (time_t)(until / BASE_SEC), .tv_nsec = (long)(until % BASE_SEC)},
		};

		udp->pace_until = until;
		if (udp->pace_timer >= 0)
			timerfd_settime(udp->pace_timer, TFD_TIMER_ABSTIME, &at, NULL);
	}
	return false;
}

/* What was just queued counts against the burst. A full one goes out at once, so that its pause begins. */
static void charge(struct link_udp *udp, struct link_udp_pace *pace, const struct transport_run *run, size_t used)
{
	uint64_t now = base_clock_now();

	if (!link_udp_pace_charge(pace, (uint32_t)used, run->packets, now - udp->reserved_at))
		return;
	link_udp_flush(udp);
	link_udp_pace_close(pace, base_clock_now() - now);
}

/* Silences the timer once the pause is over. Who waits for it asks anew, and sets it for the next one if he has to. */
static void end_pause(struct link_udp *udp)
{
	static const struct itimerspec never;

	if (udp->pace_until == BASE_NEVER || base_clock_now() < udp->pace_until)
		return;
	udp->pace_until = BASE_NEVER;
	if (udp->pace_timer >= 0)
		timerfd_settime(udp->pace_timer, 0, &never, NULL);
}

/* --- room ---------------------------------------------------------------------------------------------------------------- */

int link_udp_reserve(struct link_udp *udp, const struct link_path *path, struct transport_room *room)
{
	struct link_udp_sender *sender = NULL;

	if (path->kind == LINK_RAW ? udp->raw : udp->socket >= 0)
		sender = link_udp_sender_get(udp, path_sender(path));
	if (sender == NULL)
		return BASE_ERR_GONE;
	if (path->unacked && !may_burst(udp, &sender->pace))
		return BASE_ERR_AGAIN;
	if (udp->queued_bytes >= LINK_UDP_FLUSH_BYTES || udp->message_count + LINK_UDP_BURST_PACKETS > LINK_UDP_MESSAGES)
		link_udp_flush(udp);
	/* A doubled burst (fault plan) must find room, too. */
	if (LINK_UDP_ARENA_BYTES - udp->used < 2 * LINK_UDP_BURST_BYTES ||
	    udp->message_count + 2 * LINK_UDP_BURST_PACKETS > LINK_UDP_MESSAGES)
		return BASE_ERR_AGAIN;
	*room = (struct transport_room){
		.buf = udp->arena + udp->used,
		.bytes = path->unacked ? link_udp_pace_room(&sender->pace, LINK_UDP_BURST_BYTES)
				       : LINK_UDP_BURST_BYTES,
		.packets = LINK_UDP_BURST_PACKETS,
		.framed = true,
	};
	return 0;
}

/* --- queueing ------------------------------------------------------------------------------------------------------------ */

static const struct wire_icrc_flow *sender_flow(struct link_udp_sender *sender, const struct link_path *path)
{
	if (!wire_gid_equal(&sender->sgid, &path->sgid) || !wire_gid_equal(&sender->dgid, &path->dgid)) {
		sender->sgid = path->sgid;
		sender->dgid = path->dgid;
		if (path->kind == LINK_RAW)
			wire_icrc_flow_grh(&sender->flow, &path->sgid, &path->dgid);
		else
			wire_icrc_flow_gids(&sender->flow, &path->sgid, &path->dgid, sender->port, WIRE_UDP_PORT_ROCE);
	}
	return &sender->flow;
}

static bool same_way(const struct link_udp_message *m, const struct link_path *path)
{
	return m->sender == path_sender(path) && m->ifindex == path->ifindex && m->traffic_class == path->traffic_class &&
	       m->hop_limit == path->hop_limit && m->flow_label == path->flow_label && wire_gid_equal(&m->dgid, &path->dgid) &&
	       wire_gid_equal(&m->sgid, &path->sgid);
}

/* One packet at `offset`, the end of all that is queued: joins the last message or begins one, and gets its ICRC. */
static void queue_packet(struct link_udp *udp, struct link_udp_sender *sender, const struct link_path *path,
		uint32_t offset, uint32_t bytes)
{
	struct link_udp_message *m = udp->message_count > 0 ? &udp->messages[udp->message_count - 1] : NULL;
	uint8_t *ib = udp->arena + offset;

	if (m == NULL || !m->open || !path->gso || !udp->gso || bytes > m->segment || m->bytes + bytes > LINK_UDP_BURST_BYTES ||
	    m->packets == LINK_UDP_BURST_PACKETS || m->offset + m->bytes != offset || !same_way(m, path)) {
		m = &udp->messages[udp->message_count++];
		*m = (struct link_udp_message){
			.sgid = path->sgid,
			.dgid = path->dgid,
			.ifindex = path->kind == LINK_RAW ? path->frame_ifindex : path->ifindex,
			.offset = offset,
			.segment = bytes,
			.flow_label = path->flow_label,
			.sender = (uint16_t)path_sender(path),
			.traffic_class = path->traffic_class,
			.hop_limit = path->hop_limit,
		};
		memcpy(m->frame_to, path->frame_to, sizeof(m->frame_to));
		memcpy(m->frame_from, path->frame_from, sizeof(m->frame_from));
	}
	wire_icrc_store(ib + bytes - WIRE_ICRC_BYTES,
			wire_icrc_compute(sender_flow(sender, path), m->packets, ib, bytes - WIRE_ICRC_BYTES));
	m->bytes += bytes;
	m->packets++;
	m->open = bytes == m->segment;
	udp->queued_bytes += bytes;
}

/* The message just queued is for members of its group on this host, too: no interface hears what it sends. */
static void queue_for_this_host(struct link_udp *udp)
{
	struct link_udp_message *copy = &udp->messages[udp->message_count];

	*copy = udp->messages[udp->message_count - 1];
	link_raw_local_mac(copy->frame_from, copy->ifindex);
	copy->ifindex = LINK_RAW_LO;
	udp->message_count++;
	udp->queued_bytes += copy->bytes;
}

static void queue(struct link_udp *udp, struct link_udp_sender *sender, const struct link_path *path, uint32_t offset, uint32_t bytes)
{
	queue_packet(udp, sender, path, offset, bytes);
	if (path->kind == LINK_RAW && wire_gid_is_multicast(&path->dgid) && path->frame_ifindex != LINK_RAW_LO)
		queue_for_this_host(udp);
}

/* With hooks every packet is looked at for itself: those that the plan lets pass are moved together, or doubled. */
static void queue_judged(struct link_udp *udp, struct link_udp_sender *sender, const struct link_path *path, uint32_t at,
		uint32_t bytes)
{
	struct transport_run single = {.packets = 1};
	uint8_t *ib = udp->arena + at;
	enum link_verdict verdict;

	if (wire_packet_decode(&single.head, ib, bytes) != 0)
		assert(!"the transport framed a packet");
	single.last_opcode = single.head.bth.opcode;
	verdict = link_hooks_run(&udp->hooks, true, path, &single);
	if (verdict == LINK_LOSE) {
		link_count_drop(udp->counters, LINK_DROP_FAULT, 1);
		return;
	}
	for (int i = 0; i < (verdict == LINK_TWICE ? 2 : 1); i++) {
		memmove(udp->arena + udp->used, ib, bytes);
		queue(udp, sender, path, udp->used, bytes);
		udp->used += bytes;
	}
}

void link_udp_commit(struct link_udp *udp, const struct link_path *path, const struct transport_run *run, size_t used)
{
	struct link_udp_sender *sender = udp->senders[path_sender(path)];
	uint32_t first = udp->used, size = (uint32_t)used, at, bytes;

	assert(sender != NULL && run->packets >= 1 && run->packets <= LINK_UDP_BURST_PACKETS && used <= LINK_UDP_BURST_BYTES);
	if (run->packets > 1)
		size = wire_opcode_table[run->head.bth.opcode].header_bytes + run->mtu + WIRE_ICRC_BYTES;
	assert(size >= WIRE_BTH_BYTES + WIRE_ICRC_BYTES && used > (run->packets - 1u) * size && used <= run->packets * size);
	link_count_sent(udp->counters, path->kind, run->packets, run->head.payload_len);
	if (!link_hooks_any(&udp->hooks)) {
		for (at = 0; at < used; at += bytes) {
			bytes = used - at < size ? (uint32_t)used - at : size;
			queue(udp, sender, path, first + at, bytes);
		}
		udp->used += (uint32_t)used;
		if (path->unacked)
			charge(udp, &sender->pace, run, used);
		return;
	}
	/* Copies may overtake what is not judged yet: judge a copy at the far end of the reserved room. */
	memmove(udp->arena + first + LINK_UDP_BURST_BYTES + (LINK_UDP_BURST_BYTES - used), udp->arena + first, used);
	first += LINK_UDP_BURST_BYTES + (LINK_UDP_BURST_BYTES - (uint32_t)used);
	for (at = 0; at < used; at += bytes) {
		bytes = used - at < size ? (uint32_t)used - at : size;
		queue_judged(udp, sender, path, first + at, bytes);
	}
	if (path->unacked)
		charge(udp, &sender->pace, run, used);
}

/* --- sending ------------------------------------------------------------------------------------------------------------- */

struct batch {
	struct mmsghdr vec[LINK_UDP_BATCH];
	struct iovec iov[LINK_UDP_BATCH][2];
	struct sockaddr_in6 to[LINK_UDP_BATCH]; /* a sockaddr_in or sockaddr_ll fits in */
	_Alignas(struct cmsghdr) uint8_t control[LINK_UDP_BATCH][LINK_UDP_CONTROL_BYTES];
};

static void control_put(struct msghdr *msg, int level, int type, const void *value, size_t len)
{
	struct cmsghdr *cmsg = (struct cmsghdr *)(void *)((uint8_t *)msg->msg_control + msg->msg_controllen);

	memset(cmsg, 0, CMSG_SPACE(len)); /* the padding goes to the kernel, too */
	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(cmsg), value, len);
	msg->msg_controllen += CMSG_SPACE(len);
}

static void control_put_int(struct msghdr *msg, int level, int type, int value)
{
	control_put(msg, level, type, &value, sizeof(value));
}

/*
 * Source address, class and hop limit are fixed per message: the first is under the ICRC, the others are the address
 * handle's, and over IPv6 the flow label, too.
 */
static void fill_ipv4(struct msghdr *msg, const struct link_udp_message *m, int family)
{
	bool group = wire_gid_is_multicast(&m->dgid);

	if (family == AF_INET) {
		struct sockaddr_in *to = msg->msg_name;

		*to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(WIRE_UDP_PORT_ROCE)};
		memcpy(&to->sin_addr, m->dgid.raw + 12, 4);
		msg->msg_namelen = sizeof(*to);
	}
	struct in_pktinfo info = {.ipi_ifindex = group ? (int)m->ifindex : 0};
	memcpy(&info.ipi_spec_dst, m->sgid.raw + 12, 4);
	control_put(msg, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	control_put_int(msg, IPPROTO_IP, IP_TTL, m->hop_limit == 0 ? LINK_PATH_HOPS : m->hop_limit);
	control_put_int(msg, IPPROTO_IP, IP_TOS, m->traffic_class);
}

static void fill_ipv6(struct msghdr *msg, const struct link_udp_message *m)
{
	struct sockaddr_in6 *to = msg->msg_name;
	/* Elsewhere the route decides: a packet to an address of this host leaves through lo, not through its interface. */
	bool scoped = wire_gid_is_link_local(&m->dgid) || wire_gid_is_multicast(&m->dgid);
	struct in6_pktinfo info = {.ipi6_ifindex = scoped ? m->ifindex : 0};

	to->sin6_flowinfo = htonl(m->flow_label);
	if (scoped)
		to->sin6_scope_id = m->ifindex;
	memcpy(&info.ipi6_addr, m->sgid.raw, WIRE_GID_BYTES);
	control_put(msg, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	control_put_int(msg, IPPROTO_IPV6, IPV6_HOPLIMIT, m->hop_limit == 0 ? LINK_PATH_HOPS : m->hop_limit);
	control_put_int(msg, IPPROTO_IPV6, IPV6_TCLASS, m->traffic_class);
}

/* The frame's headers, in the place of the control messages. */
static void fill_raw(struct batch *batch, unsigned i, struct link_udp *udp, const struct link_udp_message *m)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(WIRE_ETHERTYPE_ROCE_V1), .sll_ifindex = (int)m->ifindex};
	struct wire_frame frame = {
		.encap = WIRE_ENCAP_V1,
		.grh = {.traffic_class = m->traffic_class, .hop_limit = m->hop_limit, .flow_label = m->flow_label, .sgid = m->sgid,
			.dgid = m->dgid},
	};
	ssize_t len;

	memcpy(frame.eth.dst, m->frame_to, sizeof(frame.eth.dst));
	memcpy(frame.eth.src, m->frame_from, sizeof(frame.eth.src));
	len = wire_frame_encode_headers(batch->control[i], &frame, m->bytes);
	assert(len > 0); /* a packet's length fits */
	memcpy(&batch->to[i], &to, sizeof(to));
	batch->iov[i][0] = (struct iovec){.iov_base = batch->control[i], .iov_len = (size_t)len};
	batch->iov[i][1] = (struct iovec){.iov_base = udp->arena + m->offset, .iov_len = m->bytes};
	batch->vec[i].msg_hdr = (struct msghdr){
		.msg_name = &batch->to[i],
		.msg_namelen = sizeof(to),
		.msg_iov = batch->iov[i],
		.msg_iovlen = 2,
	};
}

static void fill(struct batch *batch, unsigned i, struct link_udp *udp, const struct link_udp_message *m, int family)
{
	struct msghdr *msg = &batch->vec[i].msg_hdr;

	if (family == AF_PACKET) {
		fill_raw(batch, i, udp, m);
		return;
	}
	batch->iov[i][0] = (struct iovec){.iov_base = udp->arena + m->offset, .iov_len = m->bytes};
	batch->to[i] = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(WIRE_UDP_PORT_ROCE)};
	memcpy(&batch->to[i].sin6_addr, m->dgid.raw, WIRE_GID_BYTES);
	*msg = (struct msghdr){
		.msg_name = &batch->to[i],
		.msg_namelen = sizeof(batch->to[i]),
		.msg_iov = batch->iov[i],
		.msg_iovlen = 1,
		.msg_control = batch->control[i],
	};
	if (wire_gid_is_ipv4_mapped(&m->dgid))
		fill_ipv4(msg, m, family);
	else
		fill_ipv6(msg, m);
	if (m->packets > 1) {
		uint16_t segment = (uint16_t)m->segment;

		control_put(msg, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	}
}

/*
 * Where somebody holds a flow label of his own, the kernel refuses all that are not leased: then it picks them. True: try what
 * is left of this batch once more.
 */
static bool without_flow_labels(struct batch *batch, unsigned from, unsigned count, int error)
{
	if (error != EINVAL || batch->to[from].sin6_family != AF_INET6 || batch->to[from].sin6_flowinfo == 0)
		return false;
	for (unsigned i = from; i < count; i++)
		batch->to[i].sin6_flowinfo = 0;
	return true;
}

/* The kernel did not take this message and never will. */
static void refused(struct link_udp *udp, const struct link_udp_message *m, int error)
{
	enum link_drop why = LINK_DROP_SEND_ERROR;

	if (error == EMSGSIZE)
		why = LINK_DROP_SEND_MTU;
	else if (error == ENOBUFS || error == ENOMEM)
		why = LINK_DROP_SEND_FULL;
	else if (m->packets > 1 && (error == EINVAL || error == EIO || error == EOPNOTSUPP))
		udp->gso = false; /* the route cannot cut bursts: without them from now on; these packets are sent again */
	link_count_drop(udp->counters, why, m->packets);
}

static void set_blocked(struct link_udp *udp, struct link_udp_sender *sender, bool blocked)
{
	struct epoll_event event = {.events = EPOLLOUT, .data.fd = sender->fd};

	if (sender->blocked == blocked)
		return;
	sender->blocked = blocked;
	udp->blocked_count += blocked ? 1 : -1u;
	epoll_ctl(udp->room_epoll, blocked ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, sender->fd, &event);
}

/* Sends messages [from, from + count), all of one sender. Returns how many are dealt with; fewer than count: blocked. */
static unsigned send_some(struct link_udp *udp, struct link_udp_sender *sender, unsigned from, unsigned count)
{
	struct batch batch; /* 26 KiB */
	unsigned done = 0;
	int n;

	for (unsigned i = 0; i < count; i++)
		fill(&batch, i, udp, &udp->messages[from + i], sender->family);
	while (done < count) {
		/* Not sendmmsg(3), a cancellation point under the progress lock. */
		n = (int)syscall(SYS_sendmmsg, sender->fd, batch.vec + done, count - done, MSG_DONTWAIT);
		if (n > 0) {
			done += (unsigned)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN)
			break;
		if (without_flow_labels(&batch, done, count, errno))
			continue;
		refused(udp, &udp->messages[from + done], errno);
		done++;
	}
	return done;
}

void link_udp_flush(struct link_udp *udp)
{
	bool tried[LINK_UDP_SENDERS] = {false}; /* and found blocked, in this flush */
	unsigned kept = 0, from = 0, count, done;

	if (udp->message_count == 0)
		return;
	while (from < udp->message_count) {
		unsigned index = udp->messages[from].sender;
		struct link_udp_sender *sender = udp->senders[index];

		count = 1;
		while (count < LINK_UDP_BATCH && from + count < udp->message_count && udp->messages[from + count].sender == index)
			count++;
		done = tried[index] ? 0 : send_some(udp, sender, from, count);
		for (unsigned i = 0; i < done; i++)
			udp->queued_bytes -= udp->messages[from + i].bytes;
		if (done < count) {
			tried[index] = true;
			memmove(&udp->messages[kept], &udp->messages[from + done], (count - done) * sizeof(udp->messages[0]));
			kept += count - done;
		}
		if (!tried[index] || done < count)
			set_blocked(udp, sender, tried[index]);
		from += count;
	}
	udp->message_count = kept;
	if (kept == 0)
		udp->used = 0;
	else
		udp->messages[kept - 1].open = false; /* its segments have their numbers, and may be on their way */
}

/* --- waiting for room ---------------------------------------------------------------------------------------------------- */

void link_udp_want_room(struct link_udp *udp)
{
	udp->wants = true;
}

bool link_udp_room_take(struct link_udp *udp)
{
	end_pause(udp);
	if (!udp->wants && udp->blocked_count == 0)
		return false;
	link_udp_flush(udp);
	if (!udp->wants || udp->message_count != 0)
		return false;
	udp->wants = false;
	return true;
}
