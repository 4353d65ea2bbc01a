/* SPDX-License-Identifier: MIT */
/*
 * trace.h - a trace on disk, as records: a directory with `metadata` and stream files, opened, its streams read packet
 * by packet, merged by time with those of other traces.
 *
 *     wmk_read_traces_find()    directories with a metadata file, below the paths that were given
 *     wmk_read_trace_open()     metadata ─► classes ─► decode programs; the names of the stream files
 *     wmk_read_stream_next()    one stream: window of a packet ─► record, record, ..., next packet
 *     wmk_read_merge_next()     all streams by time (merge.h)
 *
 * Memory is a window per stream (64 KiB, or as much as the largest record takes), whatever the size of the files. They
 * are read by pread() into it, not mapped: a file that somebody cuts while it is read gives an error, and no SIGBUS.
 *
 * Damage does not end the reading: wmk_read_stream_next() returns a negative errno with a cause chain that names file
 * and byte, and the next call goes on behind it: with the next packet where its place is known, else with the end. What
 * came before was given.
 *
 * A trace that somebody writes meanwhile is read up to where its files ended when it was opened, and what is not whole
 * there is no damage; or it is followed (live.h): its streams are never at their end, they have nothing now
 * (growing_file.c).
 *
 * Errors are -errno with a cause chain. A trace is immutable once open; a stream is one thread's.
 */
#ifndef WMK_READ_TRACE_H
#define WMK_READ_TRACE_H

#include "ctf/decode.h"
#include "read/index.h"

#define WMK_READ_STREAM_FILES_MAX 65536u
#define WMK_READ_WINDOW (64u << 10)      /* bytes, at first */
#define WMK_READ_RECORD_MAX (256u << 20) /* bytes of one record */

struct wmk_read_trace {
	char *path;                /* of the directory */
	/* "host/ust/uid/0/64-bit": the environment's hostname, if any, and the path below what was given */
	char *name;
	const char *below;         /* of `name`: the path below what was given; of that itself, its last part */
	bool is_given;             /* it is what was given */
	int dir;                   /* its descriptor */
	struct wmk_ctf_class *class;
	struct wmk_ctf_decoder *decoder;
	char **files;              /* names of the stream files, in order */
	/* bytes of each, before the metadata was read: of records in them it has the events */
	uint64_t *sizes;
	uint32_t n_files;
	/* the metadata's last block or packet is not whole though nobody writes it, in words; or NULL */
	struct wmk_error_chain *cut;
	bool is_written;           /* somebody had it locked to write it, before all else was looked at */
	uint64_t metadata_size, metadata_number; /* bytes that were read, of which file */
};

/* -ENOENT: no metadata file. `given`: the path that a user gave, and `path` was found below; for the trace's name. */
int wmk_read_trace_open(const char *path, const char *given, struct wmk_read_trace **trace);
void wmk_read_trace_close(struct wmk_read_trace *trace);
/* Did its metadata end too early? Then the calling thread has that as its cause chain, once. */
bool wmk_read_trace_take_cut(struct wmk_read_trace *trace);

/*
 * Does somebody write the trace in this directory? Who writes one of ours has its metadata locked as long as he lives;
 * others do not tell.
 */
bool wmk_read_is_written(int dir);
/* Has more been declared since it was opened? Then it can be opened again. */
bool wmk_read_trace_has_grown(const struct wmk_read_trace *trace);

/* Growing list of paths. */
struct wmk_read_paths {
	char **paths;
	uint32_t n, cap;
};

/*
 * Append the directories at and below `path` that have a metadata file, in the order of their names. Symbolic links
 * below `path` are not followed, and what is below a trace is not looked at. -ENOENT: there is no such path, or no
 * trace in it.
 */
int wmk_read_traces_find(const char *path, struct wmk_read_paths *found);
/*
 * The names of a trace's stream files as they are now, in order, behind an empty list; those without a byte too, or
 * not.
 */
int wmk_read_trace_files(const struct wmk_read_trace *trace, bool empty_too, struct wmk_read_paths *files);
void wmk_read_paths_free(struct wmk_read_paths *paths);

