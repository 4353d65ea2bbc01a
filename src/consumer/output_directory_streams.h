/* SPDX-License-Identifier: MIT */
/*
 * output_directory_streams.h - a directory as the output of a session: its state, and the functions of its streams.
 * Only output_directory.c calls them.
 */
#ifndef WMK_CONSUMER_OUTPUT_DIRECTORY_STREAMS_H
#define WMK_CONSUMER_OUTPUT_DIRECTORY_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/output_files.h"
#include "store/store.h"

struct directory_trace {
	struct wmk_output_trace trace;
	struct directory_output *output;         /* NULL: the caller owns the store */
	struct wmk_store *store;
	uint8_t uuid[16];                        /* of the open chunk */
	uint8_t trace_uuid[16];
	uint64_t chunk;
	char *sub;
};

struct wmk_output_stream {
	struct directory_trace *trace;
	struct wmk_store_stream *file;
};

/* True if the directory is a spool. Then its sender removes files. */
bool wmk_directory_is_spool(const struct directory_trace *trace);
/* Wake the sender of a spool after a change. `look`: a directory was added, moved or removed. */
void wmk_directory_changed(const struct directory_trace *trace, bool look);
/*
 * Return the limits of the files of a stream: for a spool, the function sets *spool and returns `spool`; otherwise it
 * returns `limits`.
 */
const struct wmk_store_limits *wmk_directory_limits(const struct directory_trace *trace,
						const struct wmk_store_limits *limits, struct wmk_store_limits *spool);

/* The functions of struct wmk_output_trace_ops. */
int wmk_directory_stream_open(struct wmk_output_trace *trace, const char *name,
				 const struct wmk_store_limits *limits, struct wmk_output_stream **stream);
int wmk_directory_stream_resume(struct wmk_output_trace *trace, const char *name,
				   const struct wmk_store_limits *limits, struct wmk_output_stream **stream,
				   struct wmk_ctf_packet *last);
int wmk_directory_write(struct wmk_output_stream *stream, const struct wmk_ctf_packet *given,
			   const struct wmk_packet *packet);
int wmk_directory_amend(struct wmk_output_stream *stream, uint64_t lost);
int wmk_directory_stream_check(const struct wmk_output_stream *stream);
int wmk_directory_stream_close(struct wmk_output_stream *stream);
int wmk_directory_stream_remove(struct wmk_output_trace *trace, const char *name,
				   const struct wmk_store_limits *limits);
uint64_t wmk_directory_stream_bytes(const struct wmk_output_stream *stream);

#endif
