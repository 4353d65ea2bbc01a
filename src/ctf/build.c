/* SPDX-License-Identifier: MIT */
/*
 * build.c - the common last step of both metadata parsers: put streams and events in order, assign streams to events
 * and clocks to streams. build.c also searches a class by id, formats the names and places in errors, and frees a
 * class.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/build.h"
#include "ctf/decode.h"

#define LOOKED_MAX (1u << 26)
#define CLOCK_BUDGET 10000u        /* members that the search for the clock of a stream visits */
#define CLOCK_COMPARED 11u         /* cost of finding one name among WMK_CTF_CLOCKS_MAX */

/* The block of memory of the class that wmk_ctf_build() returns. */
struct class_memory {
	struct wmk_ctf_class class;
	struct wmk_scratch scratch;
};

void wmk_ctf_fail(struct wmk_ctf_builder *to, int err)
{
	if (to->err >= 0)
		to->err = err;
}

void *wmk_ctf_alloc(struct wmk_ctf_builder *to, size_t size)
{
	void *made = to->err < 0 ? NULL : wmk_scratch_alloc(&to->scratch, size);

	if (!made && to->err >= 0)
		to->err = wmk_error(-ENOMEM, "no memory for metadata");
	return made;
}

const char *wmk_ctf_copy_text(struct wmk_ctf_builder *to, const char *text, size_t len)
{
	char *copy = wmk_ctf_alloc(to, len + 1);

	return copy ? memcpy(copy, text, len) : "";
}

void *wmk_ctf_list_add(struct wmk_ctf_builder *to, struct wmk_ctf_list *list, size_t size, uint32_t max)
{
	if (to->err >= 0 && list->n >= max)
		to->err = wmk_error(-E2BIG, "more than %" PRIu32 " objects of one kind in the metadata", max);
	if (to->err < 0)
		return NULL;
	if (list->n == list->cap) {
		uint32_t cap = list->cap ? 2 * list->cap : 4;
		void *items = wmk_ctf_alloc(to, cap * size);

		if (!items)
			return NULL;
		if (list->n)
			memcpy(items, list->items, list->n * size);
		list->items = items;
		list->cap = cap;
	}
	return memset((char *)list->items + list->n++ * size, 0, size);
}

void wmk_ctf_add_event(struct wmk_ctf_builder *to, struct wmk_ctf_event_class *event,
		       const struct wmk_ctf_stream_of *of)
{
	struct wmk_ctf_event_class **at = wmk_ctf_list_add(to, &to->events, sizeof(*at), WMK_CTF_EVENTS_MAX);
	struct wmk_ctf_stream_of *of_at = wmk_ctf_list_add(to, &to->stream_ids, sizeof(*of), WMK_CTF_EVENTS_MAX);

	if (!of_at)
		return;
	*at = event;
	*of_at = *of;
}

void wmk_ctf_builder_free(struct wmk_ctf_builder *builder)
{
	wmk_scratch_free(&builder->scratch);
}

bool wmk_ctf_parse_uuid(const char *text, uint8_t uuid[16])
{
	unsigned n = 0, value = 0;

	for (; *text && n < 32; text++) {
		const char *digits = "0123456789abcdef", *at;

		if (*text == '-')
			continue;
		at = strchr(digits, *text | 0x20);
		if (!at)
			return false;
		value = value << 4 | (unsigned)(at - digits);
		if (n++ % 2)
			uuid[n / 2 - 1] = (uint8_t)value;
	}
	return n == 32 && !*text;
}

/* ── clocks ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Report an error at a position in the metadata; the line and the column may be 0. */
static int __attribute__((format(printf, 4, 5)))
wrong(const struct wmk_ctf_builder *from, uint32_t line, uint32_t column, const char *format, ...)
{
	char words[WMK_ERROR_LEN], at[WMK_CTF_AT];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	return wmk_error(-EPROTO, "%s%s", wmk_ctf_at(at, from->name, line, column), words);
}

