/* SPDX-License-Identifier: MIT */
/*
 * build.h - a trace's class while a parser makes it: pieces in the order in which the metadata has them, put in order
 * at the end. Internal to src/ctf. Both parsers end in wmk_ctf_build().
 */
#ifndef WMK_CTF_BUILD_H
#define WMK_CTF_BUILD_H

#include "ctf/class.h"
#include "schema/scratch.h"

/* An array that grows; its memory is the scratch's. */
struct wmk_ctf_list {
	void *items;
	uint32_t n, cap;
};

/* A type is a clock's value, here. */
struct wmk_ctf_map {
	const char *clock;
	uint32_t line, column;
};

struct wmk_ctf_builder {
	struct wmk_scratch scratch;    /* all that the class consists of */
	struct wmk_ctf_class class;    /* its arrays are made by wmk_ctf_build() */
	const char *name;              /* the metadata's, for errors: as wmk_ctf_short_name() has it */
	int err;                       /* the first error of the parser; nothing is allocated or added after it */
	bool has_order, has_trace;
	struct wmk_ctf_warning *warnings; /* the class's, when there is one */
	struct wmk_ctf_list env;       /* struct wmk_ctf_env_entry */
	struct wmk_ctf_list clocks;    /* struct wmk_ctf_clock_class */
	const struct wmk_ctf_clock_class **clocks_by_name; /* when all are there, in this order */
	struct wmk_ctf_list maps;      /* struct wmk_ctf_map: their clocks must be there in the end */
	struct wmk_ctf_list streams;   /* struct wmk_ctf_stream_class * */
	struct wmk_ctf_list events;    /* struct wmk_ctf_event_class *, `stream` not set; ... */
	struct wmk_ctf_list stream_ids; /* ... struct wmk_ctf_stream_of: which it is of */
	/* members that were looked at for what they mean, names of clocks for whose they are */
	uint64_t n_looked;
};

struct wmk_ctf_stream_of {
	uint64_t id;
	bool is_said;                  /* else: of the only stream class */
};

/* Keep an error, of which a cause chain exists; not after another. 0 and more: none. */
void wmk_ctf_fail(struct wmk_ctf_builder *to, int err);
/* Zeroed memory of the scratch. NULL: without memory, or after an error. */
void *wmk_ctf_alloc(struct wmk_ctf_builder *to, size_t size);
/* A copy on the scratch; "" without memory, or after an error. */
const char *wmk_ctf_copy_text(struct wmk_ctf_builder *to, const char *text, size_t len);
/* Room for one more, zeroed; NULL without memory, when there would be more than `max`, or after an error. */
void *wmk_ctf_list_add(struct wmk_ctf_builder *to, struct wmk_ctf_list *list, size_t size, uint32_t max);
/* An event class, and the stream class that it is of. */
void wmk_ctf_add_event(struct wmk_ctf_builder *to, struct wmk_ctf_event_class *event,
		       const struct wmk_ctf_stream_of *of);

/* The metadata breaks the specification here and is read all the same. Equal words are counted. */
void wmk_ctf_warn(struct wmk_ctf_builder *to, uint32_t line, uint32_t column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Order streams and events, give each event its stream and each stream its clock, and make the class out of it. What
 * two have in common (a stream's id, an event's id in a stream) is an error. The builder is empty afterwards, whatever
 * happens.
 */
int wmk_ctf_build(struct wmk_ctf_builder *from, struct wmk_ctf_class **class);
/*
 * `name` is short already. "<file>:<line>:<column>: " for the begin of an error, of what is known (else 0):
 * "<file>:<line>: ", "". Returns `text`.
 */
#define WMK_CTF_AT 96
const char *wmk_ctf_at(char text[WMK_CTF_AT], const char *name, uint32_t line, uint32_t column);
/* Is `text` 32 hexadecimal digits, with '-' anywhere between? */
bool wmk_ctf_parse_uuid(const char *text, uint8_t uuid[16]);
void wmk_ctf_builder_free(struct wmk_ctf_builder *builder);

#endif
