/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The UDP link: RoCEv2 over IPv4 and IPv6 on unprivileged sockets. For src/link/ alone; the calls of link.h lead here.
 *
 * Sending. Packets are framed by the transport in an arena that is used from its start again once all of it is sent,
 * so that it stays hot in the cache. A commit appends the ICRCs and becomes one message; where the route may carry
 * UDP_SEGMENT bursts, packets of equal size to the same place join into one message (the last may be shorter), across
 * runs. A flush is one sendmmsg() per destination slot.
 *
 * Each destination slot has its own socket, thus its own source port: GRO at the receiver merges by flow, and what is
 * merged lands on one slot socket. Never connected and IP_PMTUDISC_DO: then the kernel writes IP identification 0,
 * and k into segment k of a burst, which is what the ICRC is made for. The sockets hear nothing: a filter drops all.
 *
 * When a send buffer is full its messages stay queued, those to other slots go on, and the descriptor of
 * link_room_fd() becomes readable when it is time to flush again.
 *
 * Receiving. recvmmsg() with UDP_GRO; merged buffers are cut, each piece is decoded and its ICRC checked. The
 * identification is expected to count up from 0 within a buffer; another one is solved for (wire/icrc.h). Pieces
 * beyond the budget wait for the next call.
 *
 * RoCEv1 leaves in the same queue: its senders have packet sockets, and each packet is one message with its frame's headers.
 *
 * What nobody acknowledges goes in bursts with pauses, per destination slot: see udp_pace.h. A path in its pause has no room,
 * and a timer makes the descriptor of link_room_fd() readable.
 */
#ifndef LINK_UDP_H
#define LINK_UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ipc/pair.h"
#include "link/link.h"
#include "link/udp_pace.h"
#include "wire/icrc.h"

#define LINK_UDP_BURST_BYTES 60000u   /* of one message: below the 65507 of a datagram, whatever the headers */
#define LINK_UDP_BURST_PACKETS 64u    /* what every kernel with UDP_SEGMENT takes */
#define LINK_UDP_ARENA_BYTES 524288u
#define LINK_UDP_FLUSH_BYTES 131072u  /* queued bytes that are sent without waiting for a flush */
#define LINK_UDP_MESSAGES 512u
#define LINK_UDP_BATCH 64u            /* messages of one sendmmsg() */
#define LINK_UDP_DATAGRAM_BYTES 65536u
#define LINK_UDP_DATAGRAMS 8u         /* of one recvmmsg() */
#define LINK_UDP_CONTROL_BYTES 256u
#define LINK_UDP_SILENT 16u           /* looks without a datagram before the kernel is asked what it dropped */

/* One for each destination slot, and as many for RoCEv1. */
#define LINK_UDP_SENDERS_RAW ((unsigned)IPC_SLOTS)
#define LINK_UDP_SENDERS (2u * IPC_SLOTS)

struct link_udp_sender {
	int fd;
	int family;
	uint16_t port;
	bool blocked; /* its send buffer was full at the last try: it is in the room epoll */
	struct link_udp_pace pace; /* of what nobody acknowledges */
	/* The headers under the ICRC for the last pair of GIDs. */
	struct wire_gid sgid, dgid;
	struct wire_icrc_flow flow;
};

/* Something that is sent with one call: a packet, or a burst of equal ones. */
struct link_udp_message {
	struct wire_gid sgid, dgid;
	uint32_t ifindex;       /* raw: that the frame leaves by */
	uint32_t offset, bytes; /* in the arena */
	uint32_t segment;       /* size of its first packet */
	uint32_t flow_label;    /* sent over IPv6 */
	uint16_t packets;
	uint16_t sender;        /* index of senders[] */
	uint8_t traffic_class, hop_limit;
	uint8_t frame_to[6], frame_from[6]; /* raw */
	bool open;              /* another packet may join */
};

/* A datagram that was received, cut up to `at`. */
struct link_udp_datagram {
	struct wire_gid sgid, dgid;
	struct wire_icrc_flow flow;
	uint32_t ifindex, bytes, segment, at;
	uint16_t next_id;
	uint8_t traffic_class, hop_limit;
};

struct link_udp {
	struct link_counters *counters;
	struct link_hooks hooks;
	int socket;      /* the slot's; borrowed; -1: there is no wire */
	bool raw;        /* packet sockets are to be had */
	int room_epoll;
	uint8_t slot;
	bool gso;        /* cleared when the kernel refuses */
	bool wants;      /* link_want_room() was asked */
	bool no_ipv6;    /* the host has none: AF_INET sockets */
	bool complained; /* that there are no sockets */

	struct link_udp_sender *senders[LINK_UDP_SENDERS];
	uint8_t *arena;
	uint32_t used;           /* of the arena */
	uint32_t queued_bytes;
	struct link_udp_message *messages;
	unsigned message_count;
	unsigned blocked_count;  /* senders with `blocked` */
	int pace_timer;          /* in the room epoll: the next pause ends; -1: none to be had */
	uint64_t pace_until;     /* the earliest end of a pause that somebody waits for; BASE_NEVER: nobody does */
	uint64_t reserved_at;    /* when room was last given to a path without acknowledgements */

	uint8_t *buffers;        /* LINK_UDP_DATAGRAMS of LINK_UDP_DATAGRAM_BYTES */
	struct link_udp_datagram datagrams[LINK_UDP_DATAGRAMS];
	unsigned datagram_count, datagram_next;
	uint32_t kernel_drops;   /* SO_RXQ_OVFL as last seen */
	unsigned silent;         /* looks at the socket since it last had something */
};

/* BASE_ERR_NOMEM. Without a socket it is a link that sends and receives nothing, and needs no memory. */
int link_udp_init(struct link_udp *udp, const struct link_config *config);
void link_udp_fini(struct link_udp *udp);

/* BASE_ERR_AGAIN, BASE_ERR_GONE (no wire, or no socket to be had). */
int link_udp_reserve(struct link_udp *udp, const struct link_path *path, struct transport_room *room);
void link_udp_commit(struct link_udp *udp, const struct link_path *path, const struct transport_run *run, size_t used);
void link_udp_flush(struct link_udp *udp);
void link_udp_want_room(struct link_udp *udp);
bool link_udp_room_take(struct link_udp *udp);
unsigned link_udp_receive(struct link_udp *udp, unsigned budget, link_sink *sink, void *context);

/* Are there pieces that a budget left uncut? */
static inline bool link_udp_is_ready(const struct link_udp *udp)
{
	return udp->datagram_next < udp->datagram_count;
}

/*
 * The second half of receiving, without the socket: cuts datagram `d`, whose bytes are `buf`, and hands what is sound
 * to the sink until the budget or the datagram ends. Returns the number of runs handed over. Any bytes are
 * survivable.
 */
unsigned link_udp_cut(struct link_udp *udp, struct link_udp_datagram *d, const uint8_t *buf, unsigned budget, link_sink *sink,
		      void *context);

/* udp_socket.c: how many datagrams the kernel dropped at this socket, modulo 2^32; 0 where it does not tell. */
uint32_t link_udp_drops(int fd);

/* udp_socket.c: the sender with this index, made at first use. NULL: no socket to be had, which is logged once. */
struct link_udp_sender *link_udp_sender_get(struct link_udp *udp, unsigned index);

#endif
