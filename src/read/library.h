/* SPDX-License-Identifier: MIT */
/*
 * library.h - what the files of libwaymark-ctf share.
 *
 *     library.c          traces, records
 *     library_field.c    values of a record: all in their order, or one by its name
 *     library_access.c   one by its name, in record after record
 */
#ifndef WMK_READ_LIBRARY_H
#define WMK_READ_LIBRARY_H

#include <waymark/ctf.h>

#include "ctf/wide_number.h"
#include "read/filter.h"
#include "read/merge.h"

#define API __attribute__((visibility("default")))

struct wmk_library_digits {
	struct wmk_library_digits *next;
	char text[];
};

/* Of each stream: its packet's head, and what it is filtered by. */
struct wmk_library_packet {
	struct wmk_library_packet *next;         /* all of a handle's */
	struct wmk_read_filter *filter; /* or NULL */
	struct wmk_read_packet_head head;
};

struct waymark_ctf_record {
	struct waymark_ctf *ctf;
	struct wmk_read_stream *stream;
};

struct waymark_ctf {
	struct waymark_ctf_options options;
	struct wmk_read_trace **traces;
	uint32_t n_traces;
	struct wmk_read_merge *merge;
	struct wmk_library_packet *packets;
	struct wmk_filter_expr *filter; /* or NULL */
	bool has_begun;
	struct waymark_ctf_record record;
	struct wmk_ctf_walk *walk;     /* that waymark_ctf_walk_next() goes on with */
	struct wmk_library_digits *digits; /* of wide values that were given of this record */
};

/* One part of a field's name: a member's, or an element's number. */
struct wmk_library_part {
	const char *name;          /* in the name that was split; NULL: `index` */
	size_t len;
	uint64_t index;
};

#define WMK_LIBRARY_PARTS 64u

/* "a.b[3]" in parts: how many; -1: it is no field's name. */
int wmk_library_split(const char *name, struct wmk_library_part parts[WMK_LIBRARY_PARTS]);
/* A name that was split: see waymark_ctf_field(). */
int wmk_library_field(const struct waymark_ctf_record *record, const struct wmk_library_part *parts, unsigned n,
		      struct waymark_ctf_value *value);
/* Is it the member `op`? */
bool wmk_library_is_called(const struct wmk_library_part *part, const struct wmk_ctf_op *op);

/* The walk of a scope, before its first value, and its program; NULL: there is no such scope. */
struct wmk_ctf_walk *wmk_library_enter(const struct waymark_ctf_record *record, enum waymark_ctf_scope scope,
				       const struct wmk_ctf_program **program);
/* What wmk_library_fill() has kept for a record that is over. */
void wmk_library_forget(struct waymark_ctf *ctf);
void wmk_library_fill(struct waymark_ctf *ctf, const struct wmk_ctf_item *item, struct waymark_ctf_value *value);

#endif
