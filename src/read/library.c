/* SPDX-License-Identifier: MIT */
/*
 * library.c - libwaymark-ctf: what include/waymark/ctf.h promises, over the merge (merge.h) and the walk (ctf/decode.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <waymark/ctf.h>

#include "base/error.h"
#include "ctf/wide.h"
#include "read/filter.h"
#include "read/merge.h"

#define API __attribute__((visibility("default")))
#define NAMES_MAX 64u              /* parts of a field's name */

/* Of each stream: its packet's head, which the window has left when the records come; and what it is filtered by. */
struct packet {
	struct packet *next;           /* all of a handle's */
	struct wmk_read_filter *filter; /* or NULL */
	uint8_t *bytes;
	size_t cap;
	struct wmk_ctf_walk walk;      /* before the packet's context */
	uint64_t context_at;
};

struct waymark_ctf_record {
	struct waymark_ctf *ctf;
	struct wmk_read_stream *stream;
};

struct waymark_ctf {
	struct waymark_ctf_options options;
	struct wmk_read_trace **traces;
	uint32_t n_traces;
	struct wmk_read_merge *merge;
	struct packet *packets;
	struct wmk_filter_expr *filter; /* or NULL */
	bool has_begun;
	struct waymark_ctf_record record;
	struct wmk_ctf_walk *walk;     /* that waymark_ctf_walk_next() goes on with */
	char digits[WMK_CTF_WIDE_DIGITS]; /* of the value that was given last, if it is wide */
};

/* ── errors ──────────────────────────────────────────────────────────────────────────────────────────── */

API const char *waymark_ctf_error_text(char *buf, size_t size)
{
	return wmk_error_text(buf, size);
}

/* Tell of the calling thread's error, which is over then. */
static void tell_damage(struct waymark_ctf *ctf)
{
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];

	if (ctf->options.damage)
		ctf->options.damage(ctf->options.data, wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
}

static void damage(void *data, const struct wmk_read_stream *stream, int err)
{
	wmk_error_add(err, "the trace '%.120s' is damaged", stream->trace->path);
	tell_damage(data);
}

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

static void forget_packets(struct waymark_ctf *ctf)
{
	while (ctf->packets) {
		struct packet *packet = ctf->packets;

		ctf->packets = packet->next;
		wmk_read_filter_free(packet->filter);
		free(packet->bytes);
		free(packet);
	}
}

/* All streams from their beginning; `from`: see waymark_ctf_seek(). */
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
	ctf->merge = merge;
	ctf->record.stream = NULL;
	return 0;
}

static void forget_traces(struct waymark_ctf *ctf, uint32_t from)
{
	while (ctf->n_traces > from)
		wmk_read_trace_close(ctf->traces[--ctf->n_traces]);
}

/* One that cannot be read is damage. */
static int open_one(struct waymark_ctf *ctf, const char *path, const char *given)
{
	struct wmk_read_trace **traces = realloc(ctf->traces, (ctf->n_traces + 1) * sizeof(*traces)), *trace;

	if (!traces)
		return wmk_error(-ENOMEM, "no memory for the trace '%.100s'", path);
	ctf->traces = traces;
	int err = wmk_read_trace_open(path, given, &trace);

	if (err == -ENOMEM)
		return err;
	if (err < 0) {
		wmk_error_add(err, "the trace '%.120s' cannot be read", path);
		tell_damage(ctf);
		return 0;
	}
	ctf->traces[ctf->n_traces++] = trace;
	if (trace->cut) {
		wmk_error_give(trace->cut);
		trace->cut = NULL;
		wmk_error_add(-EPROTO, "the metadata of '%.120s' ends too early", path);
		tell_damage(ctf);
	}
	return 0;
}

API int waymark_ctf_add(struct waymark_ctf *ctf, const char *path)
{
	struct wmk_read_paths paths = { NULL, 0, 0 };
	const uint32_t before = ctf->n_traces;
	int err;

	if (ctf->has_begun)
		return wmk_error_said(-EBUSY, "records have been read already: traces are added before");
	err = wmk_read_traces_find(path, &paths);
	for (uint32_t i = 0; i < paths.n && err >= 0; i++)
		err = open_one(ctf, paths.paths[i], path);
	wmk_read_paths_free(&paths);
	if (err >= 0 && ctf->n_traces == before)
		err = wmk_error_said(-EINVAL, "no trace in '%.100s' can be read", path);
	if (err >= 0)
		err = merge_again(ctf, INT64_MIN);
	if (err < 0)
		forget_traces(ctf, before);
	return err < 0 ? err : 0;
}

