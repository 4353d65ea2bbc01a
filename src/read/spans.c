/* SPDX-License-Identifier: MIT */
/*
 * spans.c - keep the open spans of each thread (see spans.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "read/record_scope.h"
#include "read/spans.h"
#include "schema/schema.h"

struct span_name {
	const char *text;          /* points into the event class */
	size_t len;
};

/* The open spans of a thread, or of all threads that are drawn on the track of a CPU. */
struct wmk_read_open {
	struct wmk_read_slot slot;
	struct span_name *names;        /* the outermost first */
	uint32_t n, cap;
	uint64_t n_deep;           /* number of open spans that are nested too deeply to be drawn */
};

/* The key in the table. */
static int64_t pid_of(const struct wmk_read_thread_id *who)
{
	return who->has_tid ? who->pid : -1;
}

static int64_t tid_of(const struct wmk_read_thread_id *who)
{
	return who->has_tid ? who->tid : who->cpu;
}

static struct wmk_read_open *known_thread(const struct wmk_read_spans *spans, const struct wmk_read_thread_id *who)
{
	return wmk_read_table_find(&spans->threads, (uint64_t)pid_of(who), (uint64_t)tid_of(who));
}

/* Find or add the thread, and reserve memory for one more span. NULL: no memory. */
static struct wmk_read_open *thread_of(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who)
{
	struct wmk_read_open *thread =
		wmk_read_table_add(&spans->threads, (uint64_t)pid_of(who), (uint64_t)tid_of(who));
	struct span_name *names =
		thread ? wmk_array_room(thread->names, thread->n, &thread->cap, sizeof(*names)) : NULL;

	if (!names)
		return NULL;
	thread->names = names;
	return thread;
}

static void instant(struct wmk_read_drawing *drawing, const char *name)
{
	*drawing = (struct wmk_read_drawing){ .kind = WAYMARK_KIND_EVENT, .name = name, .len = strlen(name) };
}

static bool is_number(const struct wmk_ctf_item *item)
{
	return !item->is_end && item->op->code <= WMK_CTF_ENUM;
}

/* The value of a counter is the first field of the record, if this field is a number. */
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

/*
 * The kernel events for the entry and the exit of a system call begin and end a span with the name of the system call.
 */
static unsigned call_of(const char **name)
{
	static const char entry[] = "syscall_entry_", leave[] = "syscall_exit_";
	const char *at = *name + (strncmp(*name, "compat_", 7) == 0 ? 7 : 0);
	const bool is_entry = strncmp(at, entry, sizeof(entry) - 1) == 0;

	if (!is_entry && strncmp(at, leave, sizeof(leave) - 1) != 0)
		return WAYMARK_KIND_EVENT;
	at += is_entry ? sizeof(entry) - 1 : sizeof(leave) - 1;
	if (!*at)
		return WAYMARK_KIND_EVENT;
	*name = at;
	return is_entry ? WAYMARK_KIND_BEGIN : WAYMARK_KIND_END;
}

int wmk_read_spans_classify(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
			    struct wmk_read_stream *stream, struct wmk_read_drawing *drawing)
{
	const struct wmk_ctf_event_class *class = stream->record.event->class;
	const char *name = class->name && *class->name ? class->name : "event";
	unsigned kind = wmk_kind_of_uri(class->emf_uri);
	struct wmk_read_open *thread;

	instant(drawing, name);
	const bool is_call = kind == WAYMARK_KIND_EVENT && (kind = call_of(&name)) != WAYMARK_KIND_EVENT;

	if (kind == WAYMARK_KIND_EVENT)
		return 0;
	if (kind == WAYMARK_KIND_COUNTER)
		return counter(stream, drawing);
	thread = thread_of(spans, who);
	if (!thread)
		return wmk_error(-ENOMEM, "no memory for the spans of %zu threads", spans->threads.n);
	const size_t len = is_call ? strlen(name) : wmk_kind_name_len(kind, name);

	if (kind == WAYMARK_KIND_BEGIN && thread->n < WMK_READ_SPANS_DEEP)
		*drawing = (struct wmk_read_drawing){ .kind = kind, .name = name, .len = len };
	else if (kind == WAYMARK_KIND_BEGIN || thread->n_deep)
		drawing->deeper = kind == WAYMARK_KIND_BEGIN ? 1 : -1;
	for (unsigned i = thread->n; kind == WAYMARK_KIND_END && !drawing->deeper && i; i--)
		if (thread->names[i - 1].len == len && !memcmp(thread->names[i - 1].text, name, len)) {
			*drawing = (struct wmk_read_drawing){
				.kind = kind, .name = name, .len = len, .closes = thread->n - i + 1
			};
			break;
		}
	return 0;
}

const char *wmk_read_spans_name(const struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
				unsigned depth, size_t *len)
{
	const struct wmk_read_open *thread = known_thread(spans, who);

	*len = thread->names[thread->n - 1 - depth].len;
	return thread->names[thread->n - 1 - depth].text;
}

void wmk_read_spans_drawn(struct wmk_read_spans *spans, const struct wmk_read_thread_id *who,
			  const struct wmk_read_drawing *drawing)
{
	struct wmk_read_open *thread;

	if (drawing->kind != WAYMARK_KIND_BEGIN && drawing->kind != WAYMARK_KIND_END && !drawing->deeper)
		return;
	thread = known_thread(spans, who);
	thread->n_deep += (uint64_t)(int64_t)drawing->deeper;
	if (drawing->deeper)
		return;
	if (drawing->kind == WAYMARK_KIND_BEGIN)
		thread->names[thread->n++] = (struct span_name){ drawing->name, drawing->len };
	else
		thread->n -= drawing->closes;
}

void wmk_read_spans_begin(struct wmk_read_spans *spans)
{
	*spans = (struct wmk_read_spans){ .threads.size = sizeof(struct wmk_read_open) };
}

void wmk_read_spans_free(struct wmk_read_spans *spans)
{
	for (struct wmk_read_open *thread = NULL; (thread = wmk_read_table_next(&spans->threads, thread));)
		free(thread->names);
	wmk_read_table_free(&spans->threads);
}
