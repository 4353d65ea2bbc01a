/* SPDX-License-Identifier: MIT */
/*
 * trace.h - read a trace on disk: a directory with `metadata` and stream files. The reader reads the streams of a trace
 * packet by packet and merges them by time with the streams of other traces.
 *
 *     wmk_read_traces_find()    directories with a metadata file at or below the given paths
 *     wmk_read_trace_open()     metadata ─► classes ─► decode programs; the names of the stream files
 *     wmk_read_stream_next()    one stream: window of a packet ─► record, record, ..., next packet
 *     wmk_read_merge_next()     all streams by time (merge.h)
 *
 * Each stream needs memory for one window, which has 64 KiB or the size of the largest record. The required memory does
 * not depend on the size of the file. pread() fills the window instead of mmap(): if a file is truncated meanwhile, the
 * result is an error, not SIGBUS.
 *
 * Compressed stream files (ctf/frame_table.h) are read in the same way; the decompressed frame of the window is also in
 * memory. All positions in a compressed file refer to the decompressed stream.
 *
 * The reader continues after damage: wmk_read_stream_next() returns a negative errno with a cause chain that names the
 * file and the byte. The next call of wmk_read_stream_next() continues after the damage. If the position of the next
 * packet is unknown, the next call returns WMK_READ_END.
 *
 * If a trace is being written, the reader reads each stream up to the size of its file at the time when the trace was
 * opened. In a trace that is being written, an incomplete packet at the end of a stream is not damage. The streams of a
 * followed trace (live.h) do not end; a stream may only lack further data for the moment (growing_file.c).
 *
 * Errors are -errno with a cause chain. An open trace is immutable; each stream is used by only one thread.
 */
#ifndef WMK_READ_TRACE_H
#define WMK_READ_TRACE_H

#include "ctf/decode.h"
#include "ctf/frame_reader.h"
#include "read/clock_points.h"
#include "read/index.h"

#define WMK_READ_STREAM_FILES_MAX 65536u
#define WMK_READ_WINDOW (64u << 10)      /* initial size of the window, in bytes */
#define WMK_READ_RECORD_MAX (256u << 20) /* maximum size of a record, in bytes */

struct wmk_print_text;                   /* print.h */

struct wmk_read_trace {
	char *path;                /* of the directory */
	/* "host/ust/uid/0/64-bit": the hostname of the environment, if any, and the path below the given path */
	char *name;
	const char *below;         /* part of `name`: the path below the given path, or its last component */
	bool is_given;             /* its path is the given path */
	int dir;                   /* descriptor of the directory */
	int lock;                  /* of its chunk (store/chunk_lock.h); -1: none */
	struct wmk_ctf_class *class;
	struct wmk_ctf_decoder *decoder;
	struct wmk_read_clock_points *points; /* of the first stream class's clock; NULL: none */
	bool has_shared_points;    /* the points belong to struct wmk_read_hosts (hosts.h) */
	const char *clock_id;      /* then the identity of the clock; NULL: its UUID, or the path of the trace */
	char *host;                /* HOST at the relay, else the hostname of the environment; NULL: unknown */
	bool has_hosts;            /* traces of other hosts are read too */
	struct wmk_error_chain *points_damage; /* not reported yet; or NULL */
	char **files;              /* sorted names of the stream files */
	/* size of each file before the metadata was read: the metadata declares all events up to this size */
	uint64_t *sizes;
	uint32_t n_files;
	/* the end of the metadata is missing, and the trace is not being written; or NULL */
	struct wmk_error_chain *cut;
	bool is_written;           /* a writer had locked the trace before it was opened */
	uint64_t metadata_size, metadata_number; /* bytes read, and the inode number of the file */
};

/*
 * `given` is the user's path; `path` is equal to `given` or is below `given`. Only the name of the trace depends on the
 * user's path `given`. -ENOENT: no metadata file.
 */
int wmk_read_trace_open(const char *path, const char *given, struct wmk_read_trace **trace);
/*
 * Do the same as wmk_read_trace_open(), and lock the chunk of the trace until the trace is closed. Retention does not
 * delete a locked chunk. -ESTALE: retention has already deleted the chunk.
 */
int wmk_read_trace_open_locked(const char *path, const char *given, struct wmk_read_trace **trace);
void wmk_read_trace_close(struct wmk_read_trace *trace);
/*
 * Get the next damage that affects the trace as a whole. Such damage is either a missing end of the metadata or damaged
 * sync points. If sync points are damaged, the reader uses only the sync points before the damage. Returns true if the
 * cause chain of the calling thread describes such damage. False: no damage is left.
 */
