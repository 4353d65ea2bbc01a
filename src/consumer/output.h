/* SPDX-License-Identifier: MIT */
/*
 * output.h - the output of a session, as two tables of functions. Only the consumer and its server call these
 * functions.
 *
 *     output    the output of a session: a directory (output_directory.c)
 *       └── trace   one CTF trace in it: metadata and streams; a consumer owns it
 *             └── stream   packets of one source
 *
 *     server, record ──trace_open()──► trace ──► consumer ──stream_open(), write(), stream_close(), close()──► trace
 *
 * A function of an output or of a trace may block for as long as the disk blocks. Errors are -errno with a cause chain.
 */
#ifndef WMK_CONSUMER_OUTPUT_H
#define WMK_CONSUMER_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/writer.h"
#include "ring/packet_source.h"
#include "store/retention.h"

struct wmk_store;
struct wmk_clock_head;             /* base/clock_point.h */
struct wmk_clock_point;
struct wmk_store_limits;           /* store/store.h */
struct wmk_output_trace;

/* ── the output ──────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_output_mode {
	WMK_OUTPUT_AGAIN,          /* the trace exists; create its missing parts. -ENOENT: the output does not exist */
	/* create the trace, and also the output if the output is absent. -EEXIST, -ENOTEMPTY: in use already */
	WMK_OUTPUT_NEW,
	/* another consumer daemon may have created the trace, the output or parts of them */
	WMK_OUTPUT_UNSURE,
};

struct wmk_output_place {
	enum wmk_output_mode mode;
	const char *sub;           /* where the trace is within the output, as in store/store.h */
	uint8_t uuid[16];          /* UUID of the trace; each chunk has its own UUID (wmk_ctf_chunk_uuid()) */
	/* the open chunk, or the chunk that a rotation is about to open: a new directory belongs to it */
	uint64_t chunk;
};

struct wmk_output;
struct wmk_output_ops {
	/*
	 * The caller owns *trace, and ends the trace with the close() of the trace. Several threads may call
	 * trace_open() at the same time.
	 */
	int (*trace_open)(struct wmk_output *output, const struct wmk_output_place *place,
			  struct wmk_output_trace **trace);
	/* 0: the directory is absent or empty. -ENOTEMPTY, -ENOTDIR, -ELOOP, -EACCES, ... Any thread. */
	int (*check)(struct wmk_output *output);
	/*
	 * Call `one` with the directory name of each trace of a process (--buffers-pid). If the callback `one` returns
	 * a value other than 0, each_process() stops and returns this value. Any thread.
	 */
	int (*each_process)(struct wmk_output *output, int (*one)(void *data, const char *name), void *data);
	/*
	 * Remove the trace of one process; no process may have this trace open. 0 if the trace does not exist. Any
	 * thread.
	 */
	int (*remove_process)(struct wmk_output *output, const char *name);
	/*
	 * Move the trace of one process to a chunk that a rotation closes. No process may have the moved trace open. 0
	 * if the trace does not exist.
	 */
	int (*archive_process)(struct wmk_output *output, const char *name, const char *chunk);
	/* Give the closed chunk its final name; all traces are in the closed chunk. Idempotent. Any thread. */
	int (*archive_end)(struct wmk_output *output, const char *chunk);
	/* Delete the oldest closed chunks (store/retention.h). Any thread, one at a time. */
	int (*retain)(struct wmk_output *output, const struct wmk_retention *keep, void (*log)(const char *words));
	/* After files were removed, update the number of bytes that count against max_size. Any thread. */
	int (*usage)(struct wmk_output *output);
	/* Called when all traces of the output are closed. */
	void (*close)(struct wmk_output *output);
};
struct wmk_output {
	const struct wmk_output_ops *ops;
};

/* ── a trace ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_output_stream;          /* defined by the output; one for each stream */

