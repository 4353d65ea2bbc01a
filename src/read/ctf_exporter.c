/* SPDX-License-Identifier: MIT */
/*
 * ctf_exporter.c - export records as traces in Common Trace Format 1.8 or 2. The output directory contains one trace
 * for each input trace, with the name and the streams of the input trace.
 *
 *     metadata          generated again (ctf/rewrite.h)
 *     <stream>          packet by packet: the original head and context, then the selected records (ctf/copy.h)
 *     index/            positions and times of these packets, at the end (index_builder.h)
 *
 * At the end of a packet, the exporter corrects the sizes in the packet context. The header of a record may contain
 * only the low bits of the record's time. A header with only the low bits limits the time between the record and the
 * previous record. If the time between two records exceeds this limit, the exporter begins another packet, which
 * contains the full time in its packet context. After it has begun an additional packet, the exporter increases the
 * sequence numbers of all later packets. The exporter also writes packets without selected records, because packets
 * report lost records.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "ctf/bits.h"
#include "ctf/copy.h"
#include "ctf/rewrite.h"
#include "read/convert.h"
#include "read/export_path.h"
#include "read/index_builder.h"
#include "read/record_scope.h"
#include "read/write_all.h"

#define SPLIT_BITS (UINT64_C(64) << 23)   /* a packet that has grown to this size ends as soon as possible */

struct output_trace {
	struct output_trace *next;
	const struct wmk_read_trace *trace;
	char *sub;                 /* path below the directory */
	int dir;
	struct wmk_read_index_folder indexes;
};

struct output {
	char *directory;
	unsigned number;           /* the latest number that a path got */
	unsigned version;          /* 1 or 2 */
	int dir;
	struct output_trace *traces, **last;
	struct output_stream *streams;
	uint32_t lost;             /* enum wmk_ctf_lost */
	char remark[1024];
};

struct output_stream {
	struct output_stream *next;
	struct output *whole;
	struct output_trace *made;
	char *name;
	int fd;
	uint64_t at;               /* position of the packet in the file, in bytes */
	struct wmk_ctf_out out;
	struct wmk_ctf_spots spots; /* positions of values in the packet's head and context */
	uint64_t values[WMK_ROLES]; /* the values for the packet that is being written */
	uint8_t *head;             /* the original head and context */
	size_t head_cap;
	uint64_t head_bits;
	bool is_open, has_records;
	bool has_end;
	uint64_t end;              /* as the packet declares it */
	uint64_t last;             /* clock value of the previous record, or of the packet's begin */
	uint64_t splits;           /* number of additional packets */
	struct wmk_read_index_builder index;
	struct wmk_ctf_index_entry entry; /* of the packet; complete at its end */
};

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_free(const void *data, const char *sub)
{
	const struct output *whole = data;

	for (const struct output_trace *other = whole->traces; other; other = other->next)
		if (other->sub && wmk_read_paths_meet(other->sub, sub))
			return false;
	return true;
}

/* "" for a single trace at the path that the user gave. */
static char *sub_of(struct output *whole, const struct wmk_read_trace *trace)
{
	if (trace->is_given && !whole->traces->next)
		return strdup("");
	return wmk_read_export_path(trace->below, is_free, whole, &whole->number);
}

