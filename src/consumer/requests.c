/* SPDX-License-Identifier: MIT */
/*
 * requests.c - requests of the session daemon: finds or creates traces and rings, and queues a work item for the
 * trace's thread. No function here waits.
 */
#include "consumer/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "consumer/connection.h"
#include "consumer/list_reply.h"
#include "consumer/output_work.h"
#include "consumer/outputs.h"
#include "consumer/report.h"
#include "consumer/senders.h"
#include "consumer/trace_work.h"
#include "consumer/traces.h"

/* ── work items ──────────────────────────────────────────────────────────────────────────────────────── */

/* Find the kernel channel that the work item copies, and keep the trace of this channel until the work item is done. */
static void hold_copied(struct wmk_server_work *work, int fd)
{
	work->copied = wmk_server_rings_of_instance(work->trace->server, fd, &work->copied_trace);
	if (!work->copied)
		return;
	work->copied->refs++;
	work->copied_trace->n_work++;
}

static void release_copied(struct wmk_server_work *work)
{
	wmk_server_rings_unref(work->copied);
	if (--work->copied_trace->n_work == 0 && work->copied_trace->removing)
		wmk_server_trace_free(work->copied_trace);
}

static void work_free(struct wmk_server_work *work)
{
	for (unsigned i = 0; i < work->n_rings; i++) {
		work->rings[i]->adding -= work->type == WMK_CONSUMERD_RINGS_ADD;
		wmk_server_rings_unref(work->rings[i]);
	}
	if (work->copied)
		release_copied(work);
	free(work->rings);
	free(work->stats);
	wmk_arena_free(&work->arena);
	free(work);
}

/* Collect the rings that the work item concerns. */
static int work_find_rings(struct wmk_server_work *work)
{
	struct wmk_server_rings *rings;

	work->rings = calloc(work->trace->n_rings + 1, sizeof(*work->rings));
	if (!work->rings)
		return -ENOMEM;
	for (rings = work->trace->rings; rings; rings = rings->next) {
		if (rings->removing || (work->target && rings->is.rings != work->target))
			continue;
		work->rings[work->n_rings++] = rings;
		rings->refs++;
		rings->adding += work->type == WMK_CONSUMERD_RINGS_ADD;
	}
	work->stats = calloc(work->n_rings + 1, sizeof(*work->stats));
	return work->stats ? 0 : -ENOMEM;
}

/* Copy the settings of a kernel channel: the events to add, the system calls, and the state dump. */
static int work_copy_kernel(struct wmk_server_work *work, const struct wmk_consumerd_rings *rings)
{
	struct wmk_consumerd_rings calls = { .syscall_ring_bytes = 0 };
	int err = wmk_consumerd_events_add(&work->events, &rings->events, &work->arena);

	if (err >= 0)
		err = wmk_consumerd_syscalls_set(&calls, rings, &work->arena);
	work->calls = calls.calls;
	work->syscall_ring_bytes = calls.syscall_ring_bytes;
	work->syscalls_narrowed = calls.syscalls_narrowed;
	work->syscall_pids = calls.syscall_pids;
	work->statedump = rings->statedump;
	return err;
}

/* Returns NULL with a cause chain if too many work items exist, or if no memory is available. */
static struct wmk_server_work *work_new(struct wmk_server_trace *trace, uint16_t type, uint64_t target,
				      uint64_t connection, uint32_t request)
{
	struct wmk_server_work *work;

	if (trace->server->n_work >= WMK_SERVER_WORK_MAX && connection) {
		wmk_error(-EAGAIN, "%u requests are in progress, which is the limit: try again later",
			  WMK_SERVER_WORK_MAX);
		return NULL;
	}
	work = calloc(1, sizeof(*work));
	if (!work) {
		wmk_error(-ENOMEM, "no memory for a request");
		return NULL;
	}
	work->trace = trace;
	work->type = type;
	work->target = target;
	work->connection = connection;
	work->request = request;
	return work;
}

