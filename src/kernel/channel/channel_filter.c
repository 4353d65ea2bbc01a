/* SPDX-License-Identifier: MIT */
/*
 * channel_filter.c - filters of the records of an event, each with its time span (see channel_reader.h).
 *
 * The reader may read a record long after the kernel made the record (in overwrite mode at the very end). The filter at
 * the time when the kernel made the record applies to the record:
 *
 *     ───── old program ─────┤ either of both ├───── new program ─────►  time of the record
 *                            │                │
 *                        changing         changed: the kernel has the new filter
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/channel/syscall_set.h"
#include "kernel/tracefs/instance.h"
#include "kernel/channel/channel_events.h"

/* spans of an event; for records before the oldest span, only the kernel's filter applies */
#define SPANS_MAX 64u

static void span_free(struct wmk_kreader_span *span)
{
	wmk_kfilter_close(span->either[0]);
	wmk_kfilter_close(span->either[1]);
}

void wmk_kreader_filters_free(struct wmk_kreader_filters *filters)
{
	for (unsigned i = 0; i < filters->n; i++)
		span_free(&filters->spans[i]);
	free(filters->spans);
	free(filters->program);
	*filters = (struct wmk_kreader_filters){ .n = 0 };
}

bool wmk_kreader_filters_accept(const struct wmk_kreader_filters *filters, uint64_t ts,
				const struct wmk_kfilter_record *record)
{
	const struct wmk_kreader_span *span = filters->spans;

	/* (the last span does not end) */
	while (ts >= span->until && span->until != UINT64_MAX)
		span++;
	return span->all || (span->either[0] && wmk_kfilter_wants(span->either[0], record)) ||
	       (span->either[1] && wmk_kfilter_wants(span->either[1], record));
}

/*
 * Adds a program to the span: the reader keeps a record if at least one program of the span accepts the record. NULL:
 * every record is kept.
 */
static int span_add(const struct wmk_kreader *reader, const struct wmk_event_class *class,
		    struct wmk_kreader_span *span, const void *program, size_t len)
{
	uint8_t contexts[WMK_KCONTEXT_CONTEXTS];
	const unsigned n = wmk_kcontext_contexts(reader->contexts, contexts);

	span->all |= !program;
	return program ? wmk_kfilter_open(class, contexts, n, program, len, &span->either[span->either[0] != NULL]) : 0;
}

static int spans_append(struct wmk_kreader_filters *filters, struct wmk_kreader_span *span, uint64_t now)
{
	struct wmk_kreader_span *more;

	if (filters->n == SPANS_MAX) {
		span_free(&filters->spans[0]);
		span_free(&filters->spans[1]);
		filters->spans[1] = (struct wmk_kreader_span){ .until = filters->spans[1].until, .all = true };
		memmove(filters->spans, filters->spans + 1, --filters->n * sizeof(*more));
	}
	more = realloc(filters->spans, (filters->n + 1) * sizeof(*more));
	if (!more)
		return wmk_error(-ENOMEM, "cannot store a filter: no memory");
	filters->spans = more;
	if (filters->n)
		more[filters->n - 1].until = now;
	span->until = UINT64_MAX;
	more[filters->n++] = *span;
	return 0;
}

static bool same(const struct wmk_kreader_filters *filters, const void *program, size_t len)
{
	return program ? filters->program && filters->len == len && memcmp(filters->program, program, len) == 0
		       : !filters->program;
}

/* Builds the new span. During a change, the new span has both the new and the previous program. */
static int span_make(const struct wmk_kreader *reader, const struct wmk_event_class *class,
		     const struct wmk_kreader_filters *filters, const void *program, size_t len, bool changing,
		     struct wmk_kreader_span *span)
{
	int err = 0;

	*span = (struct wmk_kreader_span){ .all = changing && (filters->changing || !filters->is_set) };
	if (!span->all)
		err = span_add(reader, class, span, program, len);
	if (err == 0 && changing && !span->all)
		err = span_add(reader, class, span, filters->program, filters->len);
	if (err < 0)
		span_free(span);
	return err;
}

static int change(const struct wmk_kreader *reader, const struct wmk_event_class *class,
		  struct wmk_kreader_filters *filters, const void *program, size_t len, bool changing)
{
	uint8_t *kept = program ? malloc(len ? len : 1) : NULL;
	struct wmk_kreader_span span;
	int err = program && !kept ? wmk_error(-ENOMEM, "cannot store a filter: no memory")
				   : span_make(reader, class, filters, program, len, changing, &span);

	if (err == 0) {
		err = spans_append(filters, &span, wmk_kinstance_now(reader->instance));
		if (err < 0)
			span_free(&span);
	}
	if (err < 0) {
		free(kept);
		return err;
	}
	if (kept)
		memcpy(kept, program, len);
	free(filters->program);
	filters->program = kept;
	filters->len = len;
	filters->is_set = true;
	filters->changing = changing;
	return 0;
}

int wmk_kreader_filters_set(const struct wmk_kreader *reader, const struct wmk_event_class *class,
			    struct wmk_kreader_filters *filters, const void *program, size_t len, bool changing)
{
	/* An event that never had a filter has no spans. */
	if ((filters->is_set || !program) && same(filters, program, len) && (changing || !filters->changing)) {
		filters->is_set = true;
		return 0;
	}
	return change(reader, class, filters, program, len, changing);
}

int wmk_kreader_filter(struct wmk_kreader *reader, const char *system, const char *name, const void *program,
		       size_t len, bool changing)
{
	struct wmk_kreader_event *event = wmk_kreader_find(reader, system, name);

	if (event)
		return wmk_kreader_filters_set(reader, event->event->class, &event->filters, program, len, changing);
	if (strcmp(system, WMK_SYSCALLS_SYSTEM) == 0)
		return wmk_syscall_set_filter(reader, name, program, len);
	/* (events of the state dump have no filters) */
	return !*system && !program
		       ? 0
		       : wmk_error(-ENOENT, "cannot filter the kernel event %.60s:%.60s: the channel does not record "
					    "it",
				   system, name);
}
