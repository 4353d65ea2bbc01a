/* SPDX-License-Identifier: MIT */
/*
 * build.h - a trace's class under construction: parsers add its parts in the order of the metadata, wmk_ctf_build()
 * puts them in order. Internal to src/ctf.
 */
#ifndef WMK_CTF_BUILD_H
#define WMK_CTF_BUILD_H

#include "ctf/class.h"
#include "schema/scratch.h"

/* A growing array in scratch memory. */
struct wmk_ctf_list {
	void *items;
	uint32_t n, cap;
};

/* A mapping of a type to the value of a clock, with the place of the mapping in the metadata. */
struct wmk_ctf_map {
	const char *clock;
	uint32_t line, column;
};

struct wmk_ctf_builder {
	struct wmk_scratch scratch;    /* memory of the class */
	struct wmk_ctf_class class;    /* wmk_ctf_build() fills its arrays */
	const char *name;              /* name of the metadata for errors, from wmk_ctf_short_name() */
	/* the first error of the parser; after an error the builder allocates and adds nothing */
	int err;
	bool has_order, has_trace;
	struct wmk_ctf_warning *warnings; /* warnings of the class, allocated with the first one */
	struct wmk_ctf_list env;       /* struct wmk_ctf_env_entry */
	struct wmk_ctf_list clocks;    /* struct wmk_ctf_clock_class */
	const struct wmk_ctf_clock_class **clocks_by_name; /* `clocks` sorted by name, after the last declaration */
	struct wmk_ctf_list maps;      /* struct wmk_ctf_map: wmk_ctf_build() checks that the clocks exist */
	struct wmk_ctf_list streams;   /* struct wmk_ctf_stream_class * */
	struct wmk_ctf_list events;    /* struct wmk_ctf_event_class *; their member `stream` is not set: ... */
	struct wmk_ctf_list stream_ids; /* ... struct wmk_ctf_stream_of names the stream of each event */
	/* cost so far of searching for members by meaning and for clocks by name */
	uint64_t n_looked;
};

struct wmk_ctf_stream_of {
	uint64_t id;
	/*
	 * false: the metadata names no stream class; the event belongs to the only stream class, or to the class with
	 * id 0
	 */
	bool is_named;
};

/*
 * Keep `err`, which has a cause chain, if the builder has no error yet. A value of `err` that is 0 or above is not an
 * error.
 */
void wmk_ctf_fail(struct wmk_ctf_builder *to, int err);
/* Allocate zeroed scratch memory. Returns NULL if memory is short or the builder already has an error. */
void *wmk_ctf_alloc(struct wmk_ctf_builder *to, size_t size);
/* Copy a text to scratch memory; return "" if memory is short or the builder already has an error. */
const char *wmk_ctf_copy_text(struct wmk_ctf_builder *to, const char *text, size_t len);
/*
 * Append a zeroed item. Returns NULL if memory is short, if the list already has `max` items, or if the builder already
 * has an error.
 */
void *wmk_ctf_list_add(struct wmk_ctf_builder *to, struct wmk_ctf_list *list, size_t size, uint32_t max);
/* Add an event class that belongs to a stream class. */
void wmk_ctf_add_event(struct wmk_ctf_builder *to, struct wmk_ctf_event_class *event,
		       const struct wmk_ctf_stream_of *of);

/* Add a warning about accepted metadata that violates the specification. Equal texts are counted. */
void wmk_ctf_warn(struct wmk_ctf_builder *to, uint32_t line, uint32_t column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Order streams and events, assign a stream to each event and a clock to each stream, and make the class. Duplicate ids
 * (of streams, or of events in a stream) are an error. The builder is empty after success and after an error.
 */
int wmk_ctf_build(struct wmk_ctf_builder *from, struct wmk_ctf_class **class);
/*
 * Format the location at the beginning of an error message: "<file>:<line>:<column>: ". If `column` is 0, the result is
 * "<file>:<line>: "; if `line` is 0, the result is "". The caller has already shortened `name`. Returns `text`.
 */
#define WMK_CTF_AT 96
const char *wmk_ctf_at(char text[WMK_CTF_AT], const char *name, uint32_t line, uint32_t column);
/* Parse 32 hexadecimal digits, with '-' anywhere between them. */
bool wmk_ctf_parse_uuid(const char *text, uint8_t uuid[16]);
void wmk_ctf_builder_free(struct wmk_ctf_builder *builder);

#endif