/*
 * Queue the work item for the trace's thread. After an error, free the work item. `err`: result of its initialization.
 */
static int work_queue(struct wmk_server_work *work, int err)
{
	struct wmk_server_trace *trace = work->trace;

	if (err >= 0) {
		trace->n_work++;
		trace->server->n_work++;
		err = wmk_consumer_queue_work(trace->consumer, wmk_server_work_run, work);
		if (err >= 0)
			return 0;
		trace->n_work--;
		trace->server->n_work--;
	}
	work_free(work);
	return err == -E2BIG ? err : wmk_error(err, "no memory for a request");
}

/*
 * Queue a work item for the trace's thread. `is`: the rings to add, or the rings that receive more events. NULL: the
 * request describes no rings. 0 or -errno.
 */
static int queue_rings(struct wmk_server_trace *trace, uint16_t type, uint64_t target,
			  const struct wmk_consumerd_rings *is, uint64_t connection, uint32_t request)
{
	struct wmk_server_work *work = work_new(trace, type, target, connection, request);
	int err;

	if (!work)
		return wmk_error_number();
	err = work_find_rings(work);
	if (err >= 0 && is)
		err = work_copy_kernel(work, is);
	if (err >= 0 && is && is->kernel && is->copy)
		hold_copied(work, work->rings[0]->fd);
	return work_queue(work, err);
}

static int queue_metadata(struct wmk_server_trace *trace, const struct wmk_consumerd_metadata *is, uint32_t request)
{
	struct wmk_server_work *work = work_new(trace, WMK_CONSUMERD_METADATA, UINT64_MAX, trace->server->connections,
					     request);

	if (!work)
		return wmk_error_number();
	return work_queue(work, wmk_object_copy(&wmk_consumerd_metadata_object, is, &work->metadata, &work->arena));
}

static int queue_rotation(struct wmk_server_trace *trace, const struct wmk_consumerd_rotation *is, uint32_t request)
{
	struct wmk_server_work *work = work_new(trace, WMK_CONSUMERD_ROTATE, UINT64_MAX, trace->server->connections,
					     request);

	if (!work)
		return wmk_error_number();
	return work_queue(work, wmk_object_copy(&wmk_consumerd_rotation_object, is, &work->rotation, &work->arena));
}

static int queue_work(struct wmk_server_trace *trace, uint16_t type, uint64_t target, uint64_t connection,
		    uint32_t request)
{
	return queue_rings(trace, type, target, NULL, connection, request);
}

/* ── results ─────────────────────────────────────────────────────────────────────────────────────────── */

static void answer(struct wmk_server_work *work)
{
	/*
	 * The final counts include the records that could not be written. With options.keep, records that RINGS_REMOVE
	 * cannot write stay in their rings, except after -EDQUOT from max_size. If records stay in their rings,
	 * RINGS_REMOVE returns an error, and the session daemon can repeat the request.
	 */
	const bool kept = work->err < 0 && work->trace->server->options.keep &&
			  work->type == WMK_CONSUMERD_RINGS_REMOVE &&
			  !(work->err == -EDQUOT && work->trace->is.max_size);
	const bool counts_matter = work->type == WMK_CONSUMERD_STATS || work->type == WMK_CONSUMERD_RINGS_REMOVE ||
				   work->type == WMK_CONSUMERD_TRACE_REMOVE || work->type == WMK_CONSUMERD_STOP;

	if (counts_matter && !kept && (work->err == 0 || work->trace->out))
		wmk_server_report(work);
	else if (work->err < 0)
		wmk_server_refuse(work->trace->server, work->connection, work->request, work->err, work->words);
	else
		wmk_server_reply_done(work->trace->server, work->connection, work->request);
}

/*
 * Store the number of the open chunk and the name of the closed chunk. The reply to LIST contains the number and the
 * name.
 */
static void rotated(const struct wmk_server_work *work)
{
	struct wmk_server_trace *trace = work->trace;
	const char *closed = wmk_arena_text(&trace->arena, work->rotation.closed);

	if (work->rotation.chunk <= trace->is.chunk || !closed)
		return;
	trace->is.chunk = work->rotation.chunk;
	trace->is.closed = closed;
}