bool wmk_read_trace_take_damage(struct wmk_read_trace *trace);
/*
 * Copy the sync points of the trace and the sync points of the relay's clock to a new trace in the directory `to`. 0 or
 * -errno.
 */
int wmk_read_trace_copy_points(const struct wmk_read_trace *trace, int to);
/*
 * Replace the sync points of the trace (NULL: no sync points). The caller owns `points` and `clock_id`, which must
 * exist as long as the trace.
 */
void wmk_read_trace_share_points(struct wmk_read_trace *trace, struct wmk_read_clock_points *points,
				 const char *clock_id);
/*
 * Compute times only from the metadata, as other readers do. The caller must call this function before it opens a
 * stream.
 */
void wmk_read_trace_drop_points(struct wmk_read_trace *trace);

/*
 * Return whether a writer is writing the trace in this directory. Writers of Waymark lock the metadata file while they
 * run; writers of other tracers do not lock it.
 */
bool wmk_read_is_written(int dir);
/*
 * Return whether the metadata has changed after the trace was opened. If the metadata has changed, the caller can open
 * the trace again.
 */
bool wmk_read_trace_has_grown(const struct wmk_read_trace *trace);

/* A growing list of paths. */
struct wmk_read_paths {
	char **paths;
	uint32_t n, cap;
};

/*
 * Append the directories at and below `path` that contain a metadata file, sorted by name. The function does not follow
 * symbolic links below `path`. The function searches neither hidden directories nor directories below a trace. -ENOENT:
 * no such path, or no trace at or below the path.
 */
int wmk_read_traces_find(const char *path, struct wmk_read_paths *found);
/* As wmk_read_traces_find(), but also the traces of a chunk that a rotation closes now: in archives/.NAME. */
int wmk_read_traces_find_closing(const char *path, struct wmk_read_paths *found);
/*
 * Fill an empty list with the sorted names of the stream files that a trace has now. If `empty_too` is true, the list
 * also contains empty files.
 */
int wmk_read_trace_files(const struct wmk_read_trace *trace, bool empty_too, struct wmk_read_paths *files);
void wmk_read_paths_free(struct wmk_read_paths *paths);

/* The values in the header and the context of a packet. */
struct wmk_read_packet {
	uint64_t at;               /* position in the file, in bytes */
	uint64_t size;             /* bytes; the rest of the file if the trace does not declare it */
	uint64_t content;          /* bits, including the header */
	uint64_t said_size, said_content; /* bits, as the packet declares them */
	uint64_t context_at;       /* bits: position of the packet's context, ... */
	uint64_t records_at;       /* ... and of the first record */
	uint64_t begin, end;       /* clock values */
	uint64_t lost, sequence;
	bool has_begin, has_end, has_lost, has_sequence;
	bool is_cut;               /* the file ends within the packet: `content` is the existing part */
};

#define WMK_READ_LOST_UNKNOWN UINT64_MAX

/*
 * How the reader interprets the end of the file, and an incomplete packet at the end. FIXED: the end of the file is the
 * end of the stream, and an incomplete packet is damage. SO_FAR: a writer is writing the trace, so the end of the file
 * or an incomplete packet is the end of the stream. LIVE: more data will follow.
 */
enum wmk_read_growth { WMK_READ_FIXED, WMK_READ_SO_FAR, WMK_READ_LIVE };

/*
 * The parts of the conversion of a clock's values to ns that are the same for all values. With sync points, the result
 * of the conversion is steady time (clock_points.h).
 */
struct wmk_read_scale {
	bool is_there, is_ns;      /* there is a clock; one unit is 1 ns: exact */
	bool is_far;               /* the origin does not fit into 64 bits of ns: 0 is used instead */
	double freq;
	uint64_t origin;           /* ns, modulo 2^64 */
	const struct wmk_read_clock_points *points; /* NULL: none */
	struct wmk_read_clock_line line; /* with points: the part of the line for the latest value; else zero */
};

/* The uncertainty of the current record's time (uncertainty.h). */
struct wmk_read_record_uncertainty {
	bool is_set;               /* whether the order is known is to be shown, ... */
	bool has_number;           /* ... and the uncertainty */
	bool is_order_unknown;     /* a record of another clock that was returned earlier may have happened later */
	uint64_t ns;               /* in ns, or WMK_READ_CLOCK_UNKNOWN */
};

