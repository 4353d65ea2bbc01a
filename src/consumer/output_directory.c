/* SPDX-License-Identifier: MIT */
/*
 * output_directory.c - a directory as the output of a session: its traces and their chunks.
 */
#include "consumer/output_directory_streams.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/testpoint.h"
#include "store/archive.h"
#include "store/followed.h"
#include "store/late_mount.h"
#include "store/spool.h"
#include "store/store.h"

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

static int directory_metadata(struct wmk_output_trace *trace, uint64_t offset, const char *text, size_t len)
{
	int err = wmk_store_metadata_at(((struct directory_trace *)trace)->store, offset, text, len);

	wmk_directory_changed((struct directory_trace *)trace, true);
	return err;
}

static int directory_metadata_replace(struct wmk_output_trace *trace, const char *text, size_t len)
{
	int err = wmk_store_metadata_replace(((struct directory_trace *)trace)->store, text, len);

	wmk_directory_changed((struct directory_trace *)trace, true);
	return err;
}

/* Write a note of the trace to the metadata, as a comment. */
static void directory_note(struct wmk_output_trace *given, const char *words)
{
	struct directory_trace *trace = (struct directory_trace *)given;
	const struct wmk_output_directory_options *is = trace->output ? &trace->output->is : NULL;

	if (is && is->note)
		is->note(is->data, words);
	else if (wmk_store_comment(trace->store, words) < 0)
		wmk_error_clear();
}

static int directory_clock_point(struct wmk_output_trace *trace, const struct wmk_clock_head *head,
				 const struct wmk_clock_point *point)
{
	return wmk_store_clock_point(((struct directory_trace *)trace)->store, head, point);
}

static uint64_t directory_bytes(struct wmk_output_trace *trace)
{
	return wmk_store_bytes(((struct directory_trace *)trace)->store);
}

static bool directory_is_followed(struct wmk_output_trace *trace)
{
	return wmk_store_is_followed(((struct directory_trace *)trace)->store);
}

static void directory_low_water(struct wmk_output_trace *trace, uint64_t ts)
{
	wmk_store_low_water(((struct directory_trace *)trace)->store, ts);
	wmk_directory_changed((struct directory_trace *)trace, false);
}

static void directory_close(struct wmk_output_trace *given)
{
	struct directory_trace *trace = (struct directory_trace *)given;

	/* A trace without metadata and streams leaves no files or directories. */
	if (trace->output) {
		wmk_store_repair(trace->store, trace->uuid);
		wmk_store_discard(trace->store);
	}
	free(trace->sub);
	free(trace);
}

/* ── chunks ──────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t directory_chunk(const struct wmk_output_trace *trace)
{
	return ((const struct directory_trace *)trace)->chunk;
}

static int directory_journal(struct wmk_output_trace *trace, const char *text, size_t len)
{
	return wmk_store_journal_write(((struct directory_trace *)trace)->store, text, len);
}

static int directory_journal_read(struct wmk_output_trace *trace, char **text)
{
	return wmk_store_journal_read(((struct directory_trace *)trace)->store, text);
}

static int join_budget(struct directory_output *output, struct wmk_store *store);

/*
 * Begin a complete trace directory: the directory, its number and its UUID. trace_metadata.c writes the metadata, with
 * the clock offset and the environment, before the first packet.
 */
static int chunk_begin(struct directory_trace *trace, struct wmk_store *store, uint64_t open)
{
	int err;

	wmk_store_keep_free(store, trace->output->is.keep_free);
	err = join_budget(trace->output, store);
	if (err >= 0)
		err = wmk_store_chunk(store, open, &trace->chunk);
	if (err >= 0 && wmk_directory_is_spool(trace))
		err = wmk_store_spool_uuid(store, trace->trace_uuid);
	if (err < 0)
		return err;
	wmk_ctf_chunk_uuid(trace->uuid, trace->trace_uuid, trace->chunk);
	trace->store = store;
	return 0;
}

/*
 * The function is called with the rights of the owner. The old store stays open until the new store exists, so a reader
 * always finds an open store of the trace.
 */
static int move_chunk(struct directory_trace *trace, const char *name, uint64_t number)
{
	struct wmk_store *old = trace->store, *store;
	int err;

	wmk_store_repair(old, trace->uuid);
	err = wmk_store_archive(trace->output->path, trace->sub, name);
	WMK_TESTPOINT(rotation_moved);
	if (err >= 0)
		err = wmk_store_add(trace->output->path, trace->sub, &store);
	if (err < 0)
		return err;
	err = chunk_begin(trace, store, number);
	/*
	 * Remove the directory of the next chunk. If the directory remained, the next attempt would archive this
	 * directory as the closed chunk.
	 */
	if (err < 0) {
		trace->store = old;
		wmk_store_discard(store);
		return err;
	}
	WMK_TESTPOINT(rotation_begun);
	wmk_store_begins_take(store, trace->sub, name);
	wmk_store_close(old);
	return 0;
}

