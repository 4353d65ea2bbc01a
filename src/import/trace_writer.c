/* SPDX-License-Identifier: MIT */
/*
 * trace_writer.c - write records to a trace on disk (see trace_writer.h).
 */
#include "import/trace_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "import/import.h"
#include "store/store.h"

#define PACKET_FULL (256u * 1024)       /* bytes of content at which a packet is written */
/*
 * A stream class may get more streams as long as the trace has fewer than STREAMS_MORE streams. The remaining streams
 * are reserved for the first stream of each stream class.
 */
#define STREAMS_MORE (WMK_IMPORT_STREAMS - WMK_IMPORT_CONTEXTS)

struct import_stream {
	unsigned contexts;
	struct wmk_store_stream *out;
	struct wmk_ctf_packet head;
	/* the current packet: room for its header, then its records; empty if no packet is open */
	struct wmk_import_bytes bytes;
	uint64_t n;                     /* number of records in the current packet */
	uint64_t last;                  /* time of the stream's last record */
};

struct stream_class {
	bool is_declared;
	uint32_t id, n_events;
	uint64_t n_streams;
};

struct wmk_import_trace {
	const char *format;
	uint8_t uuid[16];
	struct wmk_store *store;
	struct stream_class classes[WMK_IMPORT_CONTEXTS];    /* indexed by contexts */
	uint32_t n_classes;
	struct import_stream streams[WMK_IMPORT_STREAMS];
	unsigned n_streams;
	uint64_t records;               /* records written */
};

/* ── metadata ────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Append a declaration to the metadata, unless the caller failed to build its text (`err`). The function frees the
 * text, even after an error.
 */
static int declare(struct wmk_import_trace *trace, struct wmk_ctf_text_buffer *text, int err)
{
	if (err == 0)
		err = wmk_store_metadata(trace->store, text->text, text->len);
	wmk_ctf_text_free(text);
	return err;
}

int wmk_import_trace_begin(struct wmk_import_trace *trace, const char *clock_words)
{
	const struct wmk_ctf_env source = { .name = "source", .text = trace->format };
	struct wmk_clock clock = { .kind = WMK_CLOCK_MONOTONIC, .freq = 1000000000, .precision = 1 };
	struct wmk_ctf_trace about = { .name = trace->format, .clock = &clock, .env = &source, .n_env = 1 };
	struct wmk_ctf_text_buffer text = { .text = NULL };
	const time_t now = time(NULL);
	char created[32];
	struct tm tm;

	strcpy(clock.name, "log");
	strncpy(clock.description, clock_words, sizeof(clock.description) - 1);
	if (gmtime_r(&now, &tm) && strftime(created, sizeof(created), "%Y%m%dT%H%M%S+0000", &tm))
		about.created = created;
	memcpy(about.uuid, trace->uuid, sizeof(about.uuid));
	return declare(trace, &text, wmk_ctf_trace_text(&text, &about));
}

static int declare_stream(struct wmk_import_trace *trace, unsigned contexts)
{
	struct stream_class *class = &trace->classes[contexts];
	const struct wmk_field *fields[WMK_IMPORT_CONTEXTS];
	struct wmk_ctf_text_buffer text = { .text = NULL };
	unsigned n = 0;
	int err;

	if (class->is_declared)
		return 0;
	for (unsigned bit = 1; bit < WMK_IMPORT_CONTEXTS; bit *= 2)
		if (contexts & bit)
			fields[n++] = wmk_import_context(bit);
	err = declare(trace, &text, wmk_ctf_stream_text(&text, WMK_CTF_1_8, trace->n_classes, fields, n));
	if (err < 0)
		return err;
	class->is_declared = true;
	class->id = trace->n_classes++;
	return 0;
}

static int declare_event(struct wmk_import_trace *trace, struct wmk_import_class *class)
{
	struct stream_class *stream = &trace->classes[class->contexts];
	const struct wmk_event_class event = { .provider = class->provider,
					       .name = class->name,
					       .level = WAYMARK_LEVEL_INFO,
					       .n_fields = class->n,
					       .fields = class->fields };
	struct wmk_ctf_text_buffer text = { .text = NULL };
	int err;

	if (class->is_declared)
		return 0;
	err = declare(trace, &text, wmk_ctf_event_text(&text, WMK_CTF_1_8, stream->id, stream->n_events, &event));
	if (err < 0)
		return err;
	class->is_declared = true;
	class->id = stream->n_events++;
	return 0;
}

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

static int packet_write(struct wmk_import_trace *trace, struct import_stream *stream)
{
	uint8_t end[WMK_CTF_END_MAX];
	struct iovec iov[2];
	int err;

	if (stream->bytes.len <= WMK_CTF_PACKET_ROOM)
		return 0;
	stream->head.content = stream->bytes.len - WMK_CTF_PACKET_ROOM;
	stream->head.end_ts = stream->last;
	stream->head.pad = 0;
	wmk_store_stream_prepare(stream->out, &stream->head);
	wmk_ctf_packet_encode(stream->bytes.at, trace->uuid, &stream->head);
	iov[0] = (struct iovec){ .iov_base = stream->bytes.at, .iov_len = stream->bytes.len };
	iov[1] = (struct iovec){ .iov_base = end, .iov_len = wmk_ctf_packet_end(end, &stream->head) };
	err = wmk_store_stream_append(stream->out, iov, 2, &stream->head);
	if (err < 0)
		return err;
	stream->head.sequence++;
	stream->head.ring_position += stream->head.content;
	stream->bytes.len = 0;
	trace->records += stream->n;
	stream->n = 0;
	return 0;
}

