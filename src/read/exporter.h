/* SPDX-License-Identifier: MIT */
/*
 * exporter.h - an output form: it converts records to bytes. pipeline.c has the parts that all forms share (files,
 * merge, filter, selection by time, damage).
 *
 *     create ─► trace, for each trace ─► begin ─► stream, for each at its first packet ─► packet, record ...
 *            ─► end ─► free
 *
 * A packet's context may be long, and a packet may have no selected record. `packet` is therefore called only before
 * the first selected record of a packet. For a form with `wants_all_packets`, `packet` is called at the begin of each
 * packet.
 *
 * A form appends text to `out`. The pipeline writes the content of `out` as soon as `out` has enough bytes. Errors:
 * -ENOMEM, -E2BIG (print.h), and the errors of ctf/decode.h. After an error `out` is unchanged, and the reading
 * continues after a damaged record. One thread.
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
	 * NULL: not needed. Without `create`, the functions get `whole` from the options (pipeline.h), and `free` is
	 * not called.
	 */
	int (*create)(const char *directory, void **whole);
	int (*trace)(void *whole, const struct wmk_read_trace *trace);
	/* A followed trace is closed, because a newer version of its metadata is open. May be NULL. */
	void (*closing)(void *whole, const struct wmk_read_trace *trace);
	int (*begin)(void *whole, struct wmk_print_text *out);
	int (*end)(void *whole, struct wmk_print_text *out);
	/* After the end: a message about values that the form could not express; NULL: none. */
	const char *(*remark)(void *whole);
	void (*free)(void *whole);
	/* The form's state of a stream; called before its first packet. */
	int (*stream)(void *whole, const struct wmk_read_stream *stream, void **state);
	void (*stream_free)(void *state);
	bool wants_all_packets;    /* `packet` is called when a packet begins, for each packet */
	/*
	 * Called before the first selected record of a packet. The stream has the same state as after WMK_READ_PACKET,
	 * except for `ns` and the record's values. The packet's context begins at packet.context_at.
	 */
	int (*packet)(void *state, struct wmk_read_stream *stream);
	/* After WMK_READ_RECORD: append the record to `out`. */
	int (*record)(void *state, struct wmk_read_stream *stream, struct wmk_print_text *out);
};

#endif
