/* SPDX-License-Identifier: MIT */
/*
 * rings.c - traces, rings and event ids of a session's channels, for each owner of buffers.
 *
 *     session ── traces: one for each user (or process) ── metadata: trace, stream classes, event classes in order
 *             └─ rings: channel × owner ── ids[class]
 *
 * All functions and data are protected by the session's lock, except the reference counts. A failure is reported once
 * (wmk_session_report()). The next application that has something to record in the failed trace or rings tries again.
 */
#include "session/model/rings.h"

#include "base/error.h"
#include "consumer/consumer.h"
#include "ctf/writer.h"
#include "ring/file.h"
#include "ring/set.h"
#include "session/model/class_table.h"
#include "session/model/quota.h"
#include "session/model/regenerate.h"
#include "session/model/ring_layout.h"
#include "session/model/rotation_settings.h"
#include "session/model/session_clock.h"
#include "session/model/session_report.h"
#include "session/model/shm_path.h"
#include "session/model/trace_text.h"

#include <errno.h>
#include <inttypes.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* This much memory is allocated before an application starts; the rest is allocated when a CPU first records. */
#define PREFAULT_MAX (64ull << 20)
#define SAME_SECOND_IN_ORDER 8u      /* suffixes of directories: 2 to 8, then numbers that are unique in this daemon */
#define SAME_SECOND_MAX 1000u

/* Return the innermost error number of the chain, or -ENOMEM if there was no memory for a chain. */
static int real_error(void)
{
	int err = wmk_error_number();

	return err < 0 ? err : -ENOMEM;
}

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

static int append(struct trace *trace, struct wmk_session *session, struct wmk_ctf_text_buffer *text, int err)
{
	if (err >= 0)
		err = session->tracing->options.consumer->metadata(trace->output, text->text, text->len);
	wmk_ctf_text_free(text);
	return err < 0 ? err : 0;
}

/* Make a directory name from the name of a process, which the process chooses. */
static void plain_name(const char *name, char *to, size_t size)
{
	snprintf(to, size, "%s", name && *name ? name : "process");
	for (char *c = to; *c; c++)
		if (*c == '/' || *c <= ' ' || *c > '~')
			*c = '_';
	if (to[0] == '.')
		to[0] = '_';
}

static void trace_place(struct trace *trace, const struct wmk_session *session, const char *name)
{
	char when[32], plain[WMK_WIRE_NAME_MAX + 1];
	time_t now = time(NULL);
	struct tm tm;

	(void)session;
	if (trace->kernel) {
		snprintf(trace->sub, sizeof(trace->sub), WMK_SUB_KERNEL);
		return;
	}
	if (!trace->pid) {
		snprintf(trace->sub, sizeof(trace->sub), "ust/uid/%u/64-bit", (unsigned)trace->uid);
		return;
	}
	plain_name(name, plain, sizeof(plain));
	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	snprintf(trace->sub, sizeof(trace->sub), "ust/pid/%s-%d-%s/64-bit", plain, (int)trace->pid, when);
}

int wmk_trace_open_here(struct wmk_session *session, struct trace *trace, bool restored)
{
	struct wmk_trace_info info = { .session = session->name,
				       .path = session->path,
				       .sub = trace->sub,
				       .uid = session->uid,
				       .gid = session->gid,
				       .max_size = *session->settings.url ? session->settings.spool_size
									  : session->settings.max_size,
				       .url = session->settings.url,
				       .trace_format = session->settings.trace_format,
				       .chunk = session->chunk.number,
				       .closed = session->chunk.closed,
				       .kernel = trace->kernel,
				       .unwritten = session->settings.snapshot,
				       .chunk_max = wmk_settings_chunk_max(&session->settings),
				       .restored = restored };

	memcpy(info.uuid, trace->uuid, sizeof(info.uuid));
	return session->tracing->options.consumer->trace_open(session->tracing->options.consumer_data, &info,
							      &trace->output);
}

/*
 * A process that calls exec() several times a second needs a new directory each time. A number after the date makes the
 * name of the directory unique. The function tries the first few numbers in ascending order. If all names with the
 * first numbers exist, further numbers come from the counter of ring ids of this session daemon.
 */
