/* SPDX-License-Identifier: MIT */
/*
 * output.h - where the traces of a session go: two tables of functions, which only the consumer and its server call.
 *
 *     output    the place of a session: a directory (output_directory.c)
 *       └── trace   one CTF trace in it: metadata and streams; a consumer owns it
 *             └── stream   packets of one source
 *
 *     server, record ──trace_open()──► trace ──► consumer ──stream_open(), write(), stream_close(), close()──► trace
 *
 * Functions of an output and of its traces may block as long as the disk does. Errors are -errno with a cause chain.
 */
#ifndef WMK_CONSUMER_OUTPUT_H
#define WMK_CONSUMER_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/writer.h"
#include "ring/packet_source.h"

struct wmk_store;
struct wmk_store_limits;           /* store/store.h */
struct wmk_output_trace;

/* ── the output ──────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_output_mode {
	WMK_OUTPUT_AGAIN,          /* it was made: what is missing of it is made again. -ENOENT: the output is gone */
	WMK_OUTPUT_NEW,            /* it is made, and the output if need be. -EEXIST, -ENOTEMPTY: the place is taken */
	WMK_OUTPUT_UNSURE,         /* another consumer daemon may have made it, or a part of it, or of the output */
};

struct wmk_output_place {
	enum wmk_output_mode mode;
	const char *sub;           /* the trace's place within the output, as in store/store.h */
	uint8_t uuid[16];          /* of the trace: in every packet */
};

struct wmk_output;
struct wmk_output_ops {
	/* *trace is the caller's: its close(). Any thread, also several at a time. */
	int (*trace_open)(struct wmk_output *output, const struct wmk_output_place *place,
			  struct wmk_output_trace **trace);
	/* 0: the place is absent or empty. -ENOTEMPTY, -ENOTDIR, -ELOOP, -EACCES, ... Any thread. */
	int (*check)(struct wmk_output *output);
	/*
	 * Call `one` with the directory name of each trace of a process (--buffers-pid), until it returns a value other
	 * than 0, which is returned. Any thread.
	 */
	int (*each_process)(struct wmk_output *output, int (*one)(void *data, const char *name), void *data);
	/* Remove the trace of this process, which nothing has open. 0 if it does not exist. Any thread. */
	int (*remove_process)(struct wmk_output *output, const char *name);
	/* Count anew the bytes that it holds, of its max_size: files may be gone that no trace removed. Any thread. */
	int (*usage)(struct wmk_output *output);
	/* All its traces are closed. */
	void (*close)(struct wmk_output *output);
};
struct wmk_output {
	const struct wmk_output_ops *ops;
};

/* ── a trace ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_output_stream;          /* the output's own, one for each stream */

struct wmk_output_trace_ops {
	/*
	 * Append to the metadata at this offset, all of it or nothing: wmk_store_metadata_at(). -ESTALE: it must be
	 * replaced first.
	 */
	int (*metadata)(struct wmk_output_trace *trace, uint64_t offset, const char *text, size_t len);
	/* This in place of the whole metadata, or it stays as it is. */
	int (*metadata_replace)(struct wmk_output_trace *trace, const char *text, size_t len);
	/* `limits`: of the size and number of its files, NULL: one file. */
	int (*stream_open)(struct wmk_output_trace *trace, const char *name, const struct wmk_store_limits *limits,
			   struct wmk_output_stream **stream);
	/*
	 * Continue a stream of an earlier consumer: what is not a whole packet at its end is cut off. 1: *last is its
	 * last packet; 0: it has none yet; -ENOENT: no such stream, it is opened with its first packet; -errno: that
	 * stream is lost. NULL: such streams do not exist.
	 */
	int (*stream_resume)(struct wmk_output_trace *trace, const char *name, const struct wmk_store_limits *limits,
			     struct wmk_output_stream **stream, struct wmk_ctf_packet *last);
	/*
	 * The whole packet or nothing. It is durable when this returns: the source may release it. -errno may be
	 * temporary (disk full): the same packet is written again later.
	 */
	int (*write)(struct wmk_output_stream *stream, const struct wmk_ctf_packet *head,
		     const struct wmk_packet *packet);
	/* No room for a packet with the final lost count: put it into the last packet. May be NULL. */
	int (*amend)(struct wmk_output_stream *stream, uint64_t lost);
	/* -ENOENT with a cause chain that names it: what was written of the stream was removed. May be NULL. */
	int (*stream_check)(const struct wmk_output_stream *stream);
	int (*stream_close)(struct wmk_output_stream *stream);
	/* Remove what was written of a stream that is not open. NULL: nothing can be cleared. */
	int (*stream_remove)(struct wmk_output_trace *trace, const char *name, const struct wmk_store_limits *limits);
	/* Bytes of the stream that the trace has. May be NULL. */
	uint64_t (*stream_bytes)(const struct wmk_output_stream *stream);
	/* A sentence about the trace, for people: the error of a stream. May be NULL. */
	void (*note)(struct wmk_output_trace *trace, const char *words);
	/* Bytes written so far. Any thread. May be NULL. */
	uint64_t (*bytes)(struct wmk_output_trace *trace);
	/* All its streams are closed. */
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
	 * With max_size, where another process writes to the directory, too: the budget page of both
	 * (wmk_store_budget_page_make()); stays the caller's. Else -1.
	 */
	int budget_fd;
	bool kernel;               /* this process writes what is in `path`/kernel; else all but that */
	/* Optional: packets with records are refused with -EDQUOT from now on. From the thread that wrote one. */
	void (*full)(void *data);
	/*
	 * Optional: receives the notes of traces in place of their metadata, of which the caller knows each byte. From
	 * the thread of the trace.
	 */
	void (*note)(void *data, const char *words);
	void *data;
};

/* Does not touch the disk. -ENOMEM; -EINVAL: budget_fd is not a budget page. *output is the caller's: its close(). */
int wmk_output_directory_open(const struct wmk_output_directory_options *options, struct wmk_output **output);
/* A trace of a store that stays the caller's and outlives it, without an output. */
int wmk_output_directory_trace(struct wmk_store *store, const uint8_t uuid[16], struct wmk_output_trace **trace);

#endif