struct wmk_read_stream {
	const struct wmk_read_trace *trace;
	const char *file;          /* the file's name in the trace's directory */
	char *name;                /* the file's name without the suffix of compressed files */
	int fd;
	struct wmk_ctf_frames *frames; /* of a compressed file; NULL: a plain one */
	const struct wmk_ctf_stream_decoder *decoder; /* of the packet; NULL before the first packet */
	uint64_t instance;         /* stream_instance_id; 0 if not declared */
	struct wmk_read_scale scale; /* of the decoder's clock */
	struct wmk_read_packet packet;
	bool in_packet, has_ended;
	/* the last result was a record, and no damage is to be reported before the next one */
	bool is_steady;
	enum wmk_read_growth growth; /* set before the first call */
	uint64_t limit;            /* bytes: the file is read up to here; UINT64_MAX: no limit */
	int64_t from, to;          /* ns: only records of this time are returned; set before the first call */
	bool is_index_wrong;       /* the index contradicts the packet; not reported yet */
	const char *wrong;         /* damage of the packet's times or UUID that is not reported yet; or NULL */
	uint64_t last;             /* clock value of the last record */
	bool is_open;              /* the first call has been made */
	struct wmk_read_index index;
	bool has_sought;           /* the index was used: each stream uses the index at most once */
	bool is_sought;            /* a search by the index chose the next packet; the search began ... */
	struct wmk_read_packet back; /* ... after this packet ... */
	uint64_t back_n;           /* ... with this number */
	bool is_back;              /* the last damage was the time of a record; the next call returns this record */
	uint64_t n_packets;
	/*
	 * The losses between the end of the previous packet and the end of this packet, computed from the counters of
	 * both packets.
	 */
	uint64_t lost, lost_packets; /* records (WMK_READ_LOST_UNKNOWN: unknown, possibly none), packets */
	/* clock value: the end of the previous packet or, if that end is unknown, the begin of this packet */
	uint64_t lost_from;
	struct wmk_ctf_record record; /* the current record; its bytes are valid until the next call */
	struct wmk_ctf_bytes bytes;
	/* time of the record, see wmk_read_scale_ns(); for a packet, the time of its beginning */
	int64_t ns;
	struct wmk_read_record_uncertainty uncertainty;
	const struct wmk_print_text *symbols; /* of the current record: members of JSON (symbolizer.h); NULL: none */
	void *user;                /* for the user of the stream */
	/* the window */
	uint8_t *buffer;
	size_t cap, len;
	uint64_t buffer_at;        /* position of buffer[0] in the file, in bytes */
	uint64_t next_at;          /* position of the next record in the packet, in bits */
};

int wmk_read_stream_open(const struct wmk_read_trace *trace, const char *file, struct wmk_read_stream **stream);
void wmk_read_stream_close(struct wmk_read_stream *stream);
enum { WMK_READ_END, WMK_READ_PACKET, WMK_READ_RECORD, WMK_READ_LATER };

/*
 * WMK_READ_PACKET: the reader has started the next packet. stream->packet describes it, stream->lost the losses before
 * it. The packet context is in stream->bytes at packet.context_at. The walk of the record has the registers for the
 * packet context. WMK_READ_RECORD: stream->record is the next record. WMK_READ_END: the end. WMK_READ_LATER: a LIVE
 * stream has no complete packet before its limit; the caller calls the function again later. Negative: damage, see
 * above.
 */
int wmk_read_stream_next(struct wmk_read_stream *stream);
/* Skip the records of the current packet; the caller calls this function after WMK_READ_PACKET. */
static inline void wmk_read_stream_leave_packet(struct wmk_read_stream *stream)
{
	stream->next_at = stream->packet.content;
}

/* ── streams that grow (growing_file.c) ──────────────────────────────────────────────────────────────────────── */

/*
 * Set the limit to the present end of the file; the caller calls this function after WMK_READ_LATER and before the
 * first wmk_read_stream_next(). 1: there is more data; 0: there is not; negative: the file was truncated, and the
 * stream has ended.
 */
int wmk_read_stream_poll(struct wmk_read_stream *stream);
/*
 * Continue with the declarations of `trace`, which is the same trace, opened again; the caller calls this function
 * after WMK_READ_LATER. `file` is the name of the stream's file, and must exist as long as the stream. `user` becomes
 * NULL. -EPROTO: the trace no longer has the stream's class; nothing has changed.
 */
int wmk_read_stream_move(struct wmk_read_stream *stream, const struct wmk_read_trace *trace, const char *file);
/* Get the end of the file or the limit, if the limit is less; stream.c calls this function. */
int wmk_read_stream_end(const struct wmk_read_stream *stream, uint64_t *end);
/*
 * Restore the state after the packet `before`, because the next packet is not in the file yet; stream.c calls this
 * function. Returns WMK_READ_LATER.
 */
int wmk_read_stream_later(struct wmk_read_stream *stream, const struct wmk_read_packet *before);

/* ── search by the index (seek.c), for stream.c ──────────────────────────────────────────────────────── */

