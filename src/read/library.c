/* SPDX-License-Identifier: MIT */
/*
 * library.c - libwaymark-ctf: traces and records of include/waymark/ctf.h, by the merge (merge.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/hosts.h"
#include "read/library.h"

/* ── errors ──────────────────────────────────────────────────────────────────────────────────────────── */

API const char *waymark_ctf_error_text(char *buf, size_t size)
{
	return wmk_error_text(buf, size);
}

/* Report the error of the calling thread, and clear the error. */
static void report_damage(struct waymark_ctf *ctf)
{
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];

	if (ctf->options.damage)
		ctf->options.damage(ctf->options.data, wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
}

static void damage(void *data, const struct wmk_read_stream *stream, int err)
{
	wmk_error_add(err, "the trace '%.120s' is damaged", stream->trace->path);
	report_damage(data);
}

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

static void forget_packets(struct waymark_ctf *ctf)
{
	while (ctf->packets) {
		struct wmk_library_packet *packet = ctf->packets;

		ctf->packets = packet->next;
		wmk_read_filter_free(packet->filter);
		wmk_read_packet_head_free(&packet->head);
		free(packet);
	}
}

/* Open all streams at their beginning. `from`: see waymark_ctf_seek(). */
static int merge_again(struct waymark_ctf *ctf, int64_t from)
{
	struct wmk_read_merge *merge;
	int err = wmk_read_merge_create(damage, ctf, &merge);

	for (uint32_t i = 0; i < ctf->n_traces && err >= 0; i++)
		err = wmk_read_merge_add(merge, ctf->traces[i]);
	if (err < 0) {
		wmk_read_merge_free(merge);
		return err;
	}
	wmk_read_merge_trim(merge, from, INT64_MAX);
	wmk_read_merge_free(ctf->merge);
	forget_packets(ctf);
	wmk_library_forget(ctf);
	ctf->merge = merge;
	ctf->record.stream = NULL;
	return 0;
}

static void forget_traces(struct waymark_ctf *ctf, uint32_t from)
{
	while (ctf->n_traces > from)
		wmk_read_trace_close(ctf->traces[--ctf->n_traces]);
}

/* A trace that the library cannot read counts as damage. */
static int open_one(struct waymark_ctf *ctf, const char *path, const char *given)
{
	struct wmk_read_trace **traces = realloc(ctf->traces, (ctf->n_traces + 1) * sizeof(*traces)), *trace;

	if (!traces)
		return wmk_error(-ENOMEM, "no memory for the trace '%.240s'", path);
	ctf->traces = traces;
	int err = wmk_read_trace_open_locked(path, given, &trace);

	if (err == -ENOMEM)
		return err;
	if (err < 0) {
		wmk_error_add(err, "cannot read the trace '%.120s'", path);
		report_damage(ctf);
		return 0;
	}
	ctf->traces[ctf->n_traces++] = trace;
	while (wmk_read_trace_take_damage(trace))
		report_damage(ctf);
	return 0;
}

API int waymark_ctf_add(struct waymark_ctf *ctf, const char *path)
{
	struct wmk_read_paths paths = { NULL, 0, 0 };
	struct wmk_read_hosts *hosts = NULL;
	const uint32_t before = ctf->n_traces;
	int err;

	if (ctf->has_begun)
		return wmk_errorx(-EBUSY, "cannot add a trace: records have already been read");
	err = wmk_read_traces_find(path, &paths);
	for (uint32_t i = 0; i < paths.n && err >= 0; i++)
		err = open_one(ctf, paths.paths[i], path);
	wmk_read_paths_free(&paths);
	if (err >= 0 && ctf->n_traces == before)
		err = wmk_errorx(-EINVAL, "cannot read any trace in '%.240s'", path);
	if (err >= 0)
		err = wmk_read_hosts_join(ctf->traces, ctf->n_traces, &hosts);
	if (err >= 0)
		err = merge_again(ctf, INT64_MIN);
	if (err < 0)
		forget_traces(ctf, before);
	/*
	 * At this point, no trace refers to the sync points of the earlier hosts, so the library can free the earlier
	 * hosts.
	 */
	if (hosts) {
		wmk_read_hosts_free(ctf->hosts);
		ctf->hosts = hosts;
	}
	return err < 0 ? err : 0;
}

API int waymark_ctf_open(const struct waymark_ctf_options *options, const char *path, struct waymark_ctf **ctf)
{
	struct waymark_ctf *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory to read '%.240s'", path);
	if (options && options->size < sizeof(options->size)) {
		free(made);
		return wmk_errorx(-EINVAL, "invalid options: `size` is not the size of the structure");
	}
	if (options)
		memcpy(&made->options, options, options->size < sizeof(*options) ? options->size : sizeof(*options));
	err = waymark_ctf_add(made, path);
	if (err < 0) {
		waymark_ctf_close(made);
		return err;
	}
	*ctf = made;
	return 0;
}

