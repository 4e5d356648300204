/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "process/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "process/process_internal.h"

#define CM_CALL_NS (30 * BASE_SEC)

/* --- what is kept of ids --- */

static struct process_cm_kept **kept_find(struct process *p, uint32_t id)
{
	struct process_cm_kept **at = &p->cm.kept[id % PROCESS_CM_BUCKETS];

	while (*at != NULL && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void keep(struct process *p, const struct ipc_cm *cm)
{
	struct process_cm_kept **at = kept_find(p, cm->id), *old = *at, *now;

	if (cm->len > 0) {
		now = malloc(sizeof(*now) + cm->len);
		if (now == NULL) {
			base_warn("no memory to keep connection %u across a restart of the broker", cm->id);
			return;
		}
		now->id = cm->id;
		now->len = cm->len;
		now->reported = old == NULL || old->reported;
		memcpy(now->bytes, cm->bytes, cm->len);
		now->next = old != NULL ? old->next : NULL;
		*at = now;
	} else if (old != NULL) {
		*at = old->next;
	}
	free(old);
}

void process_cm_resume(struct process *p)
{
	p->cm.report_bucket = 0;
	for (unsigned i = 0; i < PROCESS_CM_BUCKETS; i++)
		for (struct process_cm_kept *k = p->cm.kept[i]; k != NULL; k = k->next)
			k->reported = false;
}

bool process_cm_report_next(struct process *p, struct ipc_message *m)
{
	for (; p->cm.report_bucket < PROCESS_CM_BUCKETS; p->cm.report_bucket++) {
		for (const struct process_cm_kept *k = p->cm.kept[p->cm.report_bucket]; k != NULL; k = k->next) {
			if (k->reported)
				continue;
			m->type = IPC_CM_ADOPT;
			m->cm = (struct ipc_cm){ .id = k->id, .len = k->len, .bytes = k->bytes };
			return true;
		}
	}
	return false;
}

/* --- calls --- */

bool process_cm_call_next(struct process *p, struct ipc_message *m)
{
	for (const struct process_cm_call *call = p->cm.calls; call != NULL; call = call->next) {
		if (call->sent)
			continue;
		m->type = IPC_CM_CALL;
		m->cm = (struct ipc_cm){ .id = call->id, .len = (uint32_t)call->len, .bytes = call->command };
		return true;
	}
	return false;
}

void process_cm_sent(struct process *p, const struct ipc_message *m)
{
	if (m->type == IPC_CM_ADOPT) {
		struct process_cm_kept *kept = *kept_find(p, m->cm.id);

		if (kept != NULL)
			kept->reported = true;
		return;
	}
	for (struct process_cm_call *call = p->cm.calls; call != NULL; call = call->next)
		if (call->id == m->cm.id)
			call->sent = true;
}

static void call_end(struct process_cm_call *call, int result)
{
	static const uint64_t one = 1;

	call->result = result;
	ssize_t ignored = write(call->eventfd, &one, sizeof(one));
	(void)ignored;
}

static void answer(struct process *p, const struct ipc_cm *cm)
{
	for (struct process_cm_call *call = p->cm.calls; call != NULL; call = call->next) {
		if (call->id != cm->id || call->result != BASE_ERR_AGAIN)
			continue;
		call->status = (int)cm->status;
		call->response_len = cm->len < call->size ? cm->len : call->size;
		if (call->response_len > 0)
			memcpy(call->response, cm->bytes, call->response_len);
		call_end(call, BASE_OK);
	}
}

static void event_take(struct process *p, const struct ipc_cm *cm)
{
	struct process_event *event = process_event_new(PROCESS_EVENT_CM, cm->len);

	if (event == NULL) {
		base_warn("no memory for an event of the connection manager");
		return;
	}
	event->len = cm->len;
	memcpy(event->datagram, cm->bytes, cm->len);
	process_event_add(p, event);
}

void process_cm_take(struct process *p, const struct ipc_message *m)
{
	if (m->type == IPC_CM_ANSWER)
		answer(p, &m->cm);
	else if (m->type == IPC_CM_EVENT)
		event_take(p, &m->cm);
	else if (m->type == IPC_CM_KEEP)
		keep(p, &m->cm);
}

void process_cm_lost(struct process *p, bool for_good)
{
	for (struct process_cm_call *call = p->cm.calls; call != NULL; call = call->next) {
		call->sent = false;
		if (for_good && call->result == BASE_ERR_AGAIN)
			call_end(call, BASE_ERR_GONE);
	}
}

void process_cm_free(struct process *p)
{
	for (unsigned i = 0; i < PROCESS_CM_BUCKETS; i++) {
		while (p->cm.kept[i] != NULL) {
			struct process_cm_kept *kept = p->cm.kept[i];

			p->cm.kept[i] = kept->next;
			free(kept);
		}
	}
}

/* Lock held. */
static void call_add(struct process *p, struct process_cm_call *call)
{
	struct process_cm_call **at = &p->cm.calls;

	if (++p->cm.next_call == 0)
		p->cm.next_call = 1;
	call->id = p->cm.next_call;
	while (*at != NULL)
		at = &(*at)->next;
	*at = call;
}

static void call_remove(struct process *p, struct process_cm_call *call)
{
	struct process_cm_call **at = &p->cm.calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
}

static ssize_t call_and_wait(struct process *p, struct process_cm_call *call)
{
	call->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (call->eventfd < 0)
		return -ENOMEM;
	pthread_mutex_lock(&p->lock);
	if (p->state == PROCESS_EXPELLED) {
		call->result = BASE_ERR_GONE;
	} else {
		call_add(p, call);
		process_output(p);
		process_answer_wait(p, &call->result, call->eventfd, base_clock_now() + CM_CALL_NS);
		call_remove(p, call);
	}
	pthread_mutex_unlock(&p->lock);
	close(call->eventfd);
	if (call->result == BASE_ERR_AGAIN)
		return -ETIMEDOUT;
	if (call->result != BASE_OK)
		return -ENODEV;
	return call->status != 0 ? -call->status : (ssize_t)call->response_len;
}

ssize_t process_cm_call(struct process *p, const void *command, size_t len, void *response, size_t size)
{
	struct process_cm_call call = { .command = command, .len = len, .response = response, .size = size, .result = BASE_ERR_AGAIN };
	int cancel;

	if (atomic_load(&p->foreign))
		return -ENODEV;
	if (len == 0 || len > IPC_CM_MAX)
		return -EINVAL;
	/* The call lives on this stack: a thread cancelled in poll(2) would leave it in the list. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ssize_t result = call_and_wait(p, &call);
	pthread_setcancelstate(cancel, NULL);
	return result;
}

void process_cm_listen(struct process *p, void (*event)(void *context, const void *bytes, size_t len), void *context)
{
	pthread_mutex_lock(&p->lock);
	p->cm.listener = event;
	p->cm.listener_context = context;
	pthread_mutex_unlock(&p->lock);
}