struct wmk_output_trace_ops {
	/*
	 * Append `text` to the metadata at `offset`: the whole text or nothing (wmk_store_metadata_at()). -ESTALE: the
	 * metadata must be replaced first.
	 */
	int (*metadata)(struct wmk_output_trace *trace, uint64_t offset, const char *text, size_t len);
	/* Replace all metadata of the trace. On failure, it is unchanged. */
	int (*metadata_replace)(struct wmk_output_trace *trace, const char *text, size_t len);
	/* `limits`: maximum size and maximum number of the stream's files; NULL: one file without a limit. */
	int (*stream_open)(struct wmk_output_trace *trace, const char *name, const struct wmk_store_limits *limits,
			   struct wmk_output_stream **stream);
	/*
	 * Continue a stream of an earlier consumer; the function cuts off an incomplete packet at the end of the
	 * stream. 1: *last is its last packet; 0: it has no packet; -ENOENT: no such stream, stream_open() creates it
	 * later; -errno: the stream cannot be continued. NULL: streams cannot be continued.
	 */
	int (*stream_resume)(struct wmk_output_trace *trace, const char *name, const struct wmk_store_limits *limits,
			     struct wmk_output_stream **stream, struct wmk_ctf_packet *last);
	/*
	 * Write the whole packet or nothing. If write() returns 0, the source may release the packet. -errno may be
	 * temporary (disk full): the same packet is then written again later.
	 */
	int (*write)(struct wmk_output_stream *stream, const struct wmk_ctf_packet *head,
		     const struct wmk_packet *packet);
	/* Store the final lost count in the last packet of the stream, if no packet can be appended. May be NULL. */
	int (*amend)(struct wmk_output_stream *stream, uint64_t lost);
	/* -ENOENT with a cause chain: the file of the stream was removed by another process. May be NULL. */
	int (*stream_check)(const struct wmk_output_stream *stream);
	int (*stream_close)(struct wmk_output_stream *stream);
	/* Remove the files of a stream that is not open. NULL: streams cannot be cleared. */
	int (*stream_remove)(struct wmk_output_trace *trace, const char *name, const struct wmk_store_limits *limits);
	/* Return the number of bytes of the stream in the trace. May be NULL. */
	uint64_t (*stream_bytes)(const struct wmk_output_stream *stream);
	/* Append a sync point of the trace's clock (see wmk_store_clock_point()). NULL: the output has none. */
	int (*clock_point)(struct wmk_output_trace *trace, const struct wmk_clock_head *head,
			   const struct wmk_clock_point *point);
	/* Store a message about the trace, such as the error of a stream. May be NULL. */
	void (*note)(struct wmk_output_trace *trace, const char *words);
	/* Bytes written so far. Any thread. May be NULL. */
	uint64_t (*bytes)(struct wmk_output_trace *trace);
	/*
	 * Chunks of the trace (docs/rotation.md); all NULL: the output cannot be rotated.
	 *     chunk          the number of the chunk that is open
	 *     journal        store the journal of a rotation durably; it stays until the rotation is complete
	 *     journal_read   the journal that an earlier consumer left, malloc'd; -ENOENT
	 *     rotate         close the chunk under this name, open chunk `number`. No stream is open. -errno: unchanged
	 *     begins_read    the last journal of the rotation that began the open chunk, malloc'd; -ENOENT. `name` is
	 *                    the chunk before
	 *     begins_remove  remove this text
	 *     chunk_last     the last packet of a stream in the chunk before the open one. 1: found; 0: no packet
	 */
	uint64_t (*chunk)(const struct wmk_output_trace *trace);
	int (*journal)(struct wmk_output_trace *trace, const char *text, size_t len);
	int (*journal_read)(struct wmk_output_trace *trace, char **text);
	int (*rotate)(struct wmk_output_trace *trace, const char *name, uint64_t number);
	int (*begins_read)(struct wmk_output_trace *trace, const char *name, char **text);
	void (*begins_remove)(struct wmk_output_trace *trace);
	int (*chunk_last)(struct wmk_output_trace *trace, const char *name, const char *stream,
			  const struct wmk_store_limits *limits, struct wmk_ctf_packet *last);
	/* Return true if a live reader reads the trace now. NULL: never. */
	bool (*is_followed)(struct wmk_output_trace *trace);
	/* Publish for live readers that all records before the time `ts` are written. Set if is_followed() is. */
	void (*low_water)(struct wmk_output_trace *trace, uint64_t ts);
	/* Called when all streams of the trace are closed. */
	void (*close)(struct wmk_output_trace *trace);
};
struct wmk_output_trace {
	const struct wmk_output_trace_ops *ops;
};

/* ── directories ─────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_output_directory_options {
	const char *path;          /* absolute; copied */
	uid_t uid;                 /* owner of the files; they are opened and removed with its rights */
	gid_t gid;
	uint64_t keep_free;        /* bytes of the disk that stay free (wmk_store_keep_free()); 0: none */
	uint64_t max_size;         /* bytes of all files below `path`; 0: no limit */
	/*
	 * The budget page (wmk_store_budget_page_make()) of all processes that write to the directory, owned by the
	 * caller. -1: only this process writes, and chunks have no maximum size.
	 */
	int budget_fd;
	bool kernel;               /* true: this process writes only `path`/kernel; false: it writes everything else */
	bool await_mount;          /* early boot: a trace is opened when its file system is mounted (late_mount.h) */
	/*
	 * If the directory is a spool: the maximum size in bytes of each stream file. In a spool, this limit replaces
	 * the limits of the stream, because the sender removes whole files (sender/sender.h). 0: the directory is no
	 * spool.
	 */
	uint64_t spool_file_size;
	/*
	 * With a spool: called when the spool has new data for the sender. `look`: true if a directory was added, moved
	 * or removed, so that the sender must read the spool again. The consumer calls the function in the thread of
	 * the trace.
	 */
	void (*changed)(void *data, bool look);
	/* Optional: the writing thread calls this function for each packet that is refused with -EDQUOT. */
	void (*full)(void *data);
	/*
	 * Optional: the writing thread calls this function when the open chunk is large enough for a rotation
	 * (store.h).
	 */
	void (*due)(void *data);
	/*
	 * Optional: receives the notes of traces, so that the notes are not stored in the metadata. The consumer calls
	 * the function in the thread of the trace.
	 */
	void (*note)(void *data, const char *words);
	void *data;
};

/*
 * Create an output without an access to the disk. The caller owns *output, and ends the output with the close() of the
 * output. -ENOMEM; -EINVAL: budget_fd is not a budget page.
 */
int wmk_output_directory_open(const struct wmk_output_directory_options *options, struct wmk_output **output);
/*
 * Make a trace from an open store, without an output. The caller owns the store, and closes the store after the trace.
 */
int wmk_output_directory_trace(struct wmk_store *store, const uint8_t uuid[16], struct wmk_output_trace **trace);
/* For the relay: return the store of a trace in a directory, and the store of a stream. */
struct wmk_store *wmk_output_directory_store(struct wmk_output_trace *trace);
struct wmk_store_stream;           /* store/store.h */
struct wmk_store_stream *wmk_output_directory_stream(struct wmk_output_stream *stream);

/* Make a trace that is not written, for a session in which only snapshots read the rings. */
int wmk_output_none_trace(struct wmk_output_trace **trace);

#endif
