/* SPDX-License-Identifier: MIT */
/*
 * library.h - shared by the files of libwaymark-ctf.
 *
 *     library.c          traces, records
 *     library_field.c    values of a record: all in order, or one by name
 *     library_access.c   one field of many records
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

/* The state of each stream: the header of its packet, and its filter. */
struct wmk_library_packet {
	struct wmk_library_packet *next;         /* list of the handle */
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
	struct wmk_read_hosts *hosts;  /* NULL: the traces are not on the clock of a relay */
	struct wmk_read_merge *merge;
	struct wmk_library_packet *packets;
	struct wmk_filter_expr *filter; /* or NULL */
	bool has_begun;
	struct waymark_ctf_record record;
	struct wmk_ctf_walk *walk;     /* waymark_ctf_walk_next() continues it */
	struct wmk_library_digits *digits; /* texts of wide values of this record */
};

/* One part of a field's name: the name of a member or the index of an element. */
struct wmk_library_part {
	const char *name;          /* points into the name that was split; NULL: the part is `index` */
	size_t len;
	uint64_t index;
};

#define WMK_LIBRARY_PARTS 64u

/* Split "a.b[3]" into parts. Returns the number of parts, or -1 if `name` is not valid. */
int wmk_library_split(const char *name, struct wmk_library_part parts[WMK_LIBRARY_PARTS]);
/* Find the field with a split name: see waymark_ctf_field(). */
int wmk_library_field(const struct waymark_ctf_record *record, const struct wmk_library_part *parts, unsigned n,
		      struct waymark_ctf_value *value);
/* Return whether the part is the name of the member `op`. */
bool wmk_library_is_called(const struct wmk_library_part *part, const struct wmk_ctf_op *op);

/*
 * Return the record's walk at the start of a scope, and set *program to the scope's program. NULL: `scope` is unknown.
 */
struct wmk_ctf_walk *wmk_library_enter(const struct waymark_ctf_record *record, enum waymark_ctf_scope scope,
				       const struct wmk_ctf_program **program);
/* Free the memory that wmk_library_fill() has allocated for the previous record. */
void wmk_library_forget(struct waymark_ctf *ctf);
void wmk_library_fill(struct waymark_ctf *ctf, const struct wmk_ctf_item *item, struct waymark_ctf_value *value);

#endif
