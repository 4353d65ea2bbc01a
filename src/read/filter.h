/* SPDX-License-Identifier: MIT */
/*
 * filter.h - apply a filter (filter/filter.h) to records of a trace.
 *
 *     expression ──wmk_read_filter_check()──► is each name found in an event class that the expression fits?
 *         │ wmk_read_filter_create(), for each stream class; compiled for an event class with its first record
 *         ▼
 *     record ──► one walk, up to the last field that the program reads ──► matches, or not
 *
 * The filter uses the same names of fields that the output shows. $ctx.NAME is searched in the event's own context,
 * then in the context of all events of the stream, then in the packet's context (numbers only). If an event class lacks
 * a name of the filter, or if the field with this name has another type, the operand is absent. With an absent operand
 * on one side of ||, the record can match only by the other side (filter/filter.h).
 *
 * One thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_READ_FILTER_H
#define WMK_READ_FILTER_H

#include "filter/filter.h"
#include "read/packet_head.h"

struct wmk_read_filter;

/*
 * Check that the filter can match records of traces with these classes. Each name must exist in an event class that
 * fits the expression, except for the operands of exists(). -EINVAL with a cause chain, which lists similar names if a
 * name is unknown.
 */
int wmk_read_filter_check(const struct wmk_filter_expr *expr, const struct wmk_ctf_decoder *const *decoders,
			  uint32_t n);

/* `expr` and `decoder` must live longer than the filter. */
int wmk_read_filter_create(const struct wmk_filter_expr *expr, const struct wmk_ctf_stream_decoder *decoder,
			   struct wmk_read_filter **filter);
void wmk_read_filter_free(struct wmk_read_filter *filter);

/*
 * Whether the stream's record matches. `head` is the header of the packet that contains the record. The function
 * returns 1, 0, or an error for damage in the record (ctf/decode.h). After the call, the walk may be at any position in
 * the record.
 */
int wmk_read_filter_wants(struct wmk_read_filter *filter, const struct wmk_read_packet_head *head,
			  struct wmk_read_stream *stream);

#endif
