/* SPDX-License-Identifier: MIT */
/* snapshot.c - record snapshots of a session (see session/snapshot.h). */
#include "session/snapshot.h"

#include "base/error.h"
#include "ring/set.h"
#include "session/kernel/kernel_send.h"
#include "session/model/name_check.h"
#include "session/model/regenerate.h"
#include "session/model/ring_layout.h"
#include "session/model/rings.h"
#include "session/model/session_clock.h"
#include "session/model/trace_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAME_NAME_MAX 1000u        /* numbers that are tried for a directory that exists */
#define DEFAULT_NAME "snapshot"

/* A copy of a ring set. */
struct snapshot_rings {
	struct snapshot_rings *next;
	struct rings *of;                /* holds a reference */
	char name[WMK_RINGS_NAME];
	void *output;                    /* NULL: not copied yet, or the copy failed */
};

/*
 * A trace of the snapshot. The session's trace may end during the snapshot, so this structure copies the values of that
 * trace.
 */
struct snapshot_trace {
	struct snapshot_trace *next;
	const struct trace *of;          /* only to find the session's trace in the list of the session */
	struct trace is;
	struct wmk_trace_as as;
	struct wmk_ctf_text_buffer body; /* the latest known classes */
	struct snapshot_rings *rings;
	struct wmk_counts counts;
	void *output;                    /* NULL: not open */
};

struct wmk_snapshot {
	struct wmk_session *session;     /* holds a reference */
	struct snapshot_trace *traces;
	unsigned n_rings;                /* number of rings that have records, to compute ring_max */
	uint64_t ring_max;               /* bytes of each ring; 0: no limit */
	char *path, *name;
	char reason[WMK_CTL_REASON_MAX + 1], program[WMK_CTL_NAME_MAX + 1];
	pid_t pid;
	bool has_dump;
};

static const struct wmk_consumer_port_ops *consumer_of(const struct wmk_snapshot *snapshot)
{
	return snapshot->session->tracing->options.consumer;
}

/* ── what belongs to it ──────────────────────────────────────────────────────────────────────────────── */

/*
 * Reading empties a kernel channel. A kernel channel is therefore copied only for a session that writes nothing except
 * snapshots.
 */
static bool is_copied(const struct rings *rings)
{
	const bool holds = rings->set || (rings->kernel && rings->session->settings.snapshot);

	return holds && !rings->closed && rings->channel->is.settings.mode == WMK_MODE_OVERWRITE;
}

/* Return the number of rings of the set that may have records. */
static unsigned recorded(const struct rings *rings)
{
	const long cpus = rings->set ? 0 : sysconf(_SC_NPROCESSORS_ONLN);

	return rings->set ? wmk_ring_set_recorded(rings->set) : cpus > 0 ? (unsigned)cpus : 1;
}

static int add_rings(struct wmk_snapshot *snapshot, struct snapshot_trace *trace, struct rings *rings)
{
	struct snapshot_rings *made = calloc(1, sizeof(*made));

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a snapshot");
	wmk_rings_get(rings);
	made->of = rings;
	wmk_rings_name(rings->channel, rings->stream_id, made->name);
	made->next = trace->rings;
	trace->rings = made;
	snapshot->has_dump |= rings->channel->own;
	snapshot->n_rings += rings->channel->own ? 0 : recorded(rings);
	return 0;
}

static int add_trace(struct wmk_snapshot *snapshot, const struct trace *of)
{
	struct snapshot_trace *made = calloc(1, sizeof(*made));
	uint64_t declared;
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a snapshot");
	made->of = of;
	made->is = *of;
	made->next = snapshot->traces;
	snapshot->traces = made;
	err = wmk_trace_as_begin(snapshot->session, &made->as);
	if (err >= 0)
		err = wmk_trace_body_text(of, &made->body, &declared);
	for (struct rings *rings = snapshot->session->rings; rings && err >= 0; rings = rings->next)
		if (rings->trace == of && is_copied(rings))
			err = add_rings(snapshot, made, rings);
	return err < 0 ? err : 0;
}

