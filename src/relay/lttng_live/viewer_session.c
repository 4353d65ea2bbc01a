/* SPDX-License-Identifier: MIT */
/*
 * viewer_session.c - find the traces and streams of a session, repeatedly, while they grow. viewer_session.h describes
 * the order.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "ctf/writer.h"
#include "read/trace.h"
#include "relay/lttng_live/viewer_session.h"
#include "store/followed.h"

#define SCAN_NS 20000000u
#define DEPTH_MAX 8                /* depth of a trace below its session: ust/uid/UID/64-bit needs 4 */
#define PATH_SIZE 1024
/* maximum time between the crash of a writer and the next writer opening the trace */
#define NEXT_WRITER_NS 5000000000u
/* maximum time from the creation of a trace to its writer's lock, and from the end of a chunk to the next chunk */
#define SUCCESSOR_NS 1000000000u
/*
 * The maximum time for which a trace without a low-water time delays packets. For example, a trace with a clock plug-in
 * has no low-water time.
 */
#define WATER_NS 1000000000u

void wmk_viewer_session_init(struct viewer_session *session, int directory, bool is_from_now)
{
	*session = (struct viewer_session){ .directory = directory, .next_id = 1, .is_from_now = is_from_now };
}

/* ── open and close ──────────────────────────────────────────────────────────────────────────────────── */

static void stream_close(struct viewer_stream *stream)
{
	wmk_read_index_close(&stream->index);
	if (stream->data >= 0)
		close(stream->data);
	free(stream->name);
	free(stream);
}

