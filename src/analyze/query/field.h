/* SPDX-License-Identifier: MIT */
/*
 * field.h - the position of a column in the records of an event class, and its value.
 */
#ifndef WMK_ANALYZE_QUERY_FIELD_H
#define WMK_ANALYZE_QUERY_FIELD_H

#include "analyze/query/tables.h"
#include "analyze/query/value.h"
#include "read/print.h"

/* The position of a member of a scope. */
struct wmk_query_place {
	uint32_t op;               /* 0: the class has no such member */
	unsigned scope;
	bool is_constant;          /* a number or a text that is at a constant distance from the begin of the scope */
	uint64_t distance;         /* bits */
};

/* Find a member by its name. If several members have the name, find the `nth`. */
struct wmk_query_place wmk_query_place_find(const struct wmk_query_class *class, unsigned scope, const char *field,
					    unsigned nth);
/*
 * Read the value from the stream's current record. A structure or an array is JSON. An enumeration is its label, or
 * with `number` its number. The text may be in `scratch`. 0, -ENOMEM, -E2BIG, or damage in the record (ctf/decode.h).
 */
int wmk_query_place_value(const struct wmk_query_place *place, struct wmk_read_stream *stream, bool number,
			  struct wmk_print_text *scratch, struct wmk_query_value *value);
/* All fields, or all context fields, as a JSON object in `scratch`. Errors: as above. */
int wmk_query_fields_value(struct wmk_read_stream *stream, bool context, struct wmk_print_text *scratch,
			   struct wmk_query_value *value);

#endif