static bool trace_is_copied(const struct wmk_session *session, const struct trace *trace)
{
	for (const struct rings *rings = session->rings; rings; rings = rings->next)
		if (rings->trace == trace && is_copied(rings))
			return true;
	return false;
}

/* Collect the traces and rings. Locked. */
static int collect(struct wmk_snapshot *snapshot)
{
	struct wmk_session *session = snapshot->session;
	bool overwrite = false;
	int err = 0;

	for (unsigned i = 0; i < session->n_channels; i++)
		overwrite |= !session->channels[i]->own && !wmk_channel_is_kernel(session->channels[i]) &&
			     session->channels[i]->is.settings.mode == WMK_MODE_OVERWRITE;
	if (!overwrite && !session->settings.snapshot)
		return wmk_errorx(-EPERM, "session '%s' has no channel of applications in overwrite mode: its "
				  "records are in its trace (use create --snapshot, or enable-channel --overwrite)",
				  session->name);
	for (const struct trace *trace = session->traces; trace && err == 0; trace = trace->next)
		if (trace_is_copied(session, trace))
			err = add_trace(snapshot, trace);
	if (err == 0 && !snapshot->traces)
		err = wmk_errorx(-ENODATA, "session '%s' has no records: no application has registered since it "
				 "was started, and it has no kernel channel", session->name);
	return err;
}

/* Each ring gets an equal part of the limit: the newest whole sub-buffers. */
static int limit_rings(struct wmk_snapshot *snapshot, uint64_t max_size)
{
	uint64_t largest = 0;

	if (!max_size || !snapshot->n_rings)
		return 0;
	snapshot->ring_max = max_size / snapshot->n_rings;
	for (const struct snapshot_trace *trace = snapshot->traces; trace; trace = trace->next)
		for (const struct snapshot_rings *rings = trace->rings; rings; rings = rings->next)
			if (!rings->of->channel->own && rings->of->channel->is.settings.subbuf_size > largest)
				largest = rings->of->channel->is.settings.subbuf_size;
	if (snapshot->ring_max >= largest)
		return 0;
	return wmk_errorx(-EINVAL, "the limit of the snapshot, %" PRIu64 " bytes, is too small: %u rings have "
			  "records, and each needs a sub-buffer of up to %" PRIu64 " bytes", max_size,
			  snapshot->n_rings, largest);
}

/* ── its directory ───────────────────────────────────────────────────────────────────────────────────── */

/*
 * Choose the path NAME-DATE-NUMBER in `base`. The number counts the snapshots of the session; a number is skipped if
 * its directory exists. The lock is held on entry and on return, and released while the consumer daemon checks the
 * directory.
 */