void wmk_server_work_done(struct wmk_server_work *work)
{
	struct wmk_server_trace *trace = work->trace;
	struct wmk_consumer_server *server = trace->server;

	if (work->err < 0 && !work->connection)
		wmk_server_log(server, "%s: %s", trace->is.path, work->words);
	if (work->type == WMK_CONSUMERD_ROTATE && work->err == 0)
		rotated(work);
	if (work->type == WMK_CONSUMERD_CLEAR && work->err == 0) {
		trace->is.gone.n = 0;
		wmk_server_output_cleared(trace);
	}
	answer(work);
	if (work->type == WMK_CONSUMERD_RINGS_REMOVE) {
		for (unsigned i = 0; i < work->n_rings; i++) {
			wmk_server_report_add(&trace->is.gone, work->rings[i]->is.channel, &work->stats[i],
					      &trace->arena);
			wmk_server_rings_unlink(trace, work->rings[i]);
		}
	}
	/*
	 * Rings that could not be added are removed from the list. Rings with streams stay in the list if only the
	 * events could not be added. Rings that another work item adds or removes also stay in the list.
	 */
	if (work->type == WMK_CONSUMERD_RINGS_ADD && work->err < 0 && work->rings[0]->adding == 1 &&
	    !work->rings[0]->removing && !trace->removing && !wmk_server_rings_from(work->rings[0]))
		wmk_server_rings_unlink(trace, work->rings[0]);
	if (work->type == WMK_CONSUMERD_RINGS_ADD && work->err == 0 && work->statedump > work->rings[0]->is.statedump)
		work->rings[0]->is.statedump = work->statedump;
	if (work->type == WMK_CONSUMERD_RINGS_ADD && work->err == 0 &&
	    wmk_consumerd_events_add(&work->rings[0]->is.events, &work->events, &work->rings[0]->arena) < 0)
		wmk_error_clear();       /* the next session daemon sends them again */
	if (work->type == WMK_CONSUMERD_TRACE_REMOVE || (work->type == WMK_CONSUMERD_TRACE_ADD && work->err < 0))
		trace->removing = true;
	work_free(work);
	server->n_work--;
	if (--trace->n_work == 0 && trace->removing)
		wmk_server_trace_free(trace);
}

void wmk_server_end(struct wmk_consumer_server *server)
{
	struct wmk_server_trace *trace, *next;

	server->ending = true;
	for (trace = server->traces; trace; trace = next) {
		next = trace->next;
		if (trace->removing)
			continue;
		trace->removing = true;
		/*
		 * If no memory is available for a work item, wmk_server_trace_free() closes the consumer, which writes
		 * all records as well.
		 */
		if (queue_work(trace, WMK_CONSUMERD_TRACE_REMOVE, 0, 0, 0) < 0 && trace->n_work == 0)
			wmk_server_trace_free(trace);
	}
}

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

static bool same_trace(const struct wmk_consumerd_trace *a, const struct wmk_consumerd_trace *b)
{
	return strcmp(a->path, b->path) == 0 && strcmp(a->sub, b->sub) == 0 && a->uid == b->uid && a->gid == b->gid &&
	       memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0;
}

/* True if the path `sub` stays below the directory of the trace. */
static bool is_beneath(const char *sub)
{
	size_t len;

	if (!sub[0] || sub[0] == '/')
		return false;
	for (; *sub; sub += len + (sub[len] == '/')) {
		len = strcspn(sub, "/");
		if ((len == 1 && sub[0] == '.') || (len == 2 && sub[0] == '.' && sub[1] == '.'))
			return false;
	}
	return true;
}

static unsigned traces_of_user(const struct wmk_consumer_server *server, uint64_t uid)
{
	unsigned n = 0;

	for (const struct wmk_server_trace *trace = server->traces; trace; trace = trace->next)
		n += trace->is.uid == uid;
	return n;
}