static int stream_begin(struct wmk_import_trace *trace, unsigned contexts, struct import_stream **begun)
{
	struct import_stream *stream = &trace->streams[trace->n_streams];
	struct stream_class *class = &trace->classes[contexts];
	char name[64];
	int err = declare_stream(trace, contexts);

	if (err < 0)
		return err;
	snprintf(name, sizeof(name), "%.32s%u_%llu", trace->format, class->id, (unsigned long long)class->n_streams);
	err = wmk_store_stream_create(trace->store, name, NULL, &stream->out);
	if (err < 0)
		return err;
	stream->contexts = contexts;
	stream->head = (struct wmk_ctf_packet){ .stream_id = class->id,
						.instance = class->n_streams++,
						.cpu = WMK_CTF_CPU_NONE };
	trace->n_streams++;
	*begun = stream;
	return 0;
}

/*
 * Select the stream for a record. The last record of the selected stream must not be later than `time`. If several
 * streams are possible, select the stream with the latest last record. If the last record of every stream is later,
 * create a stream. At the limit of streams, select the stream with the earliest last record.
 */
static int stream_for(struct wmk_import_trace *trace, unsigned contexts, uint64_t time, struct import_stream **found)
{
	struct import_stream *near = NULL, *least = NULL;

	for (unsigned i = 0; i < trace->n_streams; i++) {
		struct import_stream *stream = &trace->streams[i];

		if (stream->contexts != contexts)
			continue;
		if (stream->last <= time && (!near || stream->last > near->last))
			near = stream;
		if (!least || stream->last < least->last)
			least = stream;
	}
	if (!near && (!least || trace->n_streams < STREAMS_MORE))
		return stream_begin(trace, contexts, found);
	*found = near ? near : least;
	return 0;
}

static void put_header(struct import_stream *stream, uint32_t id, uint64_t time, uint64_t before)
{
	uint8_t head[WMK_CTF_RECORD_HEAD];

	wmk_import_put(&stream->bytes, head, wmk_ctf_record_encode(head, id, time, before));
}

int wmk_import_trace_write(struct wmk_import_trace *trace, const struct wmk_import_record *record, uint64_t *late)
{
	static const uint8_t room[WMK_CTF_PACKET_ROOM];
	uint64_t time = (uint64_t)record->ns;
	struct import_stream *stream;
	int err = stream_for(trace, record->class->contexts, time, &stream);

	if (err == 0)
		err = declare_event(trace, record->class);
	if (err < 0)
		return err;
	if (time < stream->last) {
		time = stream->last;
		(*late)++;
	}
	if (!stream->bytes.len) {
		wmk_import_put(&stream->bytes, room, sizeof(room));
		stream->head.begin_ts = time;
		stream->last = time;
	}
	put_header(stream, record->class->id, time, stream->last);
	wmk_import_put(&stream->bytes, record->payload, record->len);
	stream->last = time;
	stream->n++;
	if (stream->bytes.failed)
		return wmk_error(-ENOMEM, "no memory for a packet");
	return stream->bytes.len < PACKET_FULL ? 0 : packet_write(trace, stream);
}

/* ── the whole ───────────────────────────────────────────────────────────────────────────────────────── */

int wmk_import_trace_create(const char *path, const char *format, struct wmk_import_trace **result)
{
	struct wmk_import_trace *trace = calloc(1, sizeof(*trace));
	int err;

	if (!trace)
		return wmk_error(-ENOMEM, "no memory for a trace");
	trace->format = format;
	if (getrandom(trace->uuid, sizeof(trace->uuid), 0) != (ssize_t)sizeof(trace->uuid)) {
		free(trace);
		return wmk_error(-EIO, "no random numbers for the UUID of the trace");
	}
	/* RFC 4122, version 4: a random UUID. */
	trace->uuid[6] = (uint8_t)((trace->uuid[6] & 0x0f) | 0x40);
	trace->uuid[8] = (uint8_t)((trace->uuid[8] & 0x3f) | 0x80);
	/* The files of the trace are in `path` itself, not in a subdirectory. */
	err = wmk_store_create(path, ".", &trace->store);
	if (err < 0) {
		free(trace);
		return err;
	}
	*result = trace;
	return 0;
}

int wmk_import_trace_close(struct wmk_import_trace *trace, uint64_t *records)
{
	int err = 0, now;

	for (unsigned i = 0; i < trace->n_streams; i++) {
		struct import_stream *stream = &trace->streams[i];

		now = packet_write(trace, stream);
		err = err < 0 ? err : now;
		now = wmk_store_stream_close(stream->out);
		err = err < 0 ? err : now;
		free(stream->bytes.at);
	}
	*records = trace->records;
	wmk_store_discard(trace->store);
	free(trace);
	return err;
}