static int choose_path(struct wmk_snapshot *snapshot, const char *base, const char *name)
{
	struct wmk_session *session = snapshot->session;
	const struct wmk_tracing_options *o = &session->tracing->options;
	struct wmk_trace_info info = { .session = session->name, .uid = session->uid, .gid = session->gid };
	const time_t now = time(NULL);
	int err = -ENOTEMPTY;
	char date[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	for (unsigned i = 0; err == -ENOTEMPTY && i < SAME_NAME_MAX; i++) {
		wmk_error_clear();
		free(snapshot->path);
		if (asprintf(&snapshot->path, "%s/%s-%s-%u", base, name, date, session->n_snapshots++) < 0)
			snapshot->path = NULL;
		if (!snapshot->path || strlen(snapshot->path) >= WMK_OBJECT_TEXT_MAX)
			return wmk_error(snapshot->path ? -ENAMETOOLONG : -ENOMEM,
					 "the path of the snapshot is too long, or no memory is free");
		info.path = snapshot->path;
		pthread_mutex_unlock(&session->lock);
		err = o->consumer->output_check ? o->consumer->output_check(o->consumer_data, &info) : 0;
		pthread_mutex_lock(&session->lock);
	}
	return err;
}

/* ── copies ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Make the whole metadata, with the latest known classes. The count of overwritten records is known only after all
 * copies (`ended`).
 */
static int metadata_text(struct wmk_snapshot *snapshot, struct snapshot_trace *trace, bool ended,
			 struct wmk_ctf_text_buffer *text)
{
	struct wmk_trace_as *as = &trace->as;
	int err;

	as->n_env = 0;
	wmk_trace_as_env(as, "snapshot", snapshot->name, 0);
	if (snapshot->reason[0])
		wmk_trace_as_env(as, "snapshot_reason", snapshot->reason, 0);
	if (snapshot->program[0]) {
		wmk_trace_as_env(as, "snapshot_program", snapshot->program, 0);
		wmk_trace_as_env(as, "snapshot_pid", NULL, snapshot->pid);
	}
	/*
	 * The environment has the count of records that were overwritten before the snapshot. If overwritten records
	 * counted as lost records, readers would warn about the loss.
	 */
	if (ended)
		wmk_trace_as_env(as, "snapshot_overwritten", NULL, (int64_t)trace->counts.overwritten);
	err = wmk_trace_text(&trace->is, snapshot->session, as, text);
	return err < 0 ? err : wmk_ctf_text_add(text, &trace->body);
}

static int open_trace(struct wmk_snapshot *snapshot, struct snapshot_trace *trace)
{
	const struct wmk_session *session = snapshot->session;
	const struct wmk_consumer_port_ops *consumer = consumer_of(snapshot);
	struct wmk_trace_info info = { .session = session->name,
				       .path = snapshot->path,
				       .sub = trace->is.sub,
				       .kernel = trace->is.kernel,
				       .uid = session->uid,
				       .gid = session->gid,
				       .trace_format = session->settings.trace_format };
	struct wmk_ctf_text_buffer text = { 0 };
	int err = metadata_text(snapshot, trace, false, &text);

	memcpy(info.uuid, trace->as.uuid, sizeof(info.uuid));
	if (err >= 0)
		err = consumer->trace_open(session->tracing->options.consumer_data, &info, &trace->output);
	if (err < 0)
		trace->output = NULL;
	if (err >= 0)
		err = consumer->metadata_replace(trace->output, text.text, text.len, false);
	wmk_ctf_text_free(&text);
	return err < 0 ? err : 0;
}

static int copy_rings(struct wmk_snapshot *snapshot, struct snapshot_trace *trace, struct snapshot_rings *rings)
{
	const struct wmk_rings_info info = {
		.id = rings->of->id,
		.channel = rings->name,
		.stream_id = rings->of->stream_id,
		.options = &rings->of->channel->is,
		.start_ts = wmk_session_now(snapshot->session),
		.copy = true,
		.copy_max = rings->of->channel->own ? 0 : snapshot->ring_max,
	};
	const struct wmk_consumer_port_ops *consumer = consumer_of(snapshot);
	int err = rings->of->set ? consumer->rings_open(trace->output, &info, rings->of->set, &rings->output)
				 : wmk_kernel_copied(rings->of, trace->output, &info, &rings->output);

	if (err < 0)
		rings->output = NULL;
	return err;
}

/* Copy the channels (`own` false), or the state dump. Not locked. */
static int copy_all(struct wmk_snapshot *snapshot, bool own)
{
	int err = 0;

	for (struct snapshot_trace *trace = snapshot->traces; trace && err == 0; trace = trace->next)
		for (struct snapshot_rings *rings = trace->rings; rings && err == 0; rings = rings->next)
			if (rings->of->channel->own == own)
				err = copy_rings(snapshot, trace, rings);
	return err;
}

/* ── begin and end ───────────────────────────────────────────────────────────────────────────────────── */

static void rings_free(struct wmk_snapshot *snapshot, struct snapshot_rings *rings)
{
	while (rings) {
		struct snapshot_rings *next = rings->next;

		if (rings->output)
			consumer_of(snapshot)->rings_close(rings->output);
		wmk_rings_put(rings->of);
		free(rings);
		rings = next;
	}
}

/* Not locked. Ends the traces at the consumer daemon. */
static void snapshot_free(struct wmk_snapshot *snapshot)
{
	while (snapshot->traces) {
		struct snapshot_trace *trace = snapshot->traces;

		snapshot->traces = trace->next;
		rings_free(snapshot, trace->rings);
		if (trace->output)
			consumer_of(snapshot)->trace_close(trace->output);
		wmk_ctf_text_free(&trace->body);
		free(trace);
	}
	wmk_session_put(snapshot->session);
	free(snapshot->path);
	free(snapshot);
}

static int begin_locked(struct wmk_snapshot *snapshot, const struct wmk_snapshot_options *options)
{
	struct wmk_session *session = snapshot->session;
	const struct wmk_ctl_settings *settings = &session->settings;
	const char *base = options->path && *options->path ? options->path : settings->snapshot_path;
	const char *name = options->name && *options->name ? options->name
			   : *settings->snapshot_name	   ? settings->snapshot_name
							   : DEFAULT_NAME;
	int err = wmk_name_check("snapshot", name);

	if (err == 0)
		err = collect(snapshot);
	if (err == 0)
		err = limit_rings(snapshot, options->max_size ? options->max_size : settings->snapshot_max_size);
	if (err == 0 && !*base)
		err = wmk_errorx(-EINVAL, "session '%s' has no snapshot output: give a directory, or use "
				 "`waymark snapshot add-output`", session->name);
	/* (a copy, because the settings may change while the lock is released) */
	char *copy = err == 0 ? strdup(base) : NULL;
	if (err == 0 && !copy)
		err = wmk_error(-ENOMEM, "no memory for a snapshot");
	if (err == 0)
		err = choose_path(snapshot, copy, strdupa(name));
	free(copy);
	return err;
}

int wmk_snapshot_begin(struct wmk_session *session, const struct wmk_snapshot_options *options,
		       struct wmk_snapshot **out)
{
	struct wmk_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return wmk_error(-ENOMEM, "no memory for a snapshot");
	snapshot->session = session;
	wmk_session_hold(session);
	snprintf(snapshot->reason, sizeof(snapshot->reason), "%s", options->reason ? options->reason : "");
	snprintf(snapshot->program, sizeof(snapshot->program), "%s", options->program ? options->program : "");
	snapshot->pid = options->pid;
	int err = begin_locked(snapshot, options);

	snapshot->name = snapshot->path ? strrchr(snapshot->path, '/') + 1 : NULL;
	pthread_mutex_unlock(&session->lock);
	for (struct snapshot_trace *trace = snapshot->traces; trace && err == 0; trace = trace->next)
		err = open_trace(snapshot, trace);
	if (err == 0)
		err = copy_all(snapshot, false);
	struct wmk_error_chain *why = err < 0 ? wmk_error_take() : NULL;

	if (err < 0)
		snapshot_free(snapshot);
	if (why)
		wmk_error_give(why);
	pthread_mutex_lock(&session->lock);
	if (err == 0)
		*out = snapshot;
	return err;
}

bool wmk_snapshot_has_dump(const struct wmk_snapshot *snapshot)
{
	return snapshot->has_dump && snapshot->session->active;
}

bool wmk_snapshot_has_kernel(const struct wmk_snapshot *snapshot)
{
	return snapshot->session->settings.snapshot;
}

/* Write the copies of the trace completely, and add up their counts. Not locked. */
static int settle(struct wmk_snapshot *snapshot, struct snapshot_trace *trace)
{
	const struct wmk_consumer_port_ops *consumer = consumer_of(snapshot);
	int first = 0;

	for (struct snapshot_rings *rings = trace->rings; rings; rings = rings->next) {
		struct wmk_counts counts = { 0 }, earlier = { 0 };
		int err = rings->output ? consumer->rings_stop(rings->output, true) : 0;

		if (err < 0 && first == 0)
			first = err;
		if (rings->output && consumer->rings_counts(rings->output, &counts, &earlier) < 0)
			wmk_error_clear();
		/* overwritten state dumps do not count as lost in the snapshot */
		if (rings->of->channel->own)
			counts.overwritten = 0;
		wmk_counts_add(&trace->counts, &counts);
	}
	return first;
}

/* Update the known classes: the copies may have records of classes that were declared since the snapshot began. */
static int refresh_body(struct wmk_snapshot *snapshot, struct snapshot_trace *trace)
{
	const struct trace *of = snapshot->session->traces;
	struct wmk_ctf_text_buffer body = { 0 };
	uint64_t declared;

	while (of && of != trace->of)
		of = of->next;
	/* (if the trace has ended, its classes are complete already) */
	if (!of || memcmp(of->uuid, trace->is.uuid, sizeof(of->uuid)) != 0)
		return 0;
	int err = wmk_trace_body_text(of, &body, &declared);

	if (err < 0) {
		wmk_ctf_text_free(&body);
		return err;
	}
	wmk_ctf_text_free(&trace->body);
	trace->body = body;
	return 0;
}

static int complete(struct wmk_snapshot *snapshot, struct snapshot_trace *trace)
{
	struct wmk_ctf_text_buffer text = { 0 };
	int err = settle(snapshot, trace);

	if (err == 0 && wmk_session_lock(snapshot->session) == 0) {
		err = refresh_body(snapshot, trace);
		wmk_session_unlock(snapshot->session);
	} else if (err == 0) {
		/*
		 * The session was destroyed meanwhile. The metadata has the classes that were known when the snapshot
		 * began; a record of a later class cannot be decoded.
		 */
		wmk_error_clear();
	}
	if (err == 0)
		err = metadata_text(snapshot, trace, true, &text);
	if (err >= 0)
		err = consumer_of(snapshot)->metadata_replace(trace->output, text.text, text.len, true);
	wmk_ctf_text_free(&text);
	return err < 0 ? err : 0;
}

int wmk_snapshot_end(struct wmk_snapshot *snapshot, struct wmk_ctl_snapshot_reply *reply, struct wmk_arena *arena)
{
	int err = copy_all(snapshot, true);

	reply->path = wmk_arena_text(arena, snapshot->path);
	for (struct snapshot_trace *trace = snapshot->traces; trace && err == 0; trace = trace->next) {
		err = complete(snapshot, trace);
		reply->records += trace->counts.records;
		reply->bytes += trace->counts.bytes;
		reply->overwritten += trace->counts.overwritten;
	}
	if (err == 0 && !reply->path)
		err = -ENOMEM;
	struct wmk_error_chain *why = err < 0 ? wmk_error_take() : NULL;

	snapshot_free(snapshot);
	if (why)
		wmk_error_give(why);
	return err;
}

/* ── the output ──────────────────────────────────────────────────────────────────────────────────────── */

static int remove_output(struct wmk_session *session, const char *name)
{
	struct wmk_ctl_settings *settings = &session->settings;

	if (!*settings->snapshot_path)
		return wmk_errorx(-ENOENT, "session '%s' has no snapshot output", session->name);
	if (*name && strcmp(name, settings->snapshot_name) != 0)
		return wmk_errorx(-ENOENT, "session '%s' has no snapshot output '%.60s'; its output is '%.60s'",
				  session->name, name, settings->snapshot_name);
	settings->snapshot_path = settings->snapshot_name = "";
	settings->snapshot_max_size = 0;
	return 0;
}

int wmk_session_snapshot_output(struct wmk_session *session, const struct wmk_ctl_snapshot_output *output)
{
	struct wmk_ctl_settings *settings = &session->settings;
	const char *name = *output->name ? output->name : DEFAULT_NAME, *path;
	int err;

	if (output->remove)
		return remove_output(session, output->name);
	err = wmk_name_check("snapshot output", name);
	if (err < 0)
		return err;
	if (*settings->snapshot_path)
		return wmk_errorx(-EEXIST, "session '%s' has the snapshot output '%.60s' in %.60s already: remove "
				  "it first (waymark snapshot del-output)", session->name, settings->snapshot_name,
				  settings->snapshot_path);
	name = wmk_arena_text(&session->arena, name);
	path = wmk_arena_text(&session->arena, output->path);
	if (!name || !path)
		return -ENOMEM;
	settings->snapshot_name = name;
	settings->snapshot_path = path;
	settings->snapshot_max_size = output->max_size;
	return 0;
}
