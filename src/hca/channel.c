/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/channel.h"

#include <stdlib.h>

#include "base/err.h"
#include "hca/cq_internal.h"
#include "hca/event_fd.h"

int hca_channel_create(struct hca_context *context, struct hca_channel **out)
{
	struct hca_channel *channel = calloc(1, sizeof(*channel));

	if (channel == NULL)
		return BASE_ERR_NOMEM;
	channel->fd = hca_event_fd_create();
	if (channel->fd < 0) {
		free(channel);
		return BASE_ERR_NOMEM;
	}
	channel->context = context;
	pthread_mutex_init(&channel->lock, NULL);
	pthread_cond_init(&channel->acked, NULL);
	atomic_fetch_add(&context->objects, 1);
	*out = channel;
	return 0;
}

int hca_channel_destroy(struct hca_channel *channel)
{
	pthread_mutex_lock(&channel->lock);
	bool busy = channel->users != 0;
	pthread_mutex_unlock(&channel->lock);
	if (busy)
		return BASE_ERR_BUSY;
	hca_event_fd_close(channel->fd);
	atomic_fetch_sub(&channel->context->objects, 1);
	pthread_cond_destroy(&channel->acked);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
	return 0;
}

int hca_channel_fd(const struct hca_channel *channel)
{
	return channel->fd;
}

static void append(struct hca_channel *channel, struct hca_cq *cq)
{
	cq->next = NULL;
	cq->prev = channel->last;
	if (channel->last != NULL)
		channel->last->next = cq;
	else
		channel->first = cq;
	channel->last = cq;
}

static void unlink_cq(struct hca_channel *channel, struct hca_cq *cq)
{
	if (cq->prev != NULL)
		cq->prev->next = cq->next;
	else
		channel->first = cq->next;
	if (cq->next != NULL)
		cq->next->prev = cq->prev;
	else
		channel->last = cq->prev;
}

void hca_channel_attach(struct hca_channel *channel, struct hca_cq *cq)
{
	pthread_mutex_lock(&channel->lock);
	cq->channel = channel;
	channel->users++;
	pthread_mutex_unlock(&channel->lock);
}

void hca_channel_detach(struct hca_channel *channel, struct hca_cq *cq)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&channel->lock);
	if (cq->events != 0)
		unlink_cq(channel, cq);
	for (; cq->events != 0; cq->events--)
		hca_event_fd_lower(channel->fd);
	while (cq->taken != cq->acked)
		pthread_cond_wait(&channel->acked, &channel->lock);
	channel->users--;
	pthread_mutex_unlock(&channel->lock);
	pthread_setcancelstate(cancel, NULL);
}

void hca_channel_fire(struct hca_channel *channel, struct hca_cq *cq)
{
	pthread_mutex_lock(&channel->lock);
	if (cq->events++ == 0)
		append(channel, cq);
	hca_event_fd_raise(channel->fd);
	pthread_mutex_unlock(&channel->lock);
}

int hca_channel_get(struct hca_channel *channel, struct hca_cq **out)
{
	for (;;) {
		int err = hca_event_fd_wait(channel->fd);

		if (err != 0)
			return err;
		pthread_mutex_lock(&channel->lock);
		struct hca_cq *cq = channel->first;
		if (cq != NULL) {
			unlink_cq(channel, cq);
			if (--cq->events != 0)
				append(channel, cq);
			cq->taken++;
		}
		pthread_mutex_unlock(&channel->lock);
		if (cq != NULL) {
			*out = cq;
			return 0;
		}
		/* The CQ was destroyed between our token and our lock: wait for the next event. */
	}
}

void hca_cq_events_ack(struct hca_cq *cq, uint32_t n)
{
	struct hca_channel *channel = cq->channel;

	if (channel == NULL)
		return;
	pthread_mutex_lock(&channel->lock);
	cq->acked += n < cq->taken - cq->acked ? n : cq->taken - cq->acked;
	pthread_cond_broadcast(&channel->acked);
	pthread_mutex_unlock(&channel->lock);
}