static void trace_close(struct viewer_trace *trace)
{
	const int descriptors[] = { trace->directory, trace->metadata, trace->live };

	while (trace->streams) {
		struct viewer_stream *stream = trace->streams;

		trace->streams = stream->next;
		stream_close(stream);
	}
	for (size_t i = 0; i < sizeof(descriptors) / sizeof(*descriptors); i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	free(trace->path);
	free(trace);
}

void wmk_viewer_session_close(struct viewer_session *session)
{
	while (session->traces) {
		struct viewer_trace *trace = session->traces;

		session->traces = trace->next;
		trace_close(trace);
	}
	free(session->clock_offset);
	close(session->directory);
}

/* Take ownership of the descriptor of a trace directory. */
static void trace_add(struct viewer_session *session, int directory, const struct stat *st, const char *path)
{
	struct viewer_trace *trace = calloc(1, sizeof(*trace));

	if (!trace) {
		close(directory);
		return;
	}
	*trace = (struct viewer_trace){ .directory = directory, .live = -1, .path = strdup(path),
					.device = st->st_dev, .number = st->st_ino,
					.since = wmk_clock_monotonic(), .is_found = true,
					.id = session->next_id, .metadata_id = session->next_id + 1 };
	trace->metadata = openat(directory, "metadata", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (trace->metadata < 0 || !trace->path) {
		trace_close(trace);
		return;
	}
	session->next_id += 2;
	trace->live = wmk_store_follow(directory);
	trace->next = session->traces;
	session->traces = trace;
}

/* ── streams of a trace ──────────────────────────────────────────────────────────────────────────────── */

/* The number of the stream class is in the header of the first packet. */
static bool read_class(struct viewer_stream *stream)
{
	uint8_t header[WMK_CTF_PACKET_ROOM];
	struct wmk_ctf_packet packet;

	if (pread(stream->data, header, sizeof(header), 0) != sizeof(header) ||
	    wmk_ctf_packet_decode(header, header + 4, &packet) < 0) {
		wmk_error_clear();
		return false;
	}
	stream->class_id = packet.stream_id;
	return true;
}

static void stream_add(struct viewer_session *session, struct viewer_trace *trace, const char *name, uint64_t number)
{
	struct viewer_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return;
	*stream = (struct viewer_stream){ .trace = trace, .index.fd = -1, .name = strdup(name),
					  .data = openat(trace->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) };
	if (stream->data < 0 || !stream->name ||
	    wmk_read_index_open(&stream->index, trace->directory, name) < 0 || stream->index.fd < 0 ||
	    !wmk_read_index_count(&stream->index) || !read_class(stream)) {
		/* The stream may still be incomplete, so the next scan tries again. */
		wmk_error_clear();
		stream_close(stream);
		return;
	}
	stream->id = session->next_id++;
	stream->number = number;
	stream->given = session->floor;
	if (session->is_from_now && !session->scanned) {
		stream->n_given = wmk_read_index_count(&stream->index);
		if (wmk_read_index_get(&stream->index, stream->n_given - 1, &stream->last) == 1)
			stream->given = stream->last.end;
	}
	stream->next = trace->streams;
	trace->streams = stream;
}

/*
 * True if the file is already known as a stream. If the name of a known stream now belongs to another file, the known
 * stream gets no more data.
 */
static bool is_known(struct viewer_trace *trace, const char *name, uint64_t number)
{
	bool is = false;

	for (struct viewer_stream *stream = trace->streams; stream; stream = stream->next) {
		if (stream->is_removed || strcmp(stream->name, name) != 0)
			continue;
		stream->is_removed = stream->number != number;
		is = is || !stream->is_removed;
	}
	return is;
}

/* The state of a search through the files of a session. */
struct viewer_walk {
	struct viewer_session *session;
	struct viewer_trace *trace;      /* of find_streams() */
	const char *path;                /* of find_traces(), as `depth` */
	unsigned depth;
};

static int find_stream(void *data, int at, const char *name)
{
	const struct viewer_walk *walk = data;
	struct stat st;

	if (*name != '.' && strcmp(name, "metadata") != 0 && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && !is_known(walk->trace, name, st.st_ino))
		stream_add(walk->session, walk->trace, name, st.st_ino);
	return 0;
}

static void find_streams(struct viewer_session *session, struct viewer_trace *trace)
{
	struct viewer_walk walk = { .session = session, .trace = trace };
	struct stat st;

	wmk_store_each_entry(openat(trace->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), find_stream, &walk);
	for (struct viewer_stream *stream = trace->streams; stream; stream = stream->next)
		if (fstat(stream->data, &st) == 0 && st.st_nlink == 0)
			stream->is_removed = true;
}

/* ── traces of a session ─────────────────────────────────────────────────────────────────────────────── */

static struct viewer_trace *find_trace(const struct viewer_session *session, const struct stat *st)
{
	struct viewer_trace *trace = session->traces;

	while (trace && (trace->device != st->st_dev || trace->number != st->st_ino))
		trace = trace->next;
	return trace;
}

static void find_traces(struct viewer_session *session, int directory, const char *path, unsigned depth);

/*
 * A directory below the session directory: either a trace, or a directory that contains traces. Takes ownership of the
 * descriptor.
 */
static void visit(struct viewer_session *session, int directory, const char *path, unsigned depth)
{
	struct viewer_trace *known;
	struct stat st;

	if (fstat(directory, &st) < 0) {
		close(directory);
		return;
	}
	known = find_trace(session, &st);
	if (known)
		known->is_found = true;
	if (known || faccessat(directory, "metadata", R_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		if (!known && depth < DEPTH_MAX)
			find_traces(session, directory, path, depth + 1);
		close(directory);
		return;
	}
	trace_add(session, directory, &st, path);
}

static int find_trace_in(void *data, int at, const char *name)
{
	const struct viewer_walk *walk = data;
	char below[PATH_SIZE];
	int fd;

	if (*name == '.' || strcmp(name, "archives") == 0 || strcmp(name, "index") == 0 ||
	    snprintf(below, sizeof(below), "%s%s%s", walk->path, *walk->path ? "/" : "", name) >= (int)sizeof(below))
		return 0;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		visit(walk->session, fd, below, walk->depth);
	return 0;
}

static void find_traces(struct viewer_session *session, int directory, const char *path, unsigned depth)
{
	struct viewer_walk walk = { .session = session, .path = path, .depth = depth };

	wmk_store_each_entry(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), find_trace_in, &walk);
}

static bool is_complete(struct viewer_trace *trace, uint64_t now)
{
	if (!trace->is_found)
		return true;
	if (wmk_read_is_written(trace->directory)) {
		trace->written = now;
		return false;
	}
	if (now - (trace->written ? trace->written : trace->since) > NEXT_WRITER_NS)
		return true;
	return (trace->written || now - trace->since > SUCCESSOR_NS) &&
	       faccessat(trace->directory, WMK_STORE_LIVE, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

/* A trace is complete if a rotation has moved it, or if its writer has finished the trace or has crashed. */
static void update_complete(struct viewer_trace *trace, uint64_t now)
{
	if (trace->is_complete || !is_complete(trace, now))
		return;
	trace->is_complete = true;
	trace->ended = now;
}

/*
 * True if more data may follow at the path of the trace, because a rotation is about to move the trace or has moved it.
 */
static bool may_continue(const struct viewer_session *session, const struct viewer_trace *trace, uint64_t now)
{
	if (!trace->is_complete)
		return true;
	if (now - trace->ended > (trace->is_found ? SUCCESSOR_NS : NEXT_WRITER_NS))
		return false;
	for (const struct viewer_trace *other = session->traces; other; other = other->next)
		if (other->since > trace->since && strcmp(other->path, trace->path) == 0)
			return false;
	return true;
}

/* Return the smallest low-water time of the traces that the last scan has found. */
static uint64_t session_water(const struct viewer_session *session, uint64_t now)
{
	uint64_t water = UINT64_MAX;

	for (struct viewer_trace *trace = session->traces; trace; trace = trace->next) {
		if (!may_continue(session, trace, now))
			continue;
		/* The writer may create `.live` only after the scan has found the trace. */
		if (trace->live < 0 && !trace->is_complete)
			trace->live = wmk_store_follow(trace->directory);
		wmk_store_followed_to(trace->live, &trace->water);
		if ((trace->water || now - trace->since < WATER_NS) && trace->water < water)
			water = trace->water;
	}
	return water;
}

/* True if the current scan has found a new trace to which data is still added. */
static bool has_new_trace(const struct viewer_session *session, const struct viewer_trace *before)
{
	for (const struct viewer_trace *trace = session->traces; trace != before; trace = trace->next)
		if (!trace->is_complete)
			return true;
	return false;
}

/*
 * The function reads the low-water time first, and then finds the files. Because the low-water time is read first, each
 * record up to this time is in a file that the scan finds. A stream that the last scan did not find has no records
 * before the low-water time of that scan.
 */
void wmk_viewer_session_scan(struct viewer_session *session)
{
	const struct viewer_trace *before = session->traces;
	const uint64_t now = wmk_clock_monotonic(), last = session->water;
	uint64_t water;

	if (session->scanned && now - session->scanned < SCAN_NS)
		return;
	session->floor = last == UINT64_MAX ? session->latest : last;
	water = session_water(session, now);
	for (struct viewer_trace *trace = session->traces; trace; trace = trace->next)
		trace->is_found = false;
	find_traces(session, session->directory, "", 0);
	for (struct viewer_trace *trace = session->traces; trace; trace = trace->next) {
		update_complete(trace, now);
		find_streams(session, trace);
	}
	session->water = water;
	/* The low-water time of a new trace is read in the next scan. */
	if (has_new_trace(session, before))
		session->water = last == UINT64_MAX ? 0 : last;
	session->scanned = now;
}

bool wmk_viewer_session_has_new(const struct viewer_session *session)
{
	for (const struct viewer_trace *trace = session->traces; trace; trace = trace->next)
		for (const struct viewer_stream *stream = trace->streams; stream; stream = stream->next)
			if (!stream->is_announced)
				return true;
	return false;
}

bool wmk_viewer_session_is_over(const struct viewer_session *session)
{
	for (const struct viewer_trace *trace = session->traces; trace; trace = trace->next)
		if (may_continue(session, trace, wmk_clock_monotonic()))
			return false;
	return session->traces != NULL;
}

struct viewer_stream *wmk_viewer_session_stream(const struct viewer_session *session, uint64_t id)
{
	for (const struct viewer_trace *trace = session->traces; trace; trace = trace->next)
		for (struct viewer_stream *stream = trace->streams; stream; stream = stream->next)
			if (stream->id == id && stream->is_announced)
				return stream;
	return NULL;
}

struct viewer_trace *wmk_viewer_session_metadata(const struct viewer_session *session, uint64_t id)
{
	for (struct viewer_trace *trace = session->traces; trace; trace = trace->next)
		if (trace->metadata_id == id && trace->is_announced)
			return trace;
	return NULL;
}