/*
 * The reader calls this function after a packet that ends before `from`. The index finds the first packet that ends at
 * or after `from`. The stream continues one packet before the packet that the index finds. Only the first call of the
 * function has an effect.
 */
void wmk_read_seek(struct wmk_read_stream *stream);
/* After the index has led to a wrong packet, continue without the index at the packet where the search began. */
void wmk_read_seek_back(struct wmk_read_stream *stream);
/* Return whether the index contradicts the packet that the reader has started. If so, closes the index. */
bool wmk_read_seek_is_wrong(struct wmk_read_stream *stream);
/* Close the index after the last packet. Returns 0, or -EPROTO if the index has more packets than the file. */
int wmk_read_seek_end(struct wmk_read_stream *stream);

/*
 * Find a clock of this trace with an unknown relation to `first`, the first clock of all traces (initially { NULL, NULL
 * }). Two clocks are related if both are absolute or if they have the same uuid (CTF 1.8.3, section 8). LTTng's clocks
 * count as absolute, because LTTng's clocks count from 1970 without declaring it. False: no such clock.
 */
struct wmk_read_clock_of {
	const struct wmk_read_trace *trace;
	const struct wmk_ctf_clock_class *clock;
};
bool wmk_read_clock_differs(const struct wmk_read_trace *trace, struct wmk_read_clock_of *first,
			    const struct wmk_ctf_clock_class **other);

/*
 * Return the clock of the first stream class with a clock; NULL: the trace has no clock. The sync points of the trace
 * belong to the clock of the first stream class that has a clock.
 */
const struct wmk_ctf_clock_class *wmk_read_trace_clock(const struct wmk_read_trace *trace);
/* If two traces that are read together have the same clock, give both the same steady time. */
void wmk_read_trace_join(const struct wmk_read_trace *a, const struct wmk_read_trace *b);
/* Prepare a conversion without sync points. `clock` NULL: all times are 0. */
void wmk_read_scale_make(struct wmk_read_scale *scale, const struct wmk_ctf_clock_class *clock);
/* Do the same as wmk_read_scale_make(), and use the sync points of the trace if they belong to `clock`. */
void wmk_read_scale_of(struct wmk_read_scale *scale, const struct wmk_read_trace *trace,
		       const struct wmk_ctf_clock_class *clock);
/* With sync points: see below. */
int64_t wmk_read_scale_corrected(struct wmk_read_scale *scale, uint64_t value);
bool wmk_read_scale_corrected_fits(const struct wmk_read_scale *scale, uint64_t value);

/*
 * Convert a clock value to nanoseconds since 1970 (or since the origin of the clock), modulo 2^64; negative values stay
 * negative. Without sync points, the result is rounded as in other readers: a division of doubles if the frequency is
 * not 1 GHz.
 */
static inline int64_t wmk_read_scale_ns(struct wmk_read_scale *scale, uint64_t value)
{
	if (scale->points)
		return wmk_read_scale_corrected(scale, value);
	if (!scale->is_ns) {
		const double at = 1e9 * (double)value / scale->freq;

		/* (a signed conversion is one instruction) */
		value = at < 9223372036854775808.0     ? (uint64_t)(int64_t)at
			: at >= 18446744073709551615.0 ? UINT64_MAX
						       : (uint64_t)at;
	}
	return scale->is_there ? (int64_t)(scale->origin + value) : 0;
}

/*
 * Return whether the result of wmk_read_scale_ns() is valid. Times before 1677 or after 2262 are shown as unknown
 * times.
 */
static inline bool wmk_read_scale_fits(const struct wmk_read_scale *scale, uint64_t value)
{
	const double at = scale->is_ns ? (double)value : 1e9 * (double)value / scale->freq;
	int64_t ns;

	if (scale->points)
		return wmk_read_scale_corrected_fits(scale, value);
	return scale->is_there && !scale->is_far && at < 9223372036854775808.0 && (!scale->is_ns ||
										   value < INT64_MAX) &&
	       !__builtin_add_overflow((int64_t)scale->origin, scale->is_ns ? (int64_t)value : (int64_t)at, &ns);
}

/*
 * Return the real time of the record in ns; the caller calls this function after WMK_READ_RECORD. If real time was set
 * back, the real time of a record may be earlier than the real time of the previous record.
 */
static inline int64_t wmk_read_real_ns(const struct wmk_read_stream *stream)
{
	return (int64_t)((uint64_t)stream->ns + (uint64_t)stream->scale.line.steps);
}

/* Return whether the record has a valid time; the caller calls this function after WMK_READ_RECORD. */
static inline bool wmk_read_has_time(const struct wmk_read_stream *stream)
{
	return wmk_read_scale_fits(&stream->scale, stream->record.time);
}

#endif