/* What a packet's header and context say. */
struct wmk_read_packet {
	uint64_t at;               /* bytes: where it is in the file */
	uint64_t size;             /* bytes; what is left of the file where the trace does not say */
	uint64_t content;          /* bits, with the header */
	uint64_t said_size, said_content; /* bits: as the packet says */
	uint64_t context_at;       /* bits: of the packet's context, ... */
	uint64_t records_at;       /* ... and of the first record */
	uint64_t begin, end;       /* clock values */
	uint64_t lost, sequence;
	bool has_begin, has_end, has_lost, has_sequence;
	bool is_cut;               /* the file ends before it does: `content` is what is there */
};

#define WMK_READ_LOST_UNKNOWN UINT64_MAX

/*
 * What the end of a file is, or a packet that is not whole there: FIXED: the end, or damage; SO_FAR: the end, as
 * somebody writes it; LIVE: what is to come is not there yet.
 */
enum wmk_read_growth { WMK_READ_FIXED, WMK_READ_SO_FAR, WMK_READ_LIVE };

/* What of a clock's origin and frequency is the same for all its values. */
struct wmk_read_scale {
	bool is_there, is_ns;      /* one counts ns: exact */
	bool is_far;               /* 64 bits of ns cannot tell the origin: it is taken as 0 */
	double freq;
	uint64_t origin;           /* ns, modulo 2^64 */
};

struct wmk_read_stream {
	const struct wmk_read_trace *trace;
	const char *file;          /* its name in the trace's directory */
	int fd;
	const struct wmk_ctf_stream_decoder *decoder; /* of the packet; NULL before the first */
	uint64_t instance;         /* stream_instance_id; 0 where it is not said */
	struct wmk_read_scale scale; /* of the decoder's clock */
	struct wmk_read_packet packet;
	bool in_packet, has_ended;
	bool is_steady;            /* the last one given was a record, and nothing is to be told before the next */
	enum wmk_read_growth growth; /* set before the first call */
	uint64_t limit;            /* bytes: what is behind it is not looked at; UINT64_MAX: there is none */
	int64_t from, to;          /* ns: only what is in this time is given; set before the first call */
	bool is_index_wrong;       /* the same */
	const char *wrong;         /* with the packet's times, not told yet; or NULL */
	uint64_t last;             /* clock value: of the last record */
	bool is_open;              /* the first call was */
	struct wmk_read_index index;
	bool has_sought;           /* by the index, once */
	bool is_sought;            /* the next packet is where the index leads; sought from ... */
	struct wmk_read_packet back; /* ... behind this one ... */
	uint64_t back_n;           /* ... as which number */
	bool is_back;              /* the last damage was a time, and the record is still to come */
	uint64_t n_packets;
	/* What was lost since the end of the packet before, by the counters of this one. */
	uint64_t lost, lost_packets; /* records (WMK_READ_LOST_UNKNOWN: some, perhaps), packets */
	uint64_t lost_from;        /* clock value: the end of the packet before, or the begin of the first */
	struct wmk_ctf_record record; /* the current one; its bytes are valid until the next call */
	struct wmk_ctf_bytes bytes;
	int64_t ns;                /* its time, see wmk_read_ns(); of a packet, that of its begin */
	void *user;                /* whoever reads may keep what it has for this stream here */
	/* the window */
	uint8_t *buffer;
	size_t cap, len;
	uint64_t buffer_at;        /* bytes: of buffer[0] in the file */
	uint64_t next_at;          /* bits in the packet: of the next record */
};

int wmk_read_stream_open(const struct wmk_read_trace *trace, const char *file, struct wmk_read_stream **stream);
void wmk_read_stream_close(struct wmk_read_stream *stream);
enum { WMK_READ_END, WMK_READ_PACKET, WMK_READ_RECORD, WMK_READ_LATER };

/*
 * WMK_READ_PACKET: the next packet has begun, stream->packet tells of it, stream->lost what was lost before; its
 * context is in stream->bytes, at packet.context_at, and the record's walk has the registers for it. WMK_READ_RECORD:
 * stream->record is the next record. WMK_READ_END. WMK_READ_LATER: a stream that is LIVE has no whole packet up to its
 * limit; the next call looks again. Negative: damage, see above.
 */
int wmk_read_stream_next(struct wmk_read_stream *stream);