static int trace_open(struct wmk_session *session, struct trace *trace)
{
	const size_t len = strlen(trace->sub) - strlen("/64-bit");
	int err = wmk_trace_open_here(session, trace, false);

	for (unsigned n = 2; err == -EEXIST && trace->pid && n <= SAME_SECOND_MAX; n++) {
		uint64_t number = n;

		if (n > SAME_SECOND_IN_ORDER)
			number = atomic_fetch_add_explicit(&session->tracing->rings_made, 1, memory_order_relaxed);

		snprintf(trace->sub + len, sizeof(trace->sub) - len, "-%" PRIu64 "/64-bit", number);
		err = wmk_trace_open_here(session, trace, false);
	}
	return err;
}

int wmk_trace_ensure_open(struct trace *trace)
{
	if (trace->output)
		return 0;
	int err = wmk_trace_open_here(trace->session, trace, true);

	if (err < 0) {
		trace->output = NULL;
		return err;
	}
	/* While a session is restored, its ids are still unknown; the metadata is written at the end of the restore. */
	if (!trace->session->tracing->restoring && trace->session->tracing->options.consumer->metadata_replace &&
	    wmk_trace_restore_metadata(trace) < 0)
		wmk_error_clear();
	return 0;
}

/* The owner of the new trace is copied from `is`. */
static struct trace *trace_make(struct wmk_session *session, const struct trace *is, const char *name)
{
	const struct wmk_consumer_port_ops *consumer = session->tracing->options.consumer;
	struct trace *trace = malloc(sizeof(*trace));
	struct wmk_ctf_text_buffer text = { 0 };

	if (!trace) {
		wmk_error(-ENOMEM, "no memory for a trace");
		return NULL;
	}
	*trace = *is;
	trace->session = session;
	trace_place(trace, session, name);
	int err = wmk_trace_uuid_make(trace->uuid);

	if (err == 0)
		err = trace_open(session, trace);
	if (err == 0) {
		err = append(trace, session, &text, wmk_trace_chunk_text(trace, session, &session->chunk, &text));
		if (err < 0)
			consumer->trace_close(trace->output);
	}
	if (err < 0) {
		free(trace);
		return NULL;
	}
	trace->next = session->traces;
	session->traces = trace;
	return trace;
}

static struct trace *trace_get(struct wmk_session *session, uid_t uid, pid_t pid, uint64_t start_time, const char *name)
{
	for (struct trace *trace = session->traces; trace; trace = trace->next) {
		if (trace->ended || trace->kernel || trace->uid != uid || trace->pid != pid ||
		    trace->start_time != start_time)
			continue;
		/* A restored trace of a process that has not reattached stays unchanged. */
		if (!pid || trace->output)
			return wmk_trace_ensure_open(trace) == 0 ? trace : NULL;
	}
	return trace_make(session, &(struct trace){ .uid = uid, .pid = pid, .start_time = start_time }, name);
}

struct trace *wmk_trace_of_kernel(struct wmk_session *session)
{
	for (struct trace *trace = session->traces; trace; trace = trace->next)
		if (trace->kernel)
			return wmk_trace_ensure_open(trace) == 0 ? trace : NULL;
	return trace_make(session, &(struct trace){ .uid = session->uid, .kernel = true }, NULL);
}

int wmk_rings_declare_stream(const struct rings *rings)
{
	struct trace *trace = rings->trace;
	struct wmk_ctf_text_buffer text = { 0 };
	const bool first = rings->stream_id < WMK_CHANNEL_STREAMS;

	if (first && trace->declared & 1ull << rings->stream_id)
		return 0;
	int err = append(trace, rings->session, &text, wmk_rings_text(rings, &text));

	if (err == 0 && first)
		trace->declared |= 1ull << rings->stream_id;
	/*
	 * The metadata now has the contexts of this stream class. The contexts can therefore not change, even if
	 * creating the rings fails.
	 */
	if (err == 0)
		rings->channel->laid_out = true;
	return err;
}

