/* SPDX-License-Identifier: MIT */
/*
 * exporter.h - a form of output: how records become bytes. What all forms share (files, merge, filter, parts of the
 * time, damage) is pipeline.c's.
 *
 *     create ─► trace, for each that is read ─► begin ─► stream, for each when its first packet comes ─► packet, record ... ─► end ─► free
 *
 * A packet's context may be long, and of many packets no record may be wanted: `packet` is called when the first one
 * is, but for forms that write packets.
 *
 * What a form appends to `out` is written when there is enough of it. Errors: -ENOMEM, -E2BIG (print.h), those of
 * ctf/decode.h: then `out` is as before, and the reading goes on behind a record that is damaged. One thread.
 */
#ifndef WMK_READ_EXPORTER_H
#define WMK_READ_EXPORTER_H

#include "read/print.h"
#include "read/trace.h"

struct wmk_read_exporter {
	const char *name;          /* as it is asked for */
	bool is_binary;            /* not for a terminal */
	bool is_directory;         /* it writes files into a directory, and nothing to `out` */
	/* These may be NULL: there is nothing to do. `whole` is then NULL too. */
	int (*create)(const char *directory, void **whole);
	int (*trace)(void *whole, const struct wmk_read_trace *trace);
	int (*begin)(void *whole, struct wmk_print_text *out);
	int (*end)(void *whole, struct wmk_print_text *out);
	/* Behind the end: what could not be shown as it is, a line for people; NULL: nothing. */
	const char *(*remark)(void *whole);
	void (*free)(void *whole);
	/* What the form keeps of a stream; before its first packet. */
	int (*stream)(void *whole, const struct wmk_read_stream *stream, void **state);
	void (*stream_free)(void *state);
	bool wants_all_packets;    /* `packet` is called for each, when it comes */
	/*
	 * Before the first record of a packet: all is as behind WMK_READ_PACKET, its context at packet.context_at; but
	 * `ns`
	 *  and the record's values.
	 */
	int (*packet)(void *state, struct wmk_read_stream *stream);
	/* Behind WMK_READ_RECORD: it, behind what `out` has. */
	int (*record)(void *state, struct wmk_read_stream *stream, struct wmk_print_text *out);
};

#endif
