/* SPDX-License-Identifier: MIT */
/*
 * consumer_link_request.c - the queue of requests to waymark-consumerd: encode, send, wait for the answer (see
 * consumer_link_request.h).
 *
 * A request stays in the list until the consumer daemon has answered the request. After a crash of the consumer daemon,
 * the link first sends the next consumer daemon all traces and rings that the crashed one held. The link then sends the
 * unanswered requests in the list. A thread that waits for an answer is therefore only delayed by a crash of the
 * consumer daemon. If a caller stops waiting, its request becomes an abandoned request.
 */
#include "sessiond/consumer_link_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/error.h"

#define FDS_AT_ONCE (WMK_WIRE_FDS - 4u)

void wmk_link_drop_held(struct wmk_link_request *request)
{
	for (size_t i = 0; i < request->n_held; i++)
		if (request->held[i].fd >= 0)
			close(request->held[i].fd);
	free(request->held);
	request->held = NULL;
	request->n_held = 0;
	wmk_arena_free(&request->arena);
}

void wmk_link_request_free(struct wmk_link_request *request)
{
	wmk_link_drop_held(request);
	if (request->fd >= 0)
		close(request->fd);
	pthread_cond_destroy(&request->answered);
	free(request->body);
	free(request->reply);
	free(request);
}

static struct wmk_link_request *request_new(uint16_t type, const struct wmk_object *is, const void *object, int fd)
{
	struct wmk_link_request *request = calloc(1, sizeof(*request));
	long len;

	if (!request) {
		wmk_error(-ENOMEM, "no memory for a request to the consumer daemon");
		return NULL;
	}
	wmk_cond_init(&request->answered);
	request->type = type;
	request->fd = -1;
	len = wmk_object_encode(is, object, &request->body);
	if (len >= 0 && fd >= 0) {
		request->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (request->fd < 0)
			len = wmk_error(-errno, "cannot duplicate a descriptor: %s", strerror(errno));
	}
	if (len < 0) {
		wmk_link_request_free(request);
		return NULL;
	}
	request->len = (size_t)len;
	return request;
}

struct wmk_link_request *wmk_link_query(struct wmk_consumer_link *link, uint16_t type, const struct wmk_object *is,
					const void *object, int fd, bool first)
{
	struct wmk_link_request *request = request_new(type, is, object, fd);

	if (!request)
		return NULL;
	/* 0 is not a valid number. */
	if (++link->numbers == 0)
		link->numbers = 1;
	request->number = link->numbers;
	if (first) {
		request->next = link->requests;
		link->requests = request;
		if (!request->next)
			link->requests_end = &request->next;
	} else {
		*link->requests_end = request;
		link->requests_end = &request->next;
	}
	return request;
}

/* Queue the body of a request in as many frames as it requires. */
static int send_request(struct wmk_consumer_link *link, const struct wmk_link_request *request)
{
	const uint8_t *at = request->body;
	size_t left = request->len;
	int err = 0;

	for (; left > WMK_FRAME_MAX && err == 0; at += WMK_FRAME_MAX, left -= WMK_FRAME_MAX)
		err = wmk_out_frame(&link->out, (enum wmk_msg)WMK_OBJECT_PART, request->number, at, WMK_FRAME_MAX, -1);
	return err < 0 ? err
		       : wmk_out_frame(&link->out, (enum wmk_msg)request->type, request->number, at, left, request->fd);
}

int wmk_link_greet(struct wmk_consumer_link *link)
{
	const struct wmk_consumerd_hello hello = { .version = WMK_CONSUMERD_GREETING, .pid = (uint64_t)getpid() };

	pthread_mutex_lock(&link->lock);
	int err = wmk_consumerd_send(&link->out, WMK_CONSUMERD_HELLO, 0, &wmk_consumerd_hello_object, &hello, -1);

	if (err >= 0)
		err = wmk_out_send(&link->out, link->sock);
	pthread_mutex_unlock(&link->lock);
	return err < 0 ? wmk_error(err, "cannot send a greeting") : 0;
}

void wmk_link_pump(struct wmk_consumer_link *link)
{
	int rc = 1;

	if (link->state != WMK_LINK_UP)
		return;
	while (rc == 1) {
		unsigned queued = 0;

		for (struct wmk_link_request *request = link->requests; request; request = request->next) {
			if (request->sent)
				continue;
			if (link->out.n_fds >= FDS_AT_ONCE || send_request(link, request) < 0)
				break;
			request->sent = true;
			queued++;
		}
		rc = wmk_out_send(&link->out, link->sock);
		if (!queued)
			break;
	}
}

/* The link thread sends the remaining bytes, and handles a broken connection. */
void wmk_link_submit(struct wmk_consumer_link *link)
{
	wmk_link_pump(link);
	if (wmk_out_queued(&link->out))
		wmk_link_wake(link);
}

void wmk_link_answered(struct wmk_consumer_link *link, struct wmk_link_request *request)
{
	struct wmk_link_request **at = &link->requests;

	while (*at && *at != request)
		at = &(*at)->next;
	if (*at) {
		*at = request->next;
		if (!*at)
			link->requests_end = at;
	}
	link->again -= request->again;
	request->done = true;
	if (request->abandoned)
		wmk_link_request_free(request);
	else
		pthread_cond_signal(&request->answered);
}

int wmk_link_ended(const struct wmk_consumer_link *link)
{
	return wmk_error(-ECONNABORTED, "the link to the consumer daemon has ended: %.120s", link->end_words);
}

int wmk_link_wait(struct wmk_consumer_link *link, struct wmk_link_request *request, const struct timespec *end)
{
	int rc = 0, err;

	while (!request->done && link->state != WMK_LINK_ENDED && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&request->answered, &link->lock, end);
	if (!request->done) {
		request->abandoned = true;
		request->answers = link->answers;
		return link->state == WMK_LINK_ENDED ? wmk_link_ended(link)
						     : wmk_error(-ETIMEDOUT, "the consumer daemon has not answered in "
									     "time");
	}
	err = request->err;
	if (err < 0)
		wmk_error(err, "%.300s", request->words);
	return err;
}
