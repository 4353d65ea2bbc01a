/* SPDX-License-Identifier: MIT */
/*
 * spans.h - classify a record for a timeline: an instant, the begin or the end of a span of its thread, or the value of
 * a counter. The event class declares the kind of the event (schema.h, wmk_kind_uri()). System calls in kernel records
 * are treated as spans. This structure keeps the open spans of each thread.
 *
 *     wmk_read_spans_classify()  uses the open spans ─► the form draws the record
 *                                ─► wmk_read_spans_drawn()  updates them
 *
 * Records may be lost. An end event closes the innermost open span with the same name. The end event also closes all
 * spans inside the closed span, because the ends of the inner spans are missing. An end event without an open span
 * becomes an instant event. A span without an end event stays open. Without a context field for the thread, records and
 * their spans are on the track of the CPU. One thread.
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
/* Return the name of an open span of the thread. `depth` 0: the innermost span. The name is not NUL-terminated. */
const char *wmk_read_spans_name(const struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
				unsigned depth, size_t *len);
/* Update the open spans after the exporter has drawn the record. */
void wmk_read_spans_drawn(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
			  const struct wmk_read_drawing *drawing);
void wmk_read_spans_begin(struct wmk_read_spans *spans);
void wmk_read_spans_free(struct wmk_read_spans *spans);

#endif