static int directory_rotate(struct wmk_output_trace *given, const char *name, uint64_t number)
{
	struct directory_trace *trace = (struct directory_trace *)given;
	int err;

	if (!trace->output)
		return wmk_error(-ENOTSUP, "this trace cannot be rotated");
	err = wmk_store_identity_begin(trace->output->is.uid, trace->output->is.gid);
	if (err < 0)
		return err;
	err = wmk_output_identity_end(move_chunk(trace, name, number));
	wmk_directory_changed(trace, true);
	return err;
}

static int directory_begins_read(struct wmk_output_trace *given, const char *name, char **text)
{
	const struct directory_trace *trace = (const struct directory_trace *)given;

	if (!trace->output)
		return -ENOENT;
	wmk_store_begins_take(trace->store, trace->sub, name);
	return wmk_store_begins_read(trace->store, text);
}

static void directory_begins_remove(struct wmk_output_trace *trace)
{
	wmk_store_begins_remove(((struct directory_trace *)trace)->store);
}

static int directory_chunk_last(struct wmk_output_trace *given, const char *name, const char *stream,
				const struct wmk_store_limits *limits, struct wmk_ctf_packet *last)
{
	const struct directory_trace *trace = (const struct directory_trace *)given;
	struct wmk_store_limits spool;
	uint8_t uuid[16];

	if (!trace->output || trace->chunk == 0)
		return 0;
	wmk_ctf_chunk_uuid(uuid, trace->trace_uuid, trace->chunk - 1);
	return wmk_store_archive_last(trace->store, trace->sub, name, stream,
				      wmk_directory_limits(trace, limits, &spool), uuid, last);
}

static const struct wmk_output_trace_ops trace_ops = {
	.metadata = directory_metadata,
	.metadata_replace = directory_metadata_replace,
	.stream_open = wmk_directory_stream_open,
	.stream_resume = wmk_directory_stream_resume,
	.write = wmk_directory_write,
	.amend = wmk_directory_amend,
	.stream_check = wmk_directory_stream_check,
	.stream_close = wmk_directory_stream_close,
	.stream_remove = wmk_directory_stream_remove,
	.stream_bytes = wmk_directory_stream_bytes,
	.clock_point = directory_clock_point,
	.note = directory_note,
	.bytes = directory_bytes,
	.chunk = directory_chunk,
	.journal = directory_journal,
	.journal_read = directory_journal_read,
	.rotate = directory_rotate,
	.begins_read = directory_begins_read,
	.begins_remove = directory_begins_remove,
	.chunk_last = directory_chunk_last,
	.is_followed = directory_is_followed,
	.low_water = directory_low_water,
	.close = directory_close,
};

int wmk_output_directory_trace(struct wmk_store *store, const uint8_t uuid[16], struct wmk_output_trace **trace)
{
	struct directory_trace *made = calloc(1, sizeof(*made));

	if (!made)
		return wmk_error(-ENOMEM, "no memory to write a trace");
	made->trace.ops = &trace_ops;
	made->store = store;
	memcpy(made->uuid, uuid, sizeof(made->uuid));
	memcpy(made->trace_uuid, uuid, sizeof(made->trace_uuid));
	*trace = &made->trace;
	return 0;
}

struct wmk_store *wmk_output_directory_store(struct wmk_output_trace *trace)
{
	return ((struct directory_trace *)trace)->store;
}

struct wmk_store_stream *wmk_output_directory_stream(struct wmk_output_stream *stream)
{
	return stream->file;
}

/* ── the output ──────────────────────────────────────────────────────────────────────────────────────── */

/* The first trace measures the directory, because existing files count against the limit too. */
static int join_budget(struct directory_output *output, struct wmk_store *store)
{
	bool first;
	int err = 0;

	if (!wmk_output_is_counted(output))
		return 0;
	pthread_mutex_lock(&output->lock);
	first = !output->measured;
	if (first)
		err = wmk_store_measure(&output->budget, output->path);
	output->measured = err == 0;
	pthread_mutex_unlock(&output->lock);
	if (err == 0)
		wmk_store_set_budget(store, &output->budget, first);
	return err;
}

/* Create a trace; the first trace also creates the directory of the output. */
static int make(struct directory_output *output, const char *sub, struct wmk_store **store)
{
	int err = wmk_store_add(output->path, sub, store);

	if (err != -ENOENT)
		return err;
	wmk_error_clear();
	return wmk_store_create(output->path, sub, store);
}

/*
 * An incomplete trace is from a daemon that crashed before any application received a message about the trace. Complete
 * the trace. The trace of a process stays incomplete: the trace may belong to the program that the process ran before
 * exec().
 */
static int make_new(struct directory_output *output, const char *sub, struct wmk_store **store)
{
	int err = make(output, sub, store);

	if (err != -EEXIST || strncmp(sub, PID_SUB, strlen(PID_SUB)) == 0)
		return err;
	wmk_error_clear();
	return wmk_store_take_over(output->path, sub, store);
}