static int check_trace(const struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is)
{
	const unsigned max = server->options.max_user_traces ? server->options.max_user_traces : WMK_SERVER_USER_TRACES;

	if (!is->trace || is->path[0] != '/' || !is_beneath(is->sub))
		return wmk_error(-EINVAL,
				 "invalid trace: the number must not be 0, the path must be absolute, and the sub-path "
				 "must be below the path");
	if (is->uid >= UINT32_MAX || is->gid >= UINT32_MAX)
		return wmk_error(-EINVAL, "user %llu or group %llu: above the limit of 4294967294",
				 (unsigned long long)is->uid, (unsigned long long)is->gid);
	if (is->uid != geteuid() && geteuid() != 0)
		return wmk_error(-EPERM, "user %u cannot write a trace of user %llu", (unsigned)geteuid(),
				 (unsigned long long)is->uid);
	if (is->mode > WMK_CONSUMERD_TRACE_UNSURE)
		return wmk_error(-EINVAL, "unknown trace mode %u", is->mode);
	if (server->n_traces >= WMK_SERVER_TRACES_MAX)
		return wmk_error(-ENOSPC, "%u traces are open, which is the limit of a consumer daemon",
				 WMK_SERVER_TRACES_MAX);
	if (is->uid != 0 && traces_of_user(server, is->uid) >= max)
		return wmk_error(-ENOSPC, "user %llu has %u traces open, which is the limit of one user",
				 (unsigned long long)is->uid, max);
	return 0;
}

static int add_trace(struct wmk_consumer_server *server, uint32_t request, const struct wmk_consumerd_trace *is, int fd)
{
	struct wmk_server_trace *trace = wmk_server_trace_find(server, is->trace);
	int err;

	if (trace && (trace->removing || !same_trace(&trace->is, is)))
		return wmk_error(trace->removing ? -EBUSY : -EEXIST, "trace number %llu is in use by another trace",
				 (unsigned long long)is->trace);
	if (trace)
		return queue_work(trace, WMK_CONSUMERD_TRACE_ADD, UINT64_MAX, server->connections, request);
	err = check_trace(server, is);
	if (err < 0)
		return err;
	trace = wmk_server_trace_new(server, is, fd);
	if (!trace)
		return wmk_error_number();
	err = queue_work(trace, WMK_CONSUMERD_TRACE_ADD, UINT64_MAX, server->connections, request);
	if (err < 0)
		wmk_server_trace_free(trace);
	return err;
}

static bool same_rings(const struct wmk_consumerd_rings *a, const struct wmk_consumerd_rings *b)
{
	return strcmp(a->channel, b->channel) == 0 && a->stream_id == b->stream_id && a->kernel == b->kernel &&
	       memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0;
}

static int add_rings(struct wmk_consumer_server *server, uint32_t request, const struct wmk_consumerd_rings *is, int fd)
{
	struct wmk_server_trace *trace = wmk_server_trace_find(server, is->trace);
	struct wmk_server_rings *rings;
	int err;

	if (!is->rings || !is->channel[0] || is->channel[0] == '.' || strchr(is->channel, '/'))
		return wmk_error(-EINVAL, "invalid ring set: the number must not be 0, and the channel must have a "
					  "valid name");
	if (fd < 0)
		return wmk_error(-EBADF, "channel %.60s: the request has no descriptor of a ring set", is->channel);
#ifndef WMK_PLANTED_BUG                          /* a planted bug that the fuzzer must find */
	if (!trace || trace->removing)
		return wmk_error(-ENOENT, "there is no trace %llu", (unsigned long long)is->trace);
#endif
	if (trace->n_rings >= WMK_SERVER_RINGS_MAX)
		return wmk_error(-ENOSPC, "the trace has %u ring sets, which is the limit", WMK_SERVER_RINGS_MAX);
	rings = wmk_server_rings_find(trace, is->rings);
	if (rings && !same_rings(&rings->is, is))
		return wmk_error(-EEXIST, "the number %llu already belongs to another ring set of the trace",
				 (unsigned long long)is->rings);
	if (rings)
		return queue_rings(trace, WMK_CONSUMERD_RINGS_ADD, is->rings, is, server->connections, request);
	err = wmk_server_rings_new(trace, is, fd, &rings);
	if (err < 0)
		return err;
	err = queue_rings(trace, WMK_CONSUMERD_RINGS_ADD, is->rings, is, server->connections, request);
	if (err < 0)
		wmk_server_rings_unlink(trace, rings);
	return err;
}

