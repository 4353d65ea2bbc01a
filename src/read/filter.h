/* SPDX-License-Identifier: MIT */
/*
 * filter.h - a filter (filter/filter.h) on records that are read.
 *
 *     expression ──wmk_read_filter_check()──► is each of its names in an event class that it fits?
 *         │ wmk_read_filter_create(), for each class of streams; compiled for an event class when its first record comes
 *         ▼
 *     record ──► the fields that the program reads, found by one walk that ends behind the last of them ──► wanted, or not
 *
 * A field's name is the one that is shown. $ctx.NAME is looked for in the event's own context, in that of all events of
 * the stream, and in the packet's (numbers only). Of an event class that does not have what the filter asks for, or has
 * another type there, no record is wanted, but for what || leaves (filter.h).
 *
 * One thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_READ_FILTER_H
#define WMK_READ_FILTER_H

#include "filter/filter.h"
#include "read/packet_head.h"

struct wmk_read_filter;

/*
 * Can it ever mean something in traces with these classes? Each name must be there in an event class that the
 * expression fits, but for what exists() asks for. -EINVAL with a cause chain; for a name that is nowhere, with those
 * that are near.
 */
int wmk_read_filter_check(const struct wmk_filter_expr *expr, const struct wmk_ctf_decoder *const *decoders,
			  uint32_t n);

/* `expr` and `decoder` must live longer. */
int wmk_read_filter_create(const struct wmk_filter_expr *expr, const struct wmk_ctf_stream_decoder *decoder,
			   struct wmk_read_filter **filter);
void wmk_read_filter_free(struct wmk_read_filter *filter);

/*
 * Is the stream's record, of the packet whose head it is, wanted? 1, 0, or the error of what is damaged in it
 * (ctf/decode.h). Leaves the walk anywhere in the record.
 */
int wmk_read_filter_wants(struct wmk_read_filter *filter, const struct wmk_read_packet_head *head,
			  struct wmk_read_stream *stream);

#endif