static int open_or_make(struct directory_output *output, enum wmk_output_mode mode, const char *sub,
			struct wmk_store **store)
{
	int err = wmk_store_open(output->path, sub, store);

	if (err != -ENOENT)
		return err;
	wmk_error_clear();
	return mode == WMK_OUTPUT_AGAIN ? wmk_store_add(output->path, sub, store) : make(output, sub, store);
}

/* The function is called with the rights of the owner. */
static int open_store(struct directory_output *output, const struct wmk_output_place *place, struct wmk_store **store)
{
	int err;

	if (place->mode == WMK_OUTPUT_NEW)
		err = make_new(output, place->sub, store);
	else
		err = open_or_make(output, place->mode, place->sub, store);
	return err;
}

/* The function is called with the rights of the owner. */
static int open_trace(struct directory_output *output, const struct wmk_output_place *place,
		      struct wmk_output_trace **result)
{
	struct wmk_output_trace *made = NULL;
	struct directory_trace *trace;
	struct wmk_store *store;
	int err = open_store(output, place, &store);

	if (err < 0)
		return err;
	err = wmk_output_directory_trace(store, place->uuid, &made);
	trace = (struct directory_trace *)made;
	if (err >= 0) {
		trace->output = output;
		trace->sub = strdup(place->sub);
		err = trace->sub ? chunk_begin(trace, store, place->chunk)
				 : wmk_error(-ENOMEM, "no memory to write a trace");
	}
	if (err >= 0) {
		*result = made;
		wmk_directory_changed(trace, true);
		return 0;
	}
	wmk_store_close(store);
	if (trace)
		free(trace->sub);
	free(trace);
	return err;
}

/*
 * Wait for the file system. While await_mount() waits, the records stay in the rings, as they do when a disk does not
 * respond.
 */
static void await_mount(const struct directory_output *output)
{
	char place[PATH_MAX], words[PATH_MAX + 80];

	if (!output->is.await_mount || !wmk_store_mount_is_due(output->path, place))
		return;
	snprintf(words, sizeof(words), "cannot write the trace yet: waiting until %s is mounted read-write", place);
	if (output->is.note)
		output->is.note(output->is.data, words);
	wmk_store_mount_await(output->path);
}

static int directory_trace_open(struct wmk_output *given, const struct wmk_output_place *place,
				struct wmk_output_trace **trace)
{
	struct directory_output *output = (struct directory_output *)given;
	int err;

	await_mount(output);
	err = wmk_store_identity_begin(output->is.uid, output->is.gid);

	if (err < 0)
		return err;
	return wmk_output_identity_end(open_trace(output, place, trace));
}

static int directory_usage(struct wmk_output *given)
{
	struct directory_output *output = (struct directory_output *)given;
	int err = wmk_output_is_counted(output) ? wmk_store_identity_begin(output->is.uid, output->is.gid) : 0;

	if (!wmk_output_is_counted(output) || err < 0)
		return err;
	return wmk_output_identity_end(wmk_store_measure(&output->budget, output->path));
}

static void directory_output_close(struct wmk_output *given)
{
	struct directory_output *output = (struct directory_output *)given;

	wmk_store_budget_page_unmap(output->budget.page);
	pthread_mutex_destroy(&output->budget.lock);
	pthread_mutex_destroy(&output->lock);
	free(output->path);
	free(output);
}

static const struct wmk_output_ops output_ops = {
	.trace_open = directory_trace_open,
	.check = wmk_output_directory_check,
	.each_process = wmk_output_directory_each_process,
	.remove_process = wmk_output_directory_remove_process,
	.archive_process = wmk_output_directory_archive_process,
	.archive_end = wmk_output_directory_archive_end,
	.retain = wmk_output_directory_retain,
	.usage = directory_usage,
	.close = directory_output_close,
};

int wmk_output_directory_open(const struct wmk_output_directory_options *options, struct wmk_output **output)
{
	struct directory_output *made = calloc(1, sizeof(*made));
	int err = 0;

	if (!made || !(made->path = strdup(options->path))) {
		free(made);
		return wmk_error(-ENOMEM, "no memory for an output");
	}
	made->output.ops = &output_ops;
	made->is = *options;
	made->is.path = made->path;
	made->budget = (struct wmk_store_budget){ .max = options->max_size ? options->max_size : UINT64_MAX,
						  .side = options->kernel, .full = options->full, .due = options->due,
						  .data = options->data };
	if (options->budget_fd >= 0)
		err = wmk_store_budget_page_map(options->budget_fd, &made->budget.page);
	if (err < 0) {
		free(made->path);
		free(made);
		return err;
	}
	pthread_mutex_init(&made->lock, NULL);
	pthread_mutex_init(&made->budget.lock, NULL);
	*output = &made->output;
	return 0;
}