/* ── rings ───────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t prefault_of(const struct wmk_session_channel *channel)
{
	switch (channel->is.settings.preallocation) {
	case WMK_PREALLOCATE_ALL: return WAYMARK_RING_PREFAULT_ALL;
	case WMK_PREALLOCATE_ON_DEMAND: return 0;
	default: return channel->own ? 0 : PREFAULT_MAX;
	}
}

void wmk_rings_geometry(const struct rings *rings, struct waymark_ring_options *ring)
{
	const struct wmk_ctl_channel *is = &rings->channel->is;

	*ring = (struct waymark_ring_options){
		.size = sizeof(*ring),
		.subbuf_size = (uint32_t)is->settings.subbuf_size,
		.n_subbufs = (uint32_t)is->settings.n_subbufs,
		.header_room = wmk_consumer_header_room((uint32_t)is->settings.subbuf_size),
		.mode = is->settings.mode == WMK_MODE_OVERWRITE ? WAYMARK_RING_OVERWRITE : WAYMARK_RING_DISCARD,
		.clock = (uint32_t)rings->session->clock,
		.block_us = is->settings.mode == WMK_MODE_OVERWRITE ? 0 : is->settings.blocking_us,
		.prefault = prefault_of(rings->channel),
		.poll_us = (uint32_t)is->settings.poll_us,
		.allocation = is->settings.allocation == WMK_PER_CHANNEL ? WAYMARK_RING_PER_SET : WAYMARK_RING_PER_CPU,
	};
}

int wmk_rings_uuid(struct rings *rings)
{
	return wmk_trace_uuid_make(rings->uuid);
}

/* Create the set in memory, or in a file if the session has a shm directory and the daemon's own user records. */
static int set_create(struct rings *rings, const struct waymark_ring_options *ring)
{
	if (rings->session->shm < 0 || rings->trace->uid != geteuid())
		return waymark_ring_set_create(ring, &rings->set);
	int fd = wmk_shm_file_make(rings->session->shm, rings->id);
	int err = fd < 0 ? fd : wmk_ring_set_create_in(ring, fd, &rings->set);

	if (err < 0 && fd >= 0)
		wmk_shm_file_remove(rings->session->shm, rings->id);
	return err;
}

static int make_set(struct rings *rings)
{
	struct waymark_ring_options ring;
	struct stat st;

	wmk_rings_geometry(rings, &ring);
	int err = wmk_rings_uuid(rings);

	memcpy(ring.uuid, rings->uuid, sizeof(ring.uuid));
	if (err == 0)
		err = set_create(rings, &ring);
	if (err == 0 && fstat(waymark_ring_set_fd(rings->set), &st) != 0)
		err = -errno;
	if (err < 0)
		return wmk_error(err, "cannot create ring buffers of %u x %u bytes for each CPU: %s", ring.n_subbufs,
				 ring.subbuf_size, strerror(-err));
	rings->inode = st.st_ino;
	wmk_ring_set_plugin_clock(rings->set, rings->session->tracing->clocks.plugin_now);
	return 0;
}

int wmk_rings_open_here(struct rings *rings, bool restored)
{
	const struct wmk_session_channel *channel = rings->channel;
	const struct wmk_tracing *tracing = rings->session->tracing;
	char name[WMK_RINGS_NAME];
	const struct wmk_rings_info info = {
		.id = rings->id,
		.channel = name,
		.stream_id = rings->stream_id,
		.options = &channel->is,
		.start_ts = wmk_session_now(rings->session),
		.restored = restored,
	};

	wmk_rings_name(channel, rings->stream_id, name);
	return tracing->options.consumer->rings_open(rings->trace->output, &info, rings->set, &rings->output);
}

static int rings_open(struct rings *rings)
{
	struct wmk_tracing *tracing = rings->session->tracing;

	/* relaxed: ids only have to be unique */
	rings->id = atomic_fetch_add_explicit(&tracing->rings_made, 1, memory_order_relaxed) + 1;
	int err = make_set(rings);
	if (err < 0)
		return err;
	err = wmk_rings_declare_stream(rings);
	if (err == 0)
		err = wmk_rings_open_here(rings, false);
	if (err < 0)
		wmk_rings_file_remove(rings);
	return err;
}

void wmk_rings_file_remove(const struct rings *rings)
{
	if (rings->session->shm >= 0 && !rings->trace->kernel)
		wmk_shm_file_remove(rings->session->shm, rings->id);
}

