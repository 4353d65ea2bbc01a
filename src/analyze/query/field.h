/* SPDX-License-Identifier: MIT */
/*
 * field.h - the position of a column in the records of an event class, and its value.
 */
#ifndef WMK_ANALYZE_QUERY_FIELD_H
#define WMK_ANALYZE_QUERY_FIELD_H

#include "analyze/query/tables.h"
#include "analyze/query/value.h"
#include "read/print.h"

/* The position of a member in a scope. */
struct wmk_query_place {
	uint32_t op;               /* 0: the class has no such member */
	unsigned scope;
	bool is_constant;          /* a number or a text that is at a constant distance from the begin of the scope */
	uint64_t distance;         /* bits */
};

/* Find a member by its name. If several members have this name, find the `nth` of these members. */
struct wmk_query_place wmk_query_place_find(const struct wmk_query_class *class, unsigned scope, const char *field,
					    unsigned nth);
/*
 * Read the member's value from the stream's current record. A structure or an array becomes JSON text. The value of an
 * enumeration is its label, or its number if `number` is true. A text value may be stored in `scratch`. 0, -ENOMEM,
 * -E2BIG, or damage in the record (ctf/decode.h).
 */
int wmk_query_place_value(const struct wmk_query_place *place, struct wmk_read_stream *stream, bool number,
			  struct wmk_print_text *scratch, struct wmk_query_value *value);
/*
 * Read all fields or all context fields of the record as a JSON object, which is written to `scratch`. Errors: as
 * above.
 */
int wmk_query_fields_value(struct wmk_read_stream *stream, bool context, struct wmk_print_text *scratch,
			   struct wmk_query_value *value);

#endif