API void waymark_ctf_close(struct waymark_ctf *ctf)
{
	if (!ctf)
		return;
	wmk_read_merge_free(ctf->merge);
	forget_packets(ctf);
	wmk_library_forget(ctf);
	forget_traces(ctf, 0);
	wmk_read_hosts_free(ctf->hosts);
	wmk_filter_expr_free(ctf->filter);
	free(ctf->traces);
	free(ctf);
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Keep the header of the packet, and report losses before the packet. */
static int keep_packet(struct waymark_ctf *ctf, struct wmk_read_stream *stream)
{
	struct wmk_library_packet *packet = stream->user;
	int err;

	if (stream->lost && ctf->options.lost)
		ctf->options.lost(ctf->options.data, stream->name,
				  stream->lost == WMK_READ_LOST_UNKNOWN ? UINT64_MAX : stream->lost, stream->ns);
	if (!packet) {
		packet = calloc(1, sizeof(*packet));
		if (!packet)
			return wmk_error(-ENOMEM, "no memory for the stream '%.240s'", stream->file);
		packet->next = ctf->packets;
		stream->user = ctf->packets = packet;
	}
	err = wmk_read_packet_head_keep(&packet->head, stream);
	if (err >= 0 && !packet->filter && ctf->filter)
		err = wmk_read_filter_create(ctf->filter, stream->decoder, &packet->filter);
	return err;
}

/* 1: selected; 0: not selected; negative: damage of the record. */
static int is_wanted(struct wmk_read_stream *stream)
{
	const struct wmk_library_packet *packet = stream->user;

	return packet->filter ? wmk_read_filter_wants(packet->filter, &packet->head, stream) : 1;
}

API int waymark_ctf_next(struct waymark_ctf *ctf, const struct waymark_ctf_record **record)
{
	struct wmk_read_stream *stream;
	int got;

	ctf->has_begun = true;
	wmk_library_forget(ctf);
	while ((got = wmk_read_merge_next(ctf->merge, &stream)) == WMK_READ_PACKET || got == WMK_READ_RECORD) {
		int err = got == WMK_READ_PACKET ? keep_packet(ctf, stream) : is_wanted(stream);

		if (err == -EPROTO || err == -ENODATA)
			damage(ctf, stream, err);
		else if (err < 0)
			return err;
		else if (err > 0) {
			ctf->record = (struct waymark_ctf_record){ ctf, stream };
			*record = &ctf->record;
			return 1;
		}
	}
	return got;
}

API int waymark_ctf_filter(struct waymark_ctf *ctf, const char *expression)
{
	const struct wmk_ctf_decoder **decoders;
	struct wmk_filter_expr *expr = NULL;
	int err = 0;

	/* (a filter needs values of a packet's head, and the head is read when the packet begins) */
	if (ctf->packets)
		return wmk_errorx(-EBUSY, "cannot set a filter: records have already been read; set it before, or "
					  "after a seek");
	decoders = calloc(ctf->n_traces ? ctf->n_traces : 1, sizeof(*decoders));
	if (!decoders)
		return wmk_error(-ENOMEM, "no memory for a filter");
	if (expression)
		err = wmk_filter_parse(expression, &expr);
	for (uint32_t i = 0; i < ctf->n_traces && err >= 0; i++)
		decoders[i] = ctf->traces[i]->decoder;
	if (err >= 0 && expr)
		err = wmk_read_filter_check(expr, decoders, ctf->n_traces);
	free(decoders);
	if (err < 0) {
		wmk_filter_expr_free(expr);
		return err;
	}
	wmk_filter_expr_free(ctf->filter);
	ctf->filter = expr;
	return 0;
}

API int waymark_ctf_seek(struct waymark_ctf *ctf, int64_t time)
{
	return merge_again(ctf, time);
}

API int64_t waymark_ctf_time(const struct waymark_ctf_record *record)
{
	return wmk_read_real_ns(record->stream);
}

API const char *waymark_ctf_event_name(const struct waymark_ctf_record *record)
{
	const char *name = record->stream->record.event->class->name;

	return wmk_or_empty(name);
}

API int waymark_ctf_event_level(const struct waymark_ctf_record *record)
{
	return record->stream->record.event->class->level;
}

API const char *waymark_ctf_trace_path(const struct waymark_ctf_record *record)
{
	return record->stream->trace->path;
}

API const char *waymark_ctf_stream_name(const struct waymark_ctf_record *record)
{
	return record->stream->name;
}