static bool is_empty(int dir)
{
	DIR *list = fdopendir(dup(dir));
	const struct dirent *entry = NULL;

	while (list && (entry = readdir(list)) && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")))
		;
	if (list)
		closedir(list);
	return !entry;
}

/* Create the output directory, or use an empty one. */
static int open_directory(struct output *whole)
{
	if (mkdir(whole->directory, 0700) < 0 && errno != EEXIST)
		return wmk_error(-errno, "cannot create the directory '%.200s'", whole->directory);
	whole->dir = open(whole->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (whole->dir < 0)
		return wmk_error(-errno, "cannot open the directory '%.200s'", whole->directory);
	return is_empty(whole->dir)
		       ? 0
		       : wmk_error(-ENOTEMPTY, "cannot write a trace to '%.200s': the directory is not empty",
				   whole->directory);
}

/* Create the missing components of the trace's path one after the other, without following symbolic links. */
static int open_trace(struct output *whole, struct output_trace *made)
{
	int dir = dup(whole->dir), inner;
	char *path, *rest;

	made->sub = sub_of(whole, made->trace);
	path = rest = made->sub ? strdup(made->sub) : NULL;
	if (!path || dir < 0) {
		free(path);
		return wmk_error(path ? -errno : -ENOMEM, "cannot create the trace '%.200s'", wmk_or_empty(made->sub));
	}
	for (char *step; (step = strsep(&rest, "/")) && dir >= 0;) {
		if (!*step)
			continue;
		inner = mkdirat(dir, step, 0700) < 0 && errno != EEXIST
				? -1
				: openat(dir, step, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(dir);
		dir = inner;
	}
	free(path);
	made->dir = dir;
	wmk_read_index_folder_begin(&made->indexes, made->trace, whole->directory, dir);
	return dir < 0 ? wmk_error(-errno, "cannot create '%.200s' in '%.200s'", made->sub, whole->directory) : 0;
}

static int make_file(const struct output *whole, const struct output_trace *made, const char *name)
{
	const int fd = openat(made->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? wmk_error(-errno, "cannot create '%.240s' in '%.200s/%.200s'", name, whole->directory,
				  made->sub)
		      : fd;
}

static int put_metadata(struct output *whole, const struct output_trace *made)
{
	struct wmk_ctf_text_buffer text = { NULL, 0, 0, 0 };
	uint32_t lost = 0;
	int err = whole->version == 2 ? wmk_ctf_rewrite_json(made->trace->decoder, &text, &lost) :
					wmk_ctf_rewrite_tsdl(made->trace->decoder, &text, &lost);

	int fd = err < 0 ? -1 : make_file(whole, made, "metadata");

	if (err < 0)
		wmk_error_add(err, "cannot express '%.200s' in Common Trace Format %s", made->trace->path,
			      whole->version == 2 ? "2" : "1.8");
	else if (fd < 0)
		err = fd;
	else if ((err = wmk_read_write_all(fd, text.text, text.len, 0)) < 0)
		wmk_error(err, "cannot write the metadata of '%.200s'", whole->directory);
	if (fd >= 0)
		close(fd);
	whole->lost |= lost;
	wmk_ctf_text_free(&text);
	return err;
}

/* ── the export ──────────────────────────────────────────────────────────────────────────────────────── */

static int create(const char *directory, unsigned version, void **made)
{
	struct output *whole = calloc(1, sizeof(*whole));

	*made = whole;
	if (!whole)
		return wmk_error(-ENOMEM, "no memory for traces");
	whole->directory = strdup(directory);
	if (!whole->directory) {
		free(whole);
		*made = NULL;
		return wmk_error(-ENOMEM, "no memory for traces");
	}
	whole->version = version;
	whole->dir = -1;
	whole->last = &whole->traces;
	return 0;
}

static int ctf18_create(const char *directory, void **whole)
{
	return create(directory, 1, whole);
}

static int ctf2_create(const char *directory, void **whole)
{
	return create(directory, 2, whole);
}

static int ctf_trace(void *data, const struct wmk_read_trace *trace)
{
	struct output *whole = data;
	struct output_trace *made = calloc(1, sizeof(*made));

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a trace");
	made->trace = trace;
	made->dir = made->indexes.dir = -1;
	*whole->last = made;
	whole->last = &made->next;
	return 0;
}

/* Write the metadata of all traces first, so that the export fails immediately if the format cannot express a trace. */
static int ctf_begin(void *data, struct wmk_print_text *out)
{
	struct output *whole = data;
	int err = open_directory(whole);

	(void)out;
	for (struct output_trace *made = whole->traces; made && err >= 0; made = made->next) {
		err = open_trace(whole, made);
		err = err < 0 ? err : put_metadata(whole, made);
		err = err < 0 ? err : wmk_read_trace_copy_points(made->trace, made->dir);
	}
	return err;
}

static void ctf_free(void *data)
{
	struct output *whole = data;

	while (whole->traces) {
		struct output_trace *made = whole->traces;

		whole->traces = made->next;
		wmk_read_index_folder_free(&made->indexes);
		if (made->dir >= 0)
			close(made->dir);
		free(made->sub);
		free(made);
	}
	if (whole->dir >= 0)
		close(whole->dir);
	free(whole->directory);
	free(whole);
}

static const char *lost_words(enum wmk_ctf_lost lost)
{
	static const char *const words[WMK_CTF_LOSTS] = {
		[WMK_CTF_LOST_FLAGS] = "the names of bits",
		[WMK_CTF_LOST_MEDIA] = "media types",
		[WMK_CTF_LOST_BOOL] = "booleans (they are enumerations)",
		[WMK_CTF_LOST_OPTIONAL] = "optional fields (they are variants)",
		[WMK_CTF_LOST_SELECTOR] = "numbers as selectors of variants (labels were added)",
		[WMK_CTF_LOST_NAME] = "names that are not identifiers (they were changed)",
		[WMK_CTF_LOST_TRACE] = "the names of traces and streams",
		[WMK_CTF_LOST_ROLE] = "more than one role of a field (one role was kept)",
		[WMK_CTF_LOST_ATTRIBUTE] = "attributes, namespaces and unique ids",
		[WMK_CTF_LOST_ORIGIN] =
			"the accuracy of clocks, and ids and origins of clocks that 1.8 cannot express",
		[WMK_CTF_LOST_CLOCK] = "the clock of a text field, or a clock with a long name",
		[WMK_CTF_LOST_OPTION] = "options of variants that no value selects",
		[WMK_CTF_LOST_LABEL] =
			"labels of values that a field with a role cannot hold (such fields are unsigned)",
		[WMK_CTF_LOST_TYPE] = "types of scopes that the format does not have",
	};

	return words[lost];
}

static const char *ctf_remark(void *data)
{
	struct output *whole = data;
	size_t len = 0;

	for (unsigned i = 0; i < WMK_CTF_LOSTS; i++)
		if (whole->lost >> i & 1)
			len += (size_t)snprintf(whole->remark + len, sizeof(whole->remark) - len, "%s%s",
						len                   ? "; "
						: whole->version == 2 ? "CTF 2 cannot express: "
								      : "CTF 1.8 cannot express: ",
						lost_words(i));
	return len ? whole->remark : NULL;
}

/* ── packets ─────────────────────────────────────────────────────────────────────────────────────────── */

/* The declared sequence number plus the number of additional packets, modulo the field's range. UINT64_MAX: none. */
static uint64_t sequence_of(const struct output_stream *stream)
{
	const struct wmk_ctf_spot *at = &stream->spots.of[WMK_ROLE_SEQUENCE];

	return at->op ? (at->value + stream->splits) & wmk_bits_mask(at->op->width ? at->op->width : 64) : UINT64_MAX;
}

/* Complete the packet after its last record. */
static int end_packet(struct output_stream *stream, uint64_t end)
{
	const struct wmk_ctf_spot *of = stream->spots.of;
	const uint64_t content = stream->out.at, size = (content + 7) & ~UINT64_C(7);
	struct wmk_ctf_index_entry *entry = &stream->entry;
	int err;

	if (!stream->is_open)
		return 0;
	stream->is_open = false;
	if (content % 8 && !(of[WMK_ROLE_CONTENT_SIZE].op && of[WMK_ROLE_PACKET_SIZE].op))
		return wmk_error(-ENOTSUP,
				 "cannot write '%.240s': the last selected record ends within a byte, and the packets "
				 "do not declare both sizes (content size, packet size)",
				 stream->name);
	entry->sequence = sequence_of(stream);
	stream->values[WMK_ROLE_CONTENT_SIZE] = content;
	stream->values[WMK_ROLE_PACKET_SIZE] = of[WMK_ROLE_CONTENT_SIZE].op ? size : content;
	if (stream->has_end)
		stream->values[WMK_ROLE_END] = end;
	if (stream->splits)
		stream->values[WMK_ROLE_SEQUENCE] = entry->sequence;
	err = wmk_ctf_patch(&stream->out, &stream->spots, stream->values);
	if (err < 0)
		return err;
	entry->offset = stream->at;
	entry->size = size;
	entry->content = content;
	entry->end_ts = end;
	stream->out.at = size;
	err = wmk_read_write_all(stream->fd, stream->out.bytes, (size_t)(size / 8), stream->at);
	stream->at += size / 8;
	return err < 0 ? wmk_error(err, "cannot write '%.240s' of '%.200s'", stream->name, stream->whole->directory) :
			 wmk_read_index_builder_add(&stream->index, entry);
}

/* Keep the header and the context of the packet that was read, because additional packets begin with them. */
static int keep_head(struct output_stream *stream)
{
	const size_t len = (size_t)((stream->out.at + 7) / 8);

	if (len > stream->head_cap) {
		uint8_t *head = realloc(stream->head, len);

		if (!head)
			return wmk_error(-ENOMEM, "no memory for a packet");
		stream->head = head;
		stream->head_cap = len;
	}
	if (len)
		memcpy(stream->head, stream->out.bytes, len);
	stream->head_bits = stream->out.at;
	return 0;
}

/* Set the known parts of the index entry. If packets declare no size or no start time, no index is written. */
static void begin_entry(struct output_stream *stream, const struct wmk_read_stream *read)
{
	const struct wmk_ctf_spot *of = stream->spots.of;

	if (!of[WMK_ROLE_PACKET_SIZE].op || !read->packet.has_begin)
		wmk_read_index_builder_drop(&stream->index);
	stream->entry = (struct wmk_ctf_index_entry){ .begin_ts = read->packet.begin,
						      .lost = read->packet.lost,
						      .stream_id = read->decoder->class->id,
						      .instance = of[WMK_ROLE_STREAM].op ? of[WMK_ROLE_STREAM].value
											 : UINT64_MAX };
}

static int ctf_packet(void *state, struct wmk_read_stream *read)
{
	const struct wmk_ctf_class *class = read->trace->decoder->class;
	struct output_stream *stream = state;
	struct wmk_ctf_walk walk;
	int err = end_packet(stream, stream->end);

	if (err < 0)
		return err;
	wmk_ctf_out_cut(&stream->out, 0);
	/* In CTF 2, the UUID of a packet must be the UUID of the metadata. */
	stream->spots = (struct wmk_ctf_spots){ .uuid = class->has_uuid ? class->uuid : NULL };
	wmk_ctf_walk_begin(&walk, &read->bytes, 0);
	err = wmk_ctf_copy(&walk, &read->trace->decoder->packet_header, &stream->out, &stream->spots);
	if (err >= 0)
		err = wmk_ctf_copy(&walk, &read->decoder->packet_context, &stream->out, &stream->spots);
	for (unsigned role = 0; role < WMK_ROLES; role++)
		stream->values[role] = stream->spots.of[role].value;
	if (err >= 0)
		err = keep_head(stream);
	begin_entry(stream, read);
	stream->is_open = err >= 0;
	stream->has_records = false;
	stream->has_end = read->packet.has_end;
	stream->end = read->packet.end;
	/* (without a packet begin, times continue from the previous packet) */
	if (read->packet.has_begin)
		stream->last = read->packet.begin;
	return err;
}

static bool can_begin_anew(const struct output_stream *stream)
{
	return stream->spots.of[WMK_ROLE_BEGIN].op && stream->spots.of[WMK_ROLE_PACKET_SIZE].op;
}

/* Begin another packet with the time of the next record, which is too late for a header with only the low bits. */
static int begin_anew(struct output_stream *stream, uint64_t time)
{
	int err = 0;

	if (!can_begin_anew(stream))
		return wmk_error(-ENOTSUP,
				 "'%.240s': its packets do not declare their begin and size, so no record "
				 "in them can be omitted",
				 stream->name);
	if (stream->has_records) {
		err = end_packet(stream, stream->last);
		stream->splits++;
		if (err >= 0)
			err = wmk_ctf_out_begin(&stream->out, stream->head, stream->head_bits);
	}
	stream->values[WMK_ROLE_BEGIN] = time;
	stream->is_open = err >= 0;
	stream->has_records = false;
	stream->last = stream->entry.begin_ts = time;
	return err;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Copy the record's header. *time: the time in the output, as readers derive it from the header and earlier records. */
static int copy_header(struct output_stream *stream, struct wmk_read_stream *read, struct wmk_ctf_walk *walk,
		       uint64_t *time)
{
	int err;

	*walk = read->record.walk;
	walk->in = read->bytes;
	walk->at = read->record.at;
	walk->err = 0;
	err = wmk_ctf_copy(walk, &read->decoder->event_header, &stream->out, NULL);
	if (err < 0)
		return err;
	walk->at = read->record.at;
	*time = stream->last;
	err = wmk_ctf_header_time(&read->decoder->event_header, walk, time);
	if (err == 0)
		*time = read->record.time;
	return err < 0 ? err : 0;
}

/* Return whether the record may have bytes that are shared by a big-endian and a little-endian number. */
static bool mixes_orders(const struct wmk_read_stream *read)
{
	return (read->decoder->event_header.bit_orders | read->decoder->event_context.bit_orders |
		read->record.event->context.bit_orders | read->record.event->payload.bit_orders) == 3;
}

static int copy_record(struct output_stream *stream, struct wmk_read_stream *read)
{
	struct wmk_ctf_record *record = &read->record;
	const uint64_t before = stream->out.at;
	struct wmk_ctf_walk walk;
	uint64_t time;
	int err = copy_header(stream, read, &walk, &time);

	if (err >= 0 &&
	    (time != record->time || (before > SPLIT_BITS && can_begin_anew(stream) && stream->has_records))) {
		wmk_ctf_out_cut(&stream->out, before);
		err = begin_anew(stream, record->time);
		if (err >= 0)
			err = copy_header(stream, read, &walk, &time);
		if (err >= 0 && time != record->time)
			err = wmk_error(-ENOTSUP,
					"cannot omit records of '%.240s': without the earlier records, no packet can "
					"express the time of the next record",
					stream->name);
	}
	if (err >= 0 && (stream->out.at - walk.at) % 8 && mixes_orders(read))
		err = wmk_error(-ENOTSUP,
				"cannot omit records of '%.240s': numbers of both byte orders share bytes",
				stream->name);
	for (unsigned part = WMK_READ_COMMON; part < WMK_READ_SCOPES && err >= 0; part++)
		err = wmk_ctf_copy(&walk, wmk_read_scope_program(read->decoder, record->event, part), &stream->out,
				   NULL);
	return err;
}

static int ctf_record(void *state, struct wmk_read_stream *read, struct wmk_print_text *out)
{
	struct output_stream *stream = state;
	const uint64_t before = stream->out.at, splits = stream->splits;
	int err;

	(void)out;
	if (!stream->is_open)
		return 0;
	err = copy_record(stream, read);
	if (err < 0) {
		if (stream->is_open)
			wmk_ctf_out_cut(&stream->out, splits == stream->splits ? before : stream->head_bits);
		return err;
	}
	stream->has_records = true;
	stream->last = read->record.time;
	return 0;
}

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

static void ctf_stream_free(void *state)
{
	struct output_stream *stream = state;

	if (stream->fd >= 0)
		close(stream->fd);
	wmk_read_index_builder_free(&stream->index);
	free(stream->out.bytes);
	free(stream->head);
	free(stream->name);
	free(stream);
}

static int ctf_stream(void *data, const struct wmk_read_stream *read, void **state)
{
	struct output *whole = data;
	struct output_stream *stream = calloc(1, sizeof(*stream));

	*state = stream;
	if (!stream)
		return wmk_error(-ENOMEM, "no memory for a stream");
	stream->fd = -1;
	stream->whole = whole;
	stream->made = whole->traces;
	while (stream->made->trace != read->trace)
		stream->made = stream->made->next;
	stream->name = strdup(read->name);
	if (!stream->name)
		return wmk_error(-ENOMEM, "no memory for a stream");
	stream->fd = make_file(whole, stream->made, stream->name);
	if (stream->fd < 0)
		return stream->fd;
	wmk_read_index_builder_begin(&stream->index, &stream->made->indexes, read, stream->name);
	stream->next = whole->streams;
	whole->streams = stream;
	return 0;
}

/* Close the file and check the result, because the kernel may report a full disk only when the file is closed. */
static int close_file(struct output_stream *stream)
{
	const int fd = stream->fd;

	stream->fd = -1;
	return fd >= 0 && close(fd) < 0
		       ? wmk_error(-errno, "cannot write '%.240s' of '%.200s'", stream->name, stream->whole->directory)
		       : 0;
}

static int ctf_end(void *data, struct wmk_print_text *out)
{
	struct output *whole = data;
	int err = 0;

	(void)out;
	for (struct output_stream *stream = whole->streams; stream && err >= 0; stream = stream->next)
		err = end_packet(stream, stream->end);
	for (struct output_stream *stream = whole->streams; stream && err >= 0; stream = stream->next)
		err = close_file(stream);
	for (struct output_stream *stream = whole->streams; stream && err >= 0; stream = stream->next)
		err = wmk_read_index_builder_write(&stream->index);
	/* All data has been written. Rename the indexes to their final names. */
	for (struct output_stream *stream = whole->streams; stream && err >= 0; stream = stream->next)
		err = wmk_read_index_builder_name(&stream->index);
	return err;
}

#define FORM(name_, create_) { \
	.name = name_, .is_binary = true, .is_directory = true, .wants_all_packets = true, \
	.create = create_, .trace = ctf_trace, .begin = ctf_begin, .end = ctf_end, .remark = ctf_remark, \
	.free = ctf_free, .stream = ctf_stream, .stream_free = ctf_stream_free, \
	.packet = ctf_packet, .record = ctf_record, \
}

const struct wmk_read_exporter wmk_read_ctf18 = FORM("ctf", ctf18_create);
const struct wmk_read_exporter wmk_read_ctf2 = FORM("ctf-2", ctf2_create);