struct rings *wmk_rings_alloc(struct wmk_session_channel *channel, struct trace *trace, uint32_t stream_id)
{
	struct rings *rings = calloc(1, sizeof(*rings));

	if (!rings) {
		wmk_error(-ENOMEM, "no memory for the rings of a channel");
		return NULL;
	}
	atomic_init(&rings->refs, 1);
	rings->session = channel->session;
	rings->trace = trace;
	rings->channel = channel;
	rings->stream_id = stream_id;
	rings->field_limit = (uint32_t)channel->is.settings.field_limit;
	rings->n_contexts = channel->n_contexts;
	memcpy(rings->contexts, channel->contexts, sizeof(rings->contexts));
	rings->private = trace->pid != 0 || (channel->is.domain.kind != WMK_DOMAIN_USER && !channel->is.domain.follow);
	wmk_session_hold(rings->session);
	return rings;
}

void wmk_rings_link(struct rings **list, struct rings *rings)
{
	rings->channel->laid_out = true;
	rings->next = *list;
	*list = rings;
}

static struct rings *rings_make(struct wmk_session_channel *channel, struct trace *trace)
{
	struct rings *rings = wmk_rings_alloc(channel, trace, wmk_rings_stream_new(channel, trace));

	if (!rings)
		return NULL;
	if (rings_open(rings) < 0) {
		if (rings->stream_id > channel->spent_stream)
			channel->spent_stream = rings->stream_id;
		wmk_rings_put(rings);
		return NULL;
	}
	wmk_rings_link(&rings->session->rings, rings);
	return rings;
}

bool wmk_trace_awaited(const struct trace *trace)
{
	const struct rings *rings = trace->session->awaited;

	while (rings && rings->trace != trace)
		rings = rings->next;
	return rings != NULL;
}

/* Remove a process's trace that has no rings: the end of the process would not close this trace. */
static void trace_unmake(struct wmk_session *session, struct trace *trace)
{
	struct trace **at = &session->traces;

	for (const struct rings *rings = session->rings; rings; rings = rings->next)
		if (rings->trace == trace)
			return;
	if (wmk_trace_awaited(trace))
		return;
	while (*at != trace)
		at = &(*at)->next;
	*at = trace->next;
	session->tracing->options.consumer->trace_close(trace->output);
	free(trace);
}

static struct rings *rings_get(struct wmk_session_channel *channel, uid_t uid, pid_t pid, uint64_t start_time,
			       const char *name)
{
	struct wmk_session *session = channel->session;
	struct rings *rings;

	for (rings = session->rings; rings; rings = rings->next)
		if (rings->channel == channel && wmk_rings_current(rings) && !rings->trace->ended &&
		    rings->trace->uid == uid && rings->trace->pid == pid && rings->trace->start_time == start_time)
			return rings;
	const uint64_t bytes = wmk_rings_bytes(&channel->is);
	/* charge the quota first, so that no directory is created if the quota is exceeded */
	bool room = wmk_quota_rings_charge(session->tracing, session->uid, bytes, false) == 0;
	struct trace *trace = room ? trace_get(session, uid, pid, start_time, name) : NULL;

	rings = trace ? rings_make(channel, trace) : NULL;
	if (rings)
		rings->bytes = bytes;
	else
		wmk_session_report(session, real_error(), NULL);
	if (room && !rings)
		wmk_quota_rings_uncharge(session->tracing, session->uid, bytes);
	if (trace && !rings && pid)
		trace_unmake(session, trace);
	return rings;
}

struct rings *wmk_rings_for(struct wmk_session_channel *channel, const struct app_key *app)
{
	bool own = channel->is.settings.buffers == WMK_BUFFERS_PID;

	return rings_get(channel, app->uid, own ? app->pid : 0, own ? app->start_time : 0, app->name);
}

struct rings *wmk_rings_of_user(struct wmk_session_channel *channel, uid_t uid)
{
	return rings_get(channel, uid, 0, 0, NULL);
}