/* A target that does not exist counts as already removed. */
static int remove_target(struct wmk_consumer_server *server, uint16_t type, uint32_t request,
		       const struct wmk_consumerd_target *target)
{
	static const struct wmk_consumerd_report nothing;
	struct wmk_server_trace *trace = wmk_server_trace_find(server, target->trace);
	struct wmk_server_rings *rings = NULL;
	int err;

	if (trace && trace->removing)
		trace = NULL;
	if (trace && type == WMK_CONSUMERD_RINGS_REMOVE)
		rings = wmk_server_rings_find(trace, target->rings);
	if (!trace || (type == WMK_CONSUMERD_RINGS_REMOVE && !rings)) {
		wmk_server_reply(server, server->connections, request, &wmk_consumerd_report_object, &nothing);
		return 0;
	}
	err = queue_work(trace, type, rings ? target->rings : 0, server->connections, request);
	if (err < 0)
		return err;
	if (rings)
		rings->removing = true;
	else
		trace->removing = true;
	return 0;
}

/* ── all requests ────────────────────────────────────────────────────────────────────────────────────── */

static int wake_traces(struct wmk_consumer_server *server, uint64_t number)
{
	for (struct wmk_server_trace *trace = server->traces; trace; trace = trace->next)
		if (!number || trace->is.trace == number)
			wmk_consumer_wake(trace->consumer);
	return 1;
}

/* Returns NULL with a cause chain if the trace does not exist, or if `rings` are not rings of the trace. */
static struct wmk_server_trace *target_find(struct wmk_consumer_server *server, uint64_t number, uint64_t rings)
{
	struct wmk_server_trace *trace = wmk_server_trace_find(server, number);

	if (!trace || trace->removing)
		wmk_error(-ENOENT, "there is no trace %llu", (unsigned long long)number);
	else if (rings && !wmk_server_rings_find(trace, rings))
		wmk_error(-ENOENT, "there are no rings %llu", (unsigned long long)rings);
	else
		return trace;
	return NULL;
}

static int reclaim(struct wmk_consumer_server *server, uint32_t request, const struct wmk_consumerd_reclaim *is)
{
	struct wmk_server_trace *trace = target_find(server, is->trace, is->rings);
	struct wmk_server_work *work =
		trace ? work_new(trace, WMK_CONSUMERD_RECLAIM, is->rings, server->connections, request) : NULL;

	if (!work)
		return wmk_error_number();
	work->idle_ns = is->idle_ns;
	return work_queue(work, work_find_rings(work));
}

static int on_trace(struct wmk_consumer_server *server, const struct wmk_frame *frame,
		    const struct wmk_consumerd_target *target)
{
	struct wmk_server_trace *trace = target_find(server, target->trace, target->rings);

	if (!trace)
		return wmk_error_number();
	return queue_work(trace, frame->type, frame->type == WMK_CONSUMERD_CLEAR ? 0 : target->rings,
			  server->connections, frame->request);
}

static int add_metadata(struct wmk_consumer_server *server, uint32_t request, const struct wmk_consumerd_metadata *is)
{
	struct wmk_server_trace *trace = wmk_server_trace_find(server, is->trace);

	if (!trace || trace->removing)
		return wmk_error(-ENOENT, "there is no trace %llu", (unsigned long long)is->trace);
	return queue_metadata(trace, is, request);
}

