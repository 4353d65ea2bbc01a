/* SPDX-License-Identifier: MIT */
/*
 * spans.h - what a record is to who draws it: an instant, the begin or the end of a span of its thread, a counter's
 * value. Events say it themselves (schema.h, wmk_kind_uri()); which spans of a thread are open is kept here.
 *
 *     wmk_read_spans_classify()  what this record is, given what is open ─► the form draws it ─► wmk_read_spans_drawn()  that is so now
 *
 * Records may be lost. An end closes the innermost open span of its name, and with it those within, whose own ends are
 * missing; an end for which nothing is open is an instant. What never ends stays open. Records without a context for
 * their thread are on the track of their CPU, and so are their spans. One thread.
 */
#ifndef WMK_READ_SPANS_H
#define WMK_READ_SPANS_H

#include "read/hash_table.h"
#include "read/thread_id.h"

#define WMK_READ_SPANS_DEEP 4096u  /* open at once in a thread; deeper ones are instants */

struct wmk_read_spans {
	struct wmk_read_table threads; /* struct wmk_read_open */
};

struct wmk_read_drawing {
	unsigned kind;             /* WAYMARK_KIND_EVENT: an instant; _BEGIN, _END, _COUNTER */
	const char *name;          /* what is drawn is called; not terminated */
	size_t len;
	const char *message;       /* of a marker or a text, in place of the name; NULL: none */
	size_t message_len;
	unsigned closes;           /* _END: so many spans end, at least 1 */
	int deeper;                /* of an instant: 1, -1: it begins, or ends, what is too deep to be drawn */
	struct wmk_ctf_item value; /* _COUNTER: it */
};

/* Behind WMK_READ_RECORD and wmk_read_thread_id_of_record(). -ENOMEM, errors of ctf/decode.h. */
int wmk_read_spans_classify(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
			    struct wmk_read_stream *stream, struct wmk_read_drawing *drawing);
/* The name of an open span of its thread, 0: the innermost; not terminated. */
const char *wmk_read_spans_name(const struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
				unsigned depth, size_t *len);
/* It has been drawn. */
void wmk_read_spans_drawn(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
			  const struct wmk_read_drawing *drawing);
void wmk_read_spans_begin(struct wmk_read_spans *spans);
void wmk_read_spans_free(struct wmk_read_spans *spans);

#endif
