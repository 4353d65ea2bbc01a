/* SPDX-License-Identifier: MIT */
/*
 * spans.c - which spans of which thread are open (see spans.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/seeded_hash.h"
#include "read/record_scope.h"
#include "read/spans.h"
#include "schema/schema.h"

struct name {
	const char *text;          /* the event class's */
	size_t len;
};

/* A thread that has begun a span. */
struct wmk_read_open {
	bool is_used;
	int64_t pid, tid;
	struct name *names;        /* the outermost first */
	unsigned n, cap;
	uint64_t n_deep;           /* open as well, but too deep to be drawn */
};

static struct wmk_read_open *slot_of(struct wmk_read_open *threads, size_t cap, int64_t pid, int64_t tid)
{
	size_t at = (size_t)wmk_read_hash((uint64_t)pid, (uint64_t)tid) & (cap - 1);

	while (threads[at].is_used && (threads[at].pid != pid || threads[at].tid != tid))
		at = (at + 1) & (cap - 1);
	return &threads[at];
}

/* Room for one thread more. */
static int grow(struct wmk_read_spans *spans)
{
	const size_t cap = spans->cap ? spans->cap * 2 : 64;
	struct wmk_read_open *threads;

	if (spans->n * 2 < spans->cap)
		return 0;
	threads = calloc(cap, sizeof(*threads));
	if (!threads)
		return wmk_error(-ENOMEM, "no memory for the spans of %zu threads", spans->n);
	for (size_t i = 0; i < spans->cap; i++)
		if (spans->threads[i].is_used)
			*slot_of(threads, cap, spans->threads[i].pid, spans->threads[i].tid) = spans->threads[i];
	free(spans->threads);
	spans->threads = threads;
	spans->cap = cap;
	return 0;
}

/* The slot of the thread, or of the CPU if it is drawn on the CPU's track. */
static struct wmk_read_open *slot_of_who(const struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
					 int64_t *pid, int64_t *tid)
{
	*pid = who->has_tid ? who->pid : -1;
	*tid = who->has_tid ? who->tid : who->cpu;
	return slot_of(spans->threads, spans->cap, *pid, *tid);
}

/* The thread's, with room for one span more. */
static int thread_of(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who, struct wmk_read_open **thread)
{
	int64_t pid, tid;
	int err = grow(spans);

	if (err < 0)
		return err;
	*thread = slot_of_who(spans, who, &pid, &tid);
	if (!(*thread)->is_used) {
		**thread = (struct wmk_read_open){ .is_used = true, .pid = pid, .tid = tid };
		spans->n++;
	}
	if ((*thread)->n == (*thread)->cap && (*thread)->n < WMK_READ_SPANS_DEEP) {
		const unsigned cap = (*thread)->cap ? (*thread)->cap * 2 : 8;
		struct name *names = realloc((*thread)->names, cap * sizeof(*names));

		if (!names)
			return wmk_error(-ENOMEM, "no memory for %u spans", cap);
		(*thread)->names = names;
		(*thread)->cap = cap;
	}
	return 0;
}

static void instant(struct wmk_read_drawing *drawing, const char *name)
{
	*drawing = (struct wmk_read_drawing){ .kind = WAYMARK_KIND_EVENT, .name = name, .len = strlen(name) };
}

static bool is_number(const struct wmk_ctf_item *item)
{
	return !item->is_end && item->op->code <= WMK_CTF_ENUM;
}

/* The first field, if it is a number. */
static int counter(struct wmk_read_stream *stream, struct wmk_read_drawing *drawing)
{
	const struct wmk_ctf_program *program = wmk_read_scope_begin(stream, WMK_READ_PAYLOAD);
	struct wmk_ctf_walk *walk = &stream->record.walk;
	bool has = program->n_ops > 1;

	if (has) {
		wmk_ctf_walk_enter(walk, program);
		has = wmk_ctf_next(walk, &drawing->value) && wmk_ctf_next(walk, &drawing->value) &&
		      is_number(&drawing->value);
	}
	drawing->kind = has ? WAYMARK_KIND_COUNTER : WAYMARK_KIND_EVENT;
	return program->n_ops ? walk->err : 0;
}

int wmk_read_spans_classify(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
			    struct wmk_read_stream *stream, struct wmk_read_drawing *drawing)
{
	const struct wmk_ctf_event_class *class = stream->record.event->class;
	const char *name = class->name && *class->name ? class->name : "event";
	const unsigned kind = wmk_kind_of_uri(class->emf_uri);
	struct wmk_read_open *thread;
	int err;

	instant(drawing, name);
	if (kind == WAYMARK_KIND_EVENT)
		return 0;
	if (kind == WAYMARK_KIND_COUNTER)
		return counter(stream, drawing);
	err = thread_of(spans, who, &thread);
	if (err < 0)
		return err;
	const size_t len = wmk_kind_name_len(kind, name);

	if (kind == WAYMARK_KIND_BEGIN && thread->n < WMK_READ_SPANS_DEEP)
		*drawing = (struct wmk_read_drawing){ .kind = kind, .name = name, .len = len };
	else if (kind == WAYMARK_KIND_BEGIN || thread->n_deep)
		drawing->deeper = kind == WAYMARK_KIND_BEGIN ? 1 : -1;
	for (unsigned i = thread->n; kind == WAYMARK_KIND_END && !drawing->deeper && i; i--)
		if (thread->names[i - 1].len == len && !memcmp(thread->names[i - 1].text, name, len)) {
			*drawing = (struct wmk_read_drawing){ .kind = kind, .name = name, .len = len, .closes = thread->n - i + 1 };
			break;
		}
	return 0;
}

const char *wmk_read_spans_name(const struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
				unsigned depth, size_t *len)
{
	int64_t pid, tid;
	const struct wmk_read_open *thread = slot_of_who(spans, who, &pid, &tid);

	*len = thread->names[thread->n - 1 - depth].len;
	return thread->names[thread->n - 1 - depth].text;
}

void wmk_read_spans_drawn(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
			  const struct wmk_read_drawing *drawing)
{
	struct wmk_read_open *thread;
	int64_t pid, tid;

	if (drawing->kind != WAYMARK_KIND_BEGIN && drawing->kind != WAYMARK_KIND_END && !drawing->deeper)
		return;
	thread = slot_of_who(spans, who, &pid, &tid);
	thread->n_deep += (uint64_t)(int64_t)drawing->deeper;
	if (drawing->deeper)
		return;
	if (drawing->kind == WAYMARK_KIND_BEGIN)
		thread->names[thread->n++] = (struct name){ drawing->name, drawing->len };
	else
		thread->n -= drawing->closes;
}

void wmk_read_spans_free(struct wmk_read_spans *spans)
{
	for (size_t i = 0; i < spans->cap; i++)
		free(spans->threads[i].names);
	free(spans->threads);
	*spans = (struct wmk_read_spans){ .n = 0 };
}
