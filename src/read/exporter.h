/* SPDX-License-Identifier: MIT */
/*
 * exporter.h - an output form: it converts records to bytes. pipeline.c has the parts that all forms share (files,
 * merge, filter, selection by time, damage).
 *
 *     create ─► trace, for each trace ─► begin ─► stream, for each at its first packet ─► packet, record ...
 *            ─► end ─► free
 *
 * A packet context may be long, and a packet may contain no selected record. The pipeline therefore calls `packet` only
 * before the first selected record of a packet. For a format with `wants_all_packets`, the pipeline calls `packet` at
 * the start of each packet.
 *
 * An output format appends text to `out`. The pipeline writes the content of `out` to the output when `out` contains
 * enough bytes. Functions return -ENOMEM, -E2BIG (print.h), and the errors of ctf/decode.h. After an error, `out` is
 * unchanged; after damage in a record, the pipeline continues to read. One thread.
 */
#ifndef WMK_READ_EXPORTER_H
#define WMK_READ_EXPORTER_H

#include "read/print.h"
#include "read/trace.h"

struct wmk_read_exporter {
	const char *name;          /* the value of `convert --to` */
	bool is_binary;            /* not for a terminal */
	bool is_directory;         /* writes files into a directory, and nothing to `out` */
	/*
	 * NULL: not needed. Without `create`, the functions receive `whole` from the options (pipeline.h), and the
	 * pipeline does not call `free`.
	 */
	int (*create)(const char *directory, void **whole);
	int (*trace)(void *whole, const struct wmk_read_trace *trace);
	/*
	 * The pipeline calls this function when it closes a followed trace because it has opened a newer version of the
	 * metadata. May be NULL.
	 */
	void (*closing)(void *whole, const struct wmk_read_trace *trace);
	int (*begin)(void *whole, struct wmk_print_text *out);
	int (*end)(void *whole, struct wmk_print_text *out);
	/* After the end, return a message about values that the output format could not express; NULL: no message. */
	const char *(*remark)(void *whole);
	void (*free)(void *whole);
	/*
	 * Create the format's state for a stream; the pipeline calls this function before the first packet of the
	 * stream.
	 */
	int (*stream)(void *whole, const struct wmk_read_stream *stream, void **state);
	void (*stream_free)(void *state);
	bool wants_all_packets;    /* `packet` is called when a packet begins, for each packet */
	/*
	 * The pipeline calls this function before the first selected record of a packet. The stream has the same state
	 * as after WMK_READ_PACKET, except for the member `ns` and the values of the record. The context of the packet
	 * begins at packet.context_at.
	 */
	int (*packet)(void *state, struct wmk_read_stream *stream);
	/* Append the record to `out`; the pipeline calls this function after WMK_READ_RECORD. */
	int (*record)(void *state, struct wmk_read_stream *stream, struct wmk_print_text *out);
};

#endif