/* ── streams that grow (growing_file.c) ──────────────────────────────────────────────────────────────────────── */

/*
 * Behind WMK_READ_LATER, and before the first call: the limit is where the file ends now. 1: something is there; 0:
 * nothing; negative: the file has been cut, and the stream has ended.
 */
int wmk_read_stream_poll(struct wmk_read_stream *stream);
/*
 * Behind the same: go on with what `trace`, the same one opened again, declares. `file`: its name, which must live as
 * long as the stream; and `user` is NULL. -EPROTO: it does not have the stream's class any more; nothing has changed.
 */
int wmk_read_stream_move(struct wmk_read_stream *stream, const struct wmk_read_trace *trace, const char *file);
/* For stream.c: where the file ends, or the limit is. */
int wmk_read_stream_end(const struct wmk_read_stream *stream, uint64_t *end);
/* For stream.c: no packet begins, and all is as behind the packet `before`. WMK_READ_LATER. */
int wmk_read_stream_later(struct wmk_read_stream *stream, const struct wmk_read_packet *before);

/* ── by the index (seek.c), for stream.c ─────────────────────────────────────────────────────────────── */

/* Behind a packet that ends before what is wanted: once, on to the packet in which that begins. */
void wmk_read_seek(struct wmk_read_stream *stream);
/* Where that has led to is no packet, or not the one that the index says: on from where it was asked, without it. */
void wmk_read_seek_back(struct wmk_read_stream *stream);
/* Does the index say something else of the packet that has begun? It is not looked at again then. */
bool wmk_read_seek_is_wrong(struct wmk_read_stream *stream);
/* All packets were read. 0; -EPROTO: there are not as many as the index has. */
int wmk_read_seek_end(struct wmk_read_stream *stream);

/*
 * The first clock of all traces, which starts as { NULL, NULL }, and one of this trace of which nothing says that it
 * counts from the same time: neither that both are absolute nor that they are one, by a uuid (CTF 1.8.3, section 8).
 * LTTng's count from 1970 and do not say so. False: there is no such.
 */
struct wmk_read_clock_of {
	const struct wmk_read_trace *trace;
	const struct wmk_ctf_clock_class *clock;
};
bool wmk_read_clock_differs(const struct wmk_read_trace *trace, struct wmk_read_clock_of *first,
			    const struct wmk_ctf_clock_class **other);

/*
 * A clock value as nanoseconds since 1970 (or since the clock's own origin), modulo 2^64, negative ones as such.
 * Rounded as other readers round: by a division of doubles, where the frequency is not 1 GHz.
 */
int64_t wmk_read_ns(const struct wmk_ctf_clock_class *clock, uint64_t value);
/* The same for many values. `clock` NULL: all times are 0. */
void wmk_read_scale_make(struct wmk_read_scale *scale, const struct wmk_ctf_clock_class *clock);

static inline int64_t wmk_read_scale_ns(const struct wmk_read_scale *scale, uint64_t value)
{
	if (!scale->is_ns) {
		const double at = 1e9 * (double)value / scale->freq;

		/* (what is signed a processor converts by itself) */
		value = at < 9223372036854775808.0     ? (uint64_t)(int64_t)at
			: at >= 18446744073709551615.0 ? UINT64_MAX
						       : (uint64_t)at;
	}
	return scale->is_there ? (int64_t)(scale->origin + value) : 0;
}

/* Is wmk_read_scale_ns() the value's time? Not before 1677 and after 2262: all forms show such a time as unknown. */
static inline bool wmk_read_scale_fits(const struct wmk_read_scale *scale, uint64_t value)
{
	const double at = scale->is_ns ? (double)value : 1e9 * (double)value / scale->freq;
	int64_t ns;

	return scale->is_there && !scale->is_far && at < 9223372036854775808.0 && (!scale->is_ns ||
										   value < INT64_MAX) &&
	       !__builtin_add_overflow((int64_t)scale->origin, scale->is_ns ? (int64_t)value : (int64_t)at, &ns);
}

/* Behind WMK_READ_RECORD: has the record a time, `ns`? */
static inline bool wmk_read_has_time(const struct wmk_read_stream *stream)
{
	return wmk_read_scale_fits(&stream->scale, stream->record.time);
}

#endif
