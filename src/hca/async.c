/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hca/async.h"

#include "base/err.h"
#include "hca/device_internal.h"
#include "hca/event_fd.h"

void hca_async_source_init(struct hca_async_source *source, struct hca_context *context, void *user)
{
	*source = (struct hca_async_source){ .context = context, .user = user, .counted = true };
}

static void append(struct hca_context *context, struct hca_async_source *source)
{
	source->next = NULL;
	source->prev = context->last;
	if (context->last != NULL)
		context->last->next = source;
	else
		context->first = source;
	context->last = source;
}

static void unlink_source(struct hca_context *context, struct hca_async_source *source)
{
	if (source->prev != NULL)
		source->prev->next = source->next;
	else
		context->first = source->next;
	if (source->next != NULL)
		source->next->prev = source->prev;
	else
		context->last = source->prev;
}

void hca_async_raise(struct hca_async_source *source, enum hca_async_type type)
{
	struct hca_context *context = source->context;

	pthread_mutex_lock(&context->async_lock);
	if (!(source->pending >> type & 1)) {
		if (source->pending == 0)
			append(context, source);
		source->pending |= 1u << type;
		hca_event_fd_raise(context->async_fd);
	}
	pthread_mutex_unlock(&context->async_lock);
}

void hca_async_source_fini(struct hca_async_source *source)
{
	struct hca_context *context = source->context;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&context->async_lock);
	if (source->pending != 0)
		unlink_source(context, source);
	for (; source->pending != 0; source->pending &= source->pending - 1)
		hca_event_fd_lower(context->async_fd);
	while (source->taken != source->acked)
		pthread_cond_wait(&context->async_acked, &context->async_lock);
	pthread_mutex_unlock(&context->async_lock);
	pthread_setcancelstate(cancel, NULL);
}

int hca_async_fd(const struct hca_context *context)
{
	return context->async_fd;
}

static bool is_port_event(enum hca_async_type type)
{
	return type == HCA_ASYNC_PORT_ACTIVE || type == HCA_ASYNC_PORT_ERR || type == HCA_ASYNC_GID_CHANGE;
}

int hca_async_get(struct hca_context *context, struct hca_async_event *out)
{
	for (;;) {
		int err = hca_event_fd_wait(context->async_fd);

		if (err != 0)
			return err;
		pthread_mutex_lock(&context->async_lock);
		struct hca_async_source *source = context->first;
		if (source != NULL) {
			enum hca_async_type type = (enum hca_async_type)__builtin_ctz(source->pending);

			unlink_source(context, source);
			source->pending &= source->pending - 1;
			if (source->pending != 0)
				append(context, source);
			source->taken += source->counted;
			*out = (struct hca_async_event){
				.type = type,
				.user = source->user,
				.port = is_port_event(type) ? source->port : 0,
				.token = source->counted ? source : NULL,
			};
		}
		pthread_mutex_unlock(&context->async_lock);
		if (source != NULL)
			return 0;
		/* The event vanished with its object after its token was taken. */
	}
}

void hca_async_ack(void *token)
{
	struct hca_async_source *source = token;

	if (source == NULL)
		return;
	struct hca_context *context = source->context;
	pthread_mutex_lock(&context->async_lock);
	if (source->acked != source->taken)
		source->acked++;
	pthread_cond_broadcast(&context->async_acked);
	pthread_mutex_unlock(&context->async_lock);
}
