/* SPDX-License-Identifier: MIT */
/*
 * consumer_link_metadata.c - send metadata to waymark-consumerd. The text is split into requests, which stay in the
 * list until the consumer daemon has written them. The next consumer daemon receives the remaining requests before the
 * rings (consumer_link_replay.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cond.h"
#include "base/error.h"
#include "base/testpoint.h"
#include "sessiond/consumer_link_request.h"

/* Queues one part of a metadata text. NULL with a cause chain. */
static struct wmk_link_request *part_new(struct wmk_consumer_link *link, struct wmk_consumerd_metadata *is,
					 const char *text, size_t len)
{
	char *copy = strndup(text, len);
	struct wmk_link_request *request = NULL;

	is->text = copy;
	if (copy)
		request = wmk_link_query(link, WMK_CONSUMERD_METADATA, &wmk_consumerd_metadata_object, is, -1, false);
	else
		wmk_error(-ENOMEM, "no memory for metadata");
	free(copy);
	if (!request)
		return NULL;
	request->trace = is->trace;
	request->chunk = is->chunk;
	request->replaces = is->replace;
	request->more = is->more;
	request->abandoned = true;
	return request;
}

/* Frees the requests from `*at` to the end of the list. The freed requests must not have been sent. */
static void take_back(struct wmk_consumer_link *link, struct wmk_link_request **at)
{
	while (*at) {
		struct wmk_link_request *request = *at;

		*at = request->next;
		wmk_link_request_free(request);
	}
	link->requests_end = at;
}

/*
 * Queues all parts of the text in order or, after an error, no part. Returns the last request, or NULL with a cause
 * chain.
 */
static struct wmk_link_request *parts_add(struct wmk_consumer_link *link, struct wmk_replay_trace *trace,
					  const char *text, size_t len, bool replace, uint64_t chunk)
{
	struct wmk_link_request **begin = link->requests_end, *request = NULL;
	uint64_t offset = replace ? 0 : trace->metadata_len;

	for (size_t done = 0; done < len;) {
		const size_t one = len - done < WMK_CONSUMERD_METADATA_MAX ? len - done : WMK_CONSUMERD_METADATA_MAX;
		struct wmk_consumerd_metadata is = { .trace = trace->is.trace, .offset = offset, .replace = replace,
						     .more = replace && done + one < len, .chunk = chunk };

		request = part_new(link, &is, text + done, one);
		if (!request) {
			take_back(link, begin);
			return NULL;
		}
		offset += one;
		done += one;
	}
	if (chunk != trace->is.chunk)
		return request;
	trace->metadata_len = offset;
	trace->complete |= replace;
	return request;
}

int wmk_consumer_link_metadata(struct wmk_consumer_link *link, uint64_t number, const char *text, size_t len,
			       bool replace, int ms)
{
	const struct timespec end = wmk_deadline(ms);
	struct wmk_link_request *request;
	struct wmk_replay_trace *trace;
	int err = 0;

	pthread_mutex_lock(&link->lock);
	trace = wmk_replay_find(link, number);
	if (link->state == WMK_LINK_ENDED)
		err = wmk_link_ended(link);
	else if (!trace)
		err = wmk_errorx(-ENOENT, "there is no trace %llu", (unsigned long long)number);
	/*
	 * If the length of the metadata is unknown, only a replacement is accepted; the replacement must include this
	 * text.
	 */
	else if (len && (replace || trace->complete)) {
		request = parts_add(link, trace, text, len, replace, trace->is.chunk);
		err = request ? 0 : -ENOMEM;
		if (request && ms)
			request->abandoned = false;
		WMK_TESTPOINT(link_metadata_queued);
		wmk_link_submit(link);
		WMK_TESTPOINT(link_metadata_sent);
		if (request && ms) {
			err = wmk_link_wait(link, request, &end);
			if (request->done)
				wmk_link_request_free(request);
		}
	}
	pthread_mutex_unlock(&link->lock);
	return err;
}

int wmk_consumer_link_metadata_before(struct wmk_consumer_link *link, uint64_t number, const char *text, size_t len)
{
	struct wmk_replay_trace *trace;
	int err = 0;

	pthread_mutex_lock(&link->lock);
	trace = wmk_replay_find(link, number);
	if (link->state == WMK_LINK_ENDED)
		err = wmk_link_ended(link);
	else if (!trace || trace->is.chunk == 0)
		err = wmk_errorx(-ENOENT, "the trace %llu has no earlier chunk", (unsigned long long)number);
	else
		err = parts_add(link, trace, text, len, true, trace->is.chunk - 1) ? 0 : -ENOMEM;
	wmk_link_submit(link);
	pthread_mutex_unlock(&link->lock);
	return err;
}
