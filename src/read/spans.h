/* SPDX-License-Identifier: MIT */
/*
 * spans.h - classify a record for a timeline: an instant, the begin or the end of a span of its thread, or the value of
 * a counter. The event class declares the kind (schema.h, wmk_kind_uri()). System calls in records of the kernel are
 * spans. The open spans of each thread are kept here.
 *
 *     wmk_read_spans_classify()  uses the open spans ─► the form draws the record
 *                                ─► wmk_read_spans_drawn()  updates them
 *
 * Records may be lost. An end closes the innermost open span of its name. An end also closes all spans inside the span
 * that it closes, because the ends of the inner spans are missing. An end without an open span is an instant. A span
 * without an end stays open. Without a context for the thread, records and their spans are on the track of the CPU. One
 * thread.
 */
#ifndef WMK_READ_SPANS_H
#define WMK_READ_SPANS_H

#include "read/hash_table.h"
#include "read/thread_id.h"

#define WMK_READ_SPANS_DEEP 4096u  /* maximum nesting in a thread; deeper spans are drawn as instants */

struct wmk_read_spans {
	struct wmk_read_table threads; /* struct wmk_read_open */
};

struct wmk_read_drawing {
	unsigned kind;             /* WAYMARK_KIND_EVENT: an instant; _BEGIN, _END, _COUNTER */
	const char *name;          /* name of the drawn item; not NUL-terminated */
	size_t len;
	const char *message;       /* message of a marker or a text, drawn instead of the name; NULL: none */
	size_t message_len;
	unsigned closes;           /* _END: the number of spans that end, at least 1 */
	/* of an instant: 1 for the begin, -1 for the end of a span that is nested too deeply to be drawn */
	int deeper;
	struct wmk_ctf_item value; /* _COUNTER: its value */
};

/* Valid after WMK_READ_RECORD and wmk_read_thread_id_of_record(). -ENOMEM, errors of ctf/decode.h. */
int wmk_read_spans_classify(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
			    struct wmk_read_stream *stream, struct wmk_read_drawing *drawing);
/* The name of an open span of the thread. `depth` 0: the innermost span. The name is not NUL-terminated. */
const char *wmk_read_spans_name(const struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
				unsigned depth, size_t *len);
/* The record has been drawn: update the open spans. */
void wmk_read_spans_drawn(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
			  const struct wmk_read_drawing *drawing);
void wmk_read_spans_begin(struct wmk_read_spans *spans);
void wmk_read_spans_free(struct wmk_read_spans *spans);

#endif