static int by_name(const void *left, const void *right)
{
	const struct wmk_ctf_clock_class *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

static int order_clocks(struct wmk_ctf_builder *from)
{
	const struct wmk_ctf_clock_class *clocks = from->clocks.items;

	from->clocks_by_name = wmk_scratch_alloc(&from->scratch, from->clocks.n * sizeof(from->clocks_by_name[0]));
	if (!from->clocks_by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->clocks.n; i++)
		from->clocks_by_name[i] = &clocks[i];
	if (from->clocks.n)
		qsort(from->clocks_by_name, from->clocks.n, sizeof(from->clocks_by_name[0]), by_name);
	return 0;
}

/* (only for TSDL, where names are unique) */
static const struct wmk_ctf_clock_class *clock_of(const struct wmk_ctf_builder *from, const char *name)
{
	const struct wmk_ctf_clock_class wanted = { .name = name }, *key = &wanted;
	const struct wmk_ctf_clock_class *const *at =
		from->clocks.n ? bsearch(&key, from->clocks_by_name, from->clocks.n, sizeof(key), by_name) : NULL;

	return at ? *at : NULL;
}

/*
 * Return the name of the clock to which `type`, or a type inside `type`, is mapped; NULL if no clock is mapped. The
 * search has a budget, because it runs before the compiler limits the nesting of types, and the metadata may use one
 * type many times.
 */
static const char *clock_in(const struct wmk_type *type, unsigned depth, unsigned *budget)
{
	const char *found = type->clock;

	if (found || depth > WMK_CTF_TYPE_DEPTH || !*budget)
		return found;
	--*budget;
	for (uint32_t i = 0; type->members && i < type->count && !found; i++)
		found = clock_in(&type->members[i].type, depth + 1, budget);
	return found || !type->elem ? found : clock_in(type->elem, depth + 1, budget);
}

/*
 * (The search enters at most 4 levels. It never exceeds the budget in a valid class: the compiler rejects structures
 * with more members.)
 */
static bool member_in(const struct wmk_type *type, const char *name, unsigned depth, unsigned *budget)
{
	static const struct wmk_ctf_class tsdl = { .major = 1 };
	bool has = false;

	for (uint32_t i = 0; type->members && depth < 4 && i < type->count && !has && *budget; i++) {
		--*budget;
		has = ((type->members[i].type.kind == WMK_TYPE_INT || type->members[i].type.kind == WMK_TYPE_ENUM) &&
		       strcmp(wmk_ctf_shown_name(&tsdl, type->members[i].name), name) == 0) ||
		      member_in(&type->members[i].type, name, depth + 1, budget);
	}
	return has;
}

static bool has_member(struct wmk_ctf_builder *from, const struct wmk_type *type, const char *name)
{
	unsigned budget = WMK_CTF_OPS_MAX;
	const bool has = member_in(type, name, 0, &budget);

	from->n_looked += WMK_CTF_OPS_MAX - budget;
	return has;
}

/* Return whether the records or packets of the stream have times. */
static bool has_times(struct wmk_ctf_builder *from, const struct wmk_ctf_stream_class *stream)
{
	return (stream->event_header && has_member(from, stream->event_header, "timestamp")) ||
	       (stream->packet_context && (has_member(from, stream->packet_context, "timestamp_begin") ||
					   has_member(from, stream->packet_context, "timestamp_end")));
}

/* The function limits its total cost, because it searches each stream, and streams may share large types. */
static int check_looked(const struct wmk_ctf_builder *from, const struct wmk_ctf_stream_class *stream)
{
	if (from->n_looked <= LOOKED_MAX)
		return 0;
	return wrong(from, stream->line, stream->column,
		     "the headers of all streams have too many members, or the names of clocks are too long");
}

/* If a trace of CTF 1.8 has times but no clock, the parser interprets the times as nanoseconds, as babeltrace2 does. */
static int assume_clock(struct wmk_ctf_builder *from)
{
	struct wmk_ctf_stream_class *const *streams = from->streams.items;
	struct wmk_ctf_clock_class *clock;
	bool has = false;

	for (uint32_t i = 0; from->class.major == 1 && !from->clocks.n && i < from->streams.n && !has; i++) {
		has = has_times(from, streams[i]);
		if (check_looked(from, streams[i]) < 0)
			return -EPROTO;
	}
	if (!has)
		return 0;
	clock = wmk_ctf_list_add(from, &from->clocks, sizeof(*clock), WMK_CTF_CLOCKS_MAX);
	if (!clock)
		return from->err;
	*clock = (struct wmk_ctf_clock_class){ .name = "default", .freq = 1000000000 };
	return 0;
}

/* Set the clock of a stream: the clock to which the times of the stream are mapped, or the only clock of the trace. */
static int find_clock(struct wmk_ctf_builder *from, const struct wmk_ctf_class *class,
		      struct wmk_ctf_stream_class *stream)
{
	const struct wmk_type *roots[] = { stream->event_header, stream->packet_context };
	const char *name = NULL;
	unsigned budget = CLOCK_BUDGET;

	/* (in CTF 2 the stream class names its clock) */
	if (stream->clock || class->major != 1)
		return 0;
	for (unsigned i = 0; i < 2 && !name; i++)
		if (roots[i])
			name = clock_in(roots[i], 0, &budget);
	from->n_looked += CLOCK_BUDGET - budget;
	if (!name) {
		stream->clock = class->n_clocks == 1 && has_times(from, stream) ? class->clocks : NULL;
		return check_looked(from, stream);
	}
	from->n_looked += CLOCK_COMPARED * (1 + (uint64_t)strlen(name) / 16);
	if (check_looked(from, stream) < 0)
		return -EPROTO;
	stream->clock = clock_of(from, name);
	if (!stream->clock)
		return wrong(from, stream->line, stream->column,
			     "the times of stream %" PRIu64 " refer to a clock '%.60s' that is not declared",
			     stream->id, name);
	return 0;
}

/* ── order ───────────────────────────────────────────────────────────────────────────────────────────── */

static int by_stream_id(const void *left, const void *right)
{
	const struct wmk_ctf_stream_class *const *a = left, *const *b = right;

	return (*a)->id < (*b)->id ? -1 : (*a)->id > (*b)->id;
}

static int by_event_id(const void *left, const void *right)
{
	const struct wmk_ctf_event_class *const *a = left, *const *b = right;

	if ((*a)->stream != (*b)->stream)
		return (*a)->stream->id < (*b)->stream->id ? -1 : 1;
	return (*a)->id < (*b)->id ? -1 : (*a)->id > (*b)->id;
}

const struct wmk_ctf_stream_class *wmk_ctf_stream_class_of(const struct wmk_ctf_class *class, uint64_t id)
{
	const struct wmk_ctf_stream_class wanted = { .id = id }, *key = &wanted;
	const struct wmk_ctf_stream_class *const *at =
		class->n_streams ? bsearch(&key, class->streams, class->n_streams, sizeof(key), by_stream_id) : NULL;

	return at ? *at : NULL;
}

const struct wmk_ctf_event_class *wmk_ctf_event_class_of(const struct wmk_ctf_stream_class *stream, uint64_t id)
{
	const struct wmk_ctf_event_class wanted = { .stream = stream, .id = id }, *key = &wanted;
	const struct wmk_ctf_event_class *const *at =
		stream->n_events ? bsearch(&key, stream->events, stream->n_events, sizeof(key), by_event_id) : NULL;

	return at ? *at : NULL;
}

static int check_maps(const struct wmk_ctf_builder *from)
{
	const struct wmk_ctf_map *maps = from->maps.items;

	for (uint32_t i = 0; i < from->maps.n; i++)
		if ((!i || strcmp(maps[i].clock, maps[i - 1].clock) != 0) && !clock_of(from, maps[i].clock))
			return wrong(from, maps[i].line, maps[i].column, "unknown clock '%.60s'", maps[i].clock);
	return 0;
}

/*
 * With several stream classes, each packet must contain the id of its stream class. If a stream has several event
 * classes and its records contain no id, the builder adds a warning and reports no error.
 */
static int check_ids(struct wmk_ctf_builder *from, const struct wmk_ctf_class *class)
{
	if (class->major != 1)
		return 0;
	if (class->n_streams > 1 && !(class->packet_header && has_member(from, class->packet_header, "stream_id")))
		return wrong(from, class->streams[1]->line, class->streams[1]->column,
			     "several streams, but the packet header has no stream_id");
	for (uint32_t i = 0; i < class->n_streams; i++) {
		const struct wmk_ctf_stream_class *stream = class->streams[i];

		if (check_looked(from, stream) < 0)
			return -EPROTO;
		if (stream->n_events > 1 && !(stream->event_header && has_member(from, stream->event_header, "id")))
			wmk_ctf_warn(from, stream->events[1]->line, stream->events[1]->column,
				     "several events, but the event header has no id: all records are read as '%.60s'",
				     wmk_or_empty(stream->events[0]->name));
	}
	return from->err;
}

static int order_streams(struct wmk_ctf_builder *from, struct wmk_ctf_class *class)
{
	struct wmk_ctf_stream_class **streams = from->streams.items;

	/* Events without a stream class belong to an implicit stream, as in TSDL. */
	if (!from->streams.n && from->events.n) {
		streams = wmk_ctf_list_add(from, &from->streams, sizeof(*streams), 1);
		if (streams)
			*streams = wmk_ctf_alloc(from, sizeof(**streams));
		if (from->err < 0)
			return from->err;
	}
	if (from->streams.n)
		qsort(streams, from->streams.n, sizeof(*streams), by_stream_id);
	class->streams = (const struct wmk_ctf_stream_class *const *)streams;
	class->n_streams = from->streams.n;
	for (uint32_t i = 0; i < from->streams.n; i++) {
		if (i && streams[i]->id == streams[i - 1]->id) {
			const struct wmk_ctf_stream_class *later =
				streams[i - (streams[i - 1]->line > streams[i]->line)];

			return wrong(from, later->line, later->column, "two stream classes have the id %" PRIu64,
				     later->id);
		}
		int err = find_clock(from, class, streams[i]);

		if (err < 0)
			return err;
	}
	return 0;
}

static int stream_of_event(const struct wmk_ctf_builder *from, const struct wmk_ctf_class *class,
			   struct wmk_ctf_event_class *event, const struct wmk_ctf_stream_of *of)
{
	if (of->is_named)
		event->stream = wmk_ctf_stream_class_of(class, of->id);
	else
		event->stream = class->n_streams == 1 ? class->streams[0] : wmk_ctf_stream_class_of(class, 0);
	if (event->stream)
		return 0;
	return wrong(from, event->line, event->column,
		     "event '%.60s' refers to a stream class %" PRIu64 " that is not declared",
		     wmk_or_empty(event->name), of->id);
}

static int order_events(struct wmk_ctf_builder *from, struct wmk_ctf_class *class)
{
	struct wmk_ctf_event_class **events = from->events.items;
	const struct wmk_ctf_stream_of *of = from->stream_ids.items;
	const uint32_t n = from->events.n;

	for (uint32_t i = 0; i < n; i++) {
		int err = stream_of_event(from, class, events[i], &of[i]);

		if (err < 0)
			return err;
	}
	if (n)
		qsort(events, n, sizeof(*events), by_event_id);
	for (uint32_t i = 0; i < n; i++) {
		/* the builder's own object, which is still writable */
		struct wmk_ctf_stream_class *stream = (struct wmk_ctf_stream_class *)(uintptr_t)events[i]->stream;

		if (i && events[i - 1]->stream == stream && events[i - 1]->id == events[i]->id) {
			const struct wmk_ctf_event_class *later = events[i - (events[i - 1]->line > events[i]->line)];

			return wrong(from, later->line, later->column,
				     "two events of stream %" PRIu64 " have the id %" PRIu64 ": '%.40s' and '%.40s'",
				     stream->id, later->id, wmk_or_empty(events[i - 1]->name),
				     wmk_or_empty(events[i]->name));
		}
		if (!stream->n_events++)
			stream->events = (const struct wmk_ctf_event_class *const *)&events[i];
	}
	return 0;
}

int wmk_ctf_build(struct wmk_ctf_builder *from, struct wmk_ctf_class **class)
{
	struct wmk_ctf_class *made = &from->class;
	struct class_memory *whole;
	int err;

	made->env = from->env.items;
	made->n_env = from->env.n;
	err = assume_clock(from);
	made->clocks = from->clocks.items;
	made->n_clocks = from->clocks.n;
	if (err >= 0)
		err = order_clocks(from);
	if (err >= 0)
		err = check_maps(from);
	if (err >= 0)
		err = order_streams(from, made);
	if (err >= 0)
		err = order_events(from, made);
	if (err >= 0)
		err = check_ids(from, made);
	whole = err < 0 ? NULL : malloc(sizeof(*whole));
	if (!whole) {
		wmk_scratch_free(&from->scratch);
		return err < 0 ? err : wmk_error(-ENOMEM, "no memory for the metadata");
	}
	whole->class = *made;
	whole->scratch = from->scratch;
	from->scratch = (struct wmk_scratch){ NULL };
	*class = &whole->class;
	return 0;
}

void wmk_ctf_class_free(struct wmk_ctf_class *class)
{
	struct class_memory *whole = (struct class_memory *)class;

	if (!whole)
		return;
	wmk_scratch_free(&whole->scratch);
	free(whole);
}

/* Error messages have a limited length, and the end of a path is more useful than its start. */
const char *wmk_ctf_short_name(char text[WMK_CTF_SHORT], const char *name)
{
	const size_t len = strlen(name), most = WMK_CTF_SHORT - 4;

	name += len > most ? len - most : 0;
	while (len > most && ((unsigned char)*name & 0xc0) == 0x80)
		name++;
	snprintf(text, WMK_CTF_SHORT, "%s%s", len > most ? "..." : "", name);
	return text;
}

const char *wmk_ctf_at(char text[WMK_CTF_AT], const char *name, uint32_t line, uint32_t column)
{
	if (line && column)
		snprintf(text, WMK_CTF_AT, "%s:%" PRIu32 ":%" PRIu32 ": ", name, line, column);
	else if (line)
		snprintf(text, WMK_CTF_AT, "%s:%" PRIu32 ": ", name, line);
	else
		text[0] = '\0';
	return text;
}

const char *wmk_ctf_shown_name(const struct wmk_ctf_class *class, const char *name)
{
	return class->major == 1 && name && name[0] == '_' ? name + 1 : name;
}