static int rotate(struct wmk_consumer_server *server, uint32_t request, const struct wmk_consumerd_rotation *is)
{
	struct wmk_server_trace *trace = wmk_server_trace_find(server, is->trace);

	if (!trace || trace->removing)
		return wmk_error(-ENOENT, "there is no trace %llu", (unsigned long long)is->trace);
	if (!is->closed[0] || is->closed[0] == '.' || strchr(is->closed, '/'))
		return wmk_error(-EINVAL, "'%.240s' is not the name of a trace chunk", is->closed);
	return queue_rotation(trace, is, request);
}

static int shutdown_all(struct wmk_consumer_server *server, uint32_t request)
{
	server->shutdown_request = request;
	server->shutdown_connection = server->connections;
	wmk_server_end(server);
	return 0;
}

/* 0: the request is answered, now or later; 1: the caller sends the reply that it is done; -errno. */
static int dispatch(struct wmk_consumer_server *server, const struct wmk_frame *frame, const void *object, int fd)
{
	if (server->ending)
		return wmk_error(-ESHUTDOWN, "waymark-consumerd is shutting down");
	switch (frame->type) {
	case WMK_CONSUMERD_TRACE_ADD:
		return add_trace(server, frame->request, object, fd);
	case WMK_CONSUMERD_RINGS_ADD:
		return add_rings(server, frame->request, object, fd);
	case WMK_CONSUMERD_TRACE_REMOVE:
	case WMK_CONSUMERD_RINGS_REMOVE:
		return remove_target(server, frame->type, frame->request, object);
	case WMK_CONSUMERD_METADATA:
		return add_metadata(server, frame->request, object);
	case WMK_CONSUMERD_OUTPUT_CHECK:
	case WMK_CONSUMERD_LIST_LEFT:
	case WMK_CONSUMERD_REMOVE_LEFT:
	case WMK_CONSUMERD_ARCHIVE_LEFT:
	case WMK_CONSUMERD_ARCHIVE_END:
	case WMK_CONSUMERD_OUTPUT_END:
		return wmk_server_output_work_start(server, frame->type, frame->request, object);
	case WMK_CONSUMERD_ROTATE:
		return rotate(server, frame->request, object);
	case WMK_CONSUMERD_RECLAIM:
		return reclaim(server, frame->request, object);
	case WMK_CONSUMERD_WAKE:
		return wake_traces(server, ((const struct wmk_consumerd_target *)object)->trace);
	case WMK_CONSUMERD_SENDERS:
		return wmk_server_senders_list(server, frame->request);
	case WMK_CONSUMERD_LIST:
		return wmk_server_list(server, frame->request);
	case WMK_CONSUMERD_SHUTDOWN:
		return shutdown_all(server, frame->request);
	default:
		return on_trace(server, frame, object);
	}
}

void wmk_server_request(struct wmk_consumer_server *server, const struct wmk_frame *frame, const void *body, size_t len,
			int fd)
{
	const struct wmk_request_type *type = wmk_consumerd_request_find(frame->type);
	union {
		struct wmk_consumerd_trace trace;
		struct wmk_consumerd_rings rings;
		struct wmk_consumerd_metadata metadata;
		struct wmk_consumerd_rotation rotation;
		struct wmk_consumerd_reclaim reclaim;
		struct wmk_consumerd_target target;
		struct wmk_consumerd_output output;
		struct wmk_empty nothing;
	} object;
	struct wmk_arena arena = { 0 };
	char words[512];
	int err;

	wmk_error_clear();
	err = type ? wmk_object_decode(type->request, body, len, &object, &arena) :
		   wmk_error(-EOPNOTSUPP, "unknown request of type %u", frame->type);
	if (err >= 0)
		err = dispatch(server, frame, &object, fd);
	if (err == 1)
		wmk_server_reply_done(server, server->connections, frame->request);
	if (err < 0) {
		wmk_error_text(words, sizeof(words));
		wmk_server_refuse(server, server->connections, frame->request, err, words);
		wmk_error_clear();
	}
	wmk_arena_free(&arena);
}