void wmk_rings_user(const struct rings *rings, const struct app_key *app)
{
	const struct wmk_consumer_port_ops *consumer = rings->session->tracing->options.consumer;

	if (consumer->rings_user && rings->output && !rings->closed)
		consumer->rings_user(rings->output, app->uid, app->name, app->pid);
}

void wmk_rings_get(struct rings *rings)
{
	atomic_fetch_add_explicit(&rings->refs, 1, memory_order_relaxed);
}

void wmk_rings_put(struct rings *rings)
{
	/* (S1) */
	if (!rings || atomic_fetch_sub_explicit(&rings->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (rings->set)
		waymark_ring_set_close(rings->set);
	if (rings->kernel)
		rings->kernel_free(rings);
	if (rings->bytes)
		wmk_quota_rings_uncharge(rings->session->tracing, rings->session->uid, rings->bytes);
	free(rings->ids);
	wmk_session_put(rings->session);
	free(rings);
}

/* ── ids ─────────────────────────────────────────────────────────────────────────────────────────────── */

static int ids_room(struct rings *rings, uint32_t kin)
{
	uint32_t n = rings->n_ids ? rings->n_ids : 64, *ids;

	while (n <= kin)
		n *= 2;
	if (n == rings->n_ids)
		return 0;
	ids = realloc(rings->ids, n * sizeof(*ids));
	if (!ids)
		return wmk_error(-ENOMEM, "no memory for the ids of events");
	memset(ids + rings->n_ids, 0xff, (n - rings->n_ids) * sizeof(*ids));
	rings->ids = ids;
	rings->n_ids = n;
	return 0;
}

int wmk_rings_id_restore(struct rings *rings, const struct class *class, uint32_t id)
{
	int err =
		id < CLASSES_MAX ? ids_room(rings, class->kin) : wmk_error(-EINVAL, "event id %u is out of range", id);

	if (err < 0)
		return err;
	rings->ids[class->kin] = id;
	if (id >= rings->next_id)
		rings->next_id = id + 1;
	return 0;
}

/* Assign ids to the classes that have no id, and append their declarations to `text`. *next: the first unused id. */
static int ids_give(struct rings *rings, struct class *const *classes, uint32_t n, struct wmk_ctf_text_buffer *text,
		    uint32_t *next)
{
	const struct wmk_tracing_options *o = &rings->session->tracing->options;
	int err = 0;

	for (uint32_t i = 0; i < n && err == 0; i++) {
		const struct class *class = classes[i];

		err = ids_room(rings, class->kin);
		if (err < 0 || wmk_rings_has_id(rings, class))
			continue;
		/* the state file has the id before any application uses it */
		if (o->on_id)
			err = o->on_id(o->data, rings->session, rings->id, *next, class->event);
		if (err == 0)
			err = wmk_ctf_event_text(text, wmk_session_version(rings->session), rings->stream_id, *next,
						 class->event);
		if (err == 0)
			rings->ids[class->kin] = (*next)++;
	}
	return err;
}

int wmk_rings_declare(struct rings *rings, struct class *const *classes, uint32_t n)
{
	struct wmk_ctf_text_buffer text = { 0 };
	uint32_t next = rings->next_id;
	int err = ids_give(rings, classes, n, &text, &next);

	if (next == rings->next_id)
		wmk_ctf_text_free(&text);
	else
		err = append(rings->trace, rings->session, &text, err);
	for (uint32_t i = 0; err < 0 && i < n; i++)
		if (wmk_rings_has_id(rings, classes[i]) && rings->ids[classes[i]->kin] >= rings->next_id)
			rings->ids[classes[i]->kin] = NO_ID;
	if (err < 0)
		return err;
	if (!rings->channel->own)
		atomic_fetch_add_explicit(&rings->session->tracing->classes_enabled, next - rings->next_id,
					  memory_order_relaxed);
	rings->next_id = next;
	return 0;
}

uint32_t wmk_rings_id(struct rings *rings, struct class *class)
{
	char what[600];
	int err = wmk_rings_has_id(rings, class) ? 0 : wmk_rings_declare(rings, &class, 1);

	if (err == 0)
		return rings->ids[class->kin];
	snprintf(what, sizeof(what), "%s is not recorded", class->full);
	wmk_session_report(rings->session, err, what);
	return NO_ID;
}