API int waymark_ctf_open(const struct waymark_ctf_options *options, const char *path, struct waymark_ctf **ctf)
{
	struct waymark_ctf *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory to read '%.100s'", path);
	if (options && options->size < sizeof(options->size)) {
		free(made);
		return wmk_error_said(-EINVAL, "the options do not begin with their size");
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
	forget_traces(ctf, 0);
	wmk_filter_expr_free(ctf->filter);
	free(ctf->traces);
	free(ctf);
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Keep the packet's head, and tell what was lost before it. */
static int keep_packet(struct waymark_ctf *ctf, struct wmk_read_stream *stream)
{
	const size_t size = (stream->packet.records_at + 7) / 8;
	struct packet *packet = stream->user;

	if (stream->lost && ctf->options.lost)
		ctf->options.lost(ctf->options.data, stream->file, stream->lost == WMK_READ_LOST_UNKNOWN ? UINT64_MAX : stream->lost, stream->ns);
	if (!packet) {
		packet = calloc(1, sizeof(*packet));
		if (!packet)
			return wmk_error(-ENOMEM, "no memory for the stream '%.100s'", stream->file);
		packet->next = ctf->packets;
		stream->user = ctf->packets = packet;
	}
	if (size > packet->cap) {
		uint8_t *bytes = realloc(packet->bytes, size);

		if (!bytes)
			return wmk_error(-ENOMEM, "no memory for the stream '%.100s'", stream->file);
		packet->bytes = bytes;
		packet->cap = size;
	}
	if (size)
		memcpy(packet->bytes, stream->bytes.bytes, size);
	packet->walk = stream->record.walk;
	packet->walk.in = (struct wmk_ctf_bytes){ packet->bytes, 0, stream->packet.records_at };
	packet->context_at = stream->packet.context_at;
	if (!packet->filter && ctf->filter) {
		int err = wmk_read_filter_create(ctf->filter, stream->decoder, &packet->filter);

		if (err < 0)
			return err;
	}
	return packet->filter ? wmk_read_filter_packet(packet->filter, stream) : 0;
}

/* 1, 0, or what is damaged in it. */
static int wanted(struct wmk_read_stream *stream)
{
	const struct packet *packet = stream->user;

	return packet->filter ? wmk_read_filter_wants(packet->filter, stream) : 1;
}

API int waymark_ctf_next(struct waymark_ctf *ctf, const struct waymark_ctf_record **record)
{
	struct wmk_read_stream *stream;
	int got;

	ctf->has_begun = true;
	while ((got = wmk_read_merge_next(ctf->merge, &stream)) == WMK_READ_PACKET || got == WMK_READ_RECORD) {
		int err = got == WMK_READ_PACKET ? keep_packet(ctf, stream) : wanted(stream);

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

	/* (what a packet's head says is looked at when it comes) */
	if (ctf->packets)
		return wmk_error_said(-EBUSY, "records have been read already: a filter is given before, or after a seek");
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
	return record->stream->ns;
}

API const char *waymark_ctf_event_name(const struct waymark_ctf_record *record)
{
	const char *name = record->stream->record.event->class->name;

	return name ? name : "";
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
	return record->stream->file;
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static void fill(struct waymark_ctf *ctf, const struct wmk_ctf_item *item, struct waymark_ctf_value *value)
{
	static const uint8_t kinds[] = { [WMK_CTF_FLOAT] = WAYMARK_CTF_REAL, [WMK_CTF_BOOL] = WAYMARK_CTF_BOOL, [WMK_CTF_STRING] = WAYMARK_CTF_TEXT,
					 [WMK_CTF_TEXT] = WAYMARK_CTF_TEXT, [WMK_CTF_BLOB] = WAYMARK_CTF_BYTES, [WMK_CTF_STRUCT] = WAYMARK_CTF_STRUCT,
					 [WMK_CTF_ARRAY] = WAYMARK_CTF_ARRAY, [WMK_CTF_VARIANT] = WAYMARK_CTF_VARIANT, [WMK_CTF_OPTIONAL] = WAYMARK_CTF_OPTIONAL };
	const struct wmk_ctf_op *op = item->op;
	const uint8_t code = op->code;

	*value = (struct waymark_ctf_value){ .kind = WAYMARK_CTF_END, .name = op->name };
	if (item->is_end)
		return;
	if (code == WMK_CTF_INT || code == WMK_CTF_ENUM || code == WMK_CTF_FLAGS)
		value->kind = op->is_signed ? WAYMARK_CTF_SIGNED : WAYMARK_CTF_UNSIGNED;
	else
		value->kind = (enum waymark_ctf_kind)kinds[code];
	if (code == WMK_CTF_FLOAT) {
		value->real = item->value.f;
	} else if (code == WMK_CTF_STRING || code == WMK_CTF_TEXT || code == WMK_CTF_BLOB) {
		value->text = item->text;
		value->length = item->len;
	} else {
		value->number = item->value.i;
	}
	if (item->is_wide) {
		value->text = ctf->digits;
		value->length = wmk_ctf_wide_digits(item, 10, ctf->digits);
	}
	if (code == WMK_CTF_ENUM)
		value->label = wmk_ctf_label(item);
}

/* The walk of a scope, before its first value; NULL: there is none. */
static struct wmk_ctf_walk *enter(const struct waymark_ctf_record *record, enum waymark_ctf_scope scope)
{
	struct wmk_read_stream *stream = record->stream;
	struct packet *packet = stream->user;
	struct wmk_ctf_record *decoded = &stream->record;
	struct wmk_ctf_walk *walk = scope == WAYMARK_CTF_PACKET ? &packet->walk : &decoded->walk;
	const struct wmk_ctf_program *program;

	switch (scope) {
	case WAYMARK_CTF_PACKET:
		program = &stream->decoder->packet_context;
		walk->at = packet->context_at;
		break;
	case WAYMARK_CTF_STREAM_CONTEXT:
		program = &stream->decoder->event_context;
		walk->at = decoded->common_at;
		break;
	case WAYMARK_CTF_EVENT_CONTEXT:
		program = &decoded->event->context;
		walk->at = decoded->context_at;
		break;
	case WAYMARK_CTF_PAYLOAD:
		program = &decoded->event->payload;
		walk->at = decoded->payload_at;
		break;
	default:
		return NULL;
	}
	if (scope != WAYMARK_CTF_PACKET)
		walk->in = stream->bytes;
	wmk_ctf_walk_enter(walk, program);
	return walk;
}

API void waymark_ctf_walk_begin(const struct waymark_ctf_record *record, enum waymark_ctf_scope scope)
{
	record->ctf->walk = enter(record, scope);
}

API int waymark_ctf_walk_next(const struct waymark_ctf_record *record, struct waymark_ctf_value *value)
{
	struct wmk_ctf_item item;

	if (!record->ctf->walk || !wmk_ctf_next(record->ctf->walk, &item))
		return 0;
	fill(record->ctf, &item, value);
	return 1;
}

/* One part of a field's name: a member's, or an element's number. */
struct part {
	const char *name;          /* NULL: `index` */
	size_t len;
	uint64_t index;
};

static int split(const char *name, struct part parts[NAMES_MAX])
{
	unsigned n = 0;

	while (*name) {
		char *end;

		if (n == NAMES_MAX)
			return -1;
		if (*name == '[') {
			parts[n++] = (struct part){ .index = strtoull(name + 1, &end, 10) };
			if (end == name + 1 || *end != ']')
				return -1;
			name = end + 1;
		} else {
			parts[n] = (struct part){ name, strcspn(name, ".["), 0 };
			name += parts[n].len;
			if (!parts[n++].len)
				return -1;
		}
		name += *name == '.';
	}
	return n ? (int)n : -1;
}

static bool is_container(const struct wmk_ctf_item *item)
{
	return !item->is_end && item->op->code >= WMK_CTF_STRUCT;
}

/* To the end of what has just begun. */
static void pass(struct wmk_ctf_walk *walk)
{
	const uint32_t depth = walk->depth;
	struct wmk_ctf_item item;

	while (walk->depth >= depth && wmk_ctf_next(walk, &item))
		;
}

static bool fits(const struct part *part, const struct wmk_ctf_item *item, uint64_t index)
{
	if (!part->name)
		return !item->op->name && index == part->index;
	return item->op->name && strlen(item->op->name) == part->len && memcmp(item->op->name, part->name, part->len) == 0;
}

/* The value of that name in what the walk has before it. A variant, and an optional, is what it holds. */
static bool find(struct wmk_ctf_walk *walk, const struct part *parts, unsigned n, struct wmk_ctf_item *item)
{
	unsigned matched = 0;
	uint64_t index = 0;

	if (!wmk_ctf_next(walk, item))
		return false;                  /* the structure itself */
	while (wmk_ctf_next(walk, item) && !item->is_end) {
		if (!fits(&parts[matched], item, index++)) {
			if (is_container(item))
				pass(walk);
			continue;
		}
		while (item->op->code == WMK_CTF_VARIANT || (item->op->code == WMK_CTF_OPTIONAL && item->value.u))
			if (!wmk_ctf_next(walk, item))
				return false;
		if (++matched == n)
			return true;
		if (!is_container(item))
			return false;
		index = 0;
	}
	return false;
}

API int waymark_ctf_field(const struct waymark_ctf_record *record, const char *name, struct waymark_ctf_value *value)
{
	struct part parts[NAMES_MAX];
	struct wmk_ctf_item item;
	const int n = split(name, parts);

	for (int scope = WAYMARK_CTF_PAYLOAD; n > 0 && scope >= WAYMARK_CTF_PACKET; scope--)
		if (find(enter(record, (enum waymark_ctf_scope)scope), parts, (unsigned)n, &item)) {
			fill(record->ctf, &item, value);
			return is_container(&item) ? -EISDIR : 0;
		}
	return -ENOENT;
}
