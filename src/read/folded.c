/* SPDX-License-Identifier: MIT */
/*
 * folded.c - export spans and system calls as folded stacks, for flame graphs (flamegraph.pl, speedscope).
 *
 *     shop;order;pay 1200450           nanoseconds in `pay`, without the frames that it called
 *     shop;order;syscall:read 33120
 *
 * All stacks form one tree, and each thread has a position in this tree. The begin of a span or system call moves the
 * thread to a child. An end moves the thread to the parent of the innermost node of that name. The time between two
 * records of a thread belongs to the position of the thread. The root of a stack is the name of the thread at that
 * time.
 *
 * When records are lost, the stacks are unknown: no thread has a position, and ends without a begin are ignored. Stacks
 * that are open at the end of the trace last until the last record. Records without a context for their thread are left
 * out.
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "read/convert.h"
#include "read/hash_table.h"
#include "read/json_writer.h"
#include "read/thread_id.h"
#include "schema/schema.h"

/* spans below this depth are not in the stack: their time belongs to the node at this depth */
#define DEPTH_MAX 4096u

struct folded_name {
	uint32_t number;
	bool is_syscall;
	char *text;
};

struct folded_node {
	uint32_t parent, name, depth;  /* number of the parent; 0: no parent */
	uint64_t ns;
};

/* A child of a node: node, name. */
struct folded_child {
	struct wmk_read_slot slot;
	uint32_t node;
};

/* A thread: process, thread. */
struct folded_thread {
	struct wmk_read_slot slot;
	uint32_t node;                 /* position in the tree; 0: in no stack */
	uint64_t epoch;                /* `node` is valid if this equals folded.epoch */
	uint64_t too_deep;             /* number of open spans below DEPTH_MAX */
	int64_t since;
};

struct folded {
	void *names;                   /* a tree of struct folded_name */
	struct folded_name **by_number;
	struct folded_node *nodes;     /* nodes[0] is unused */
	uint32_t n_names, cap_names, n_nodes, cap_nodes;
	struct wmk_read_table children, threads;
	uint64_t epoch;                /* number of losses */
	int64_t last;                  /* ns: the last record */
	uint64_t n_left_out;
	char remark[160];
};

/* What a record does to the stack of its thread. */
struct folded_step {
	bool is_begin, is_syscall;
	const char *name;
	size_t len;
};

static int no_memory(void)
{
	return wmk_error(-ENOMEM, "no memory for stacks");
}

/* ── the tree ────────────────────────────────────────────────────────────────────────────────────────── */

static int by_name(const void *left, const void *right)
{
	const struct folded_name *a = left, *b = right;

	return a->is_syscall != b->is_syscall ? a->is_syscall - b->is_syscall : strcmp(a->text, b->text);
}

static void free_name(void *data)
{
	struct folded_name *name = data;

	free(name->text);
	free(name);
}

/* Find or add the number of a name. Characters that the format reserves are replaced. -ENOMEM. */
static int number_of(struct folded *folded, const char *text, size_t len, bool is_syscall, uint32_t *number)
{
	struct folded_name **all = wmk_array_room(folded->by_number, folded->n_names, &folded->cap_names, sizeof(*all)),
			   *name = all ? calloc(1, sizeof(*name)) : NULL, **found;

	folded->by_number = all ? all : folded->by_number;
	if (name)
		name->text = strndup(text, len);
	if (!name || !name->text) {
		free(name);
		return no_memory();
	}
	for (char *p = name->text; *p; p++)
		*p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p == ';' ? ':' : *p;
	name->is_syscall = is_syscall;
	name->number = folded->n_names;
	found = tsearch(name, &folded->names, by_name);
	if (!found || *found != name)
		free_name(name);
	if (!found)
		return no_memory();
	*number = (*found)->number;
	if (*number == folded->n_names)
		all[folded->n_names++] = *found;
	return 0;
}

/* Find or add the child of `parent` with this name. -ENOMEM. */
static int child_of(struct folded *folded, uint32_t parent, uint32_t name, uint32_t *node)
{
	struct folded_child *child = wmk_read_table_add(&folded->children, parent, name);
	struct folded_node *nodes = folded->nodes;

	if (!child)
		return no_memory();
	if (!child->node) {
		nodes = wmk_array_room(nodes, folded->n_nodes, &folded->cap_nodes, sizeof(*nodes));
		if (!nodes)
			return no_memory();
		folded->nodes = nodes;
		child->node = folded->n_nodes++;
		nodes[child->node] = (struct folded_node){ .parent = parent,
							   .name = name,
							   .depth = parent ? nodes[parent].depth + 1 : 0 };
	}
	*node = child->node;
	return 0;
}

/* ── steps ───────────────────────────────────────────────────────────────────────────────────────────── */

/* The name of the system call, from the name of the event. */
static bool is_call(const char *event, const char *prefix, struct folded_step *step)
{
	const size_t len = strlen(prefix);

	if (strncmp(event, "compat_", 7) == 0)
		event += 7;
	if (strncmp(event, prefix, len) != 0)
		return false;
	step->is_syscall = true;
	step->name = event + len;
	step->len = strlen(step->name);
	return true;
}

static bool step_of(const struct wmk_ctf_event_class *class, struct folded_step *step)
{
	const unsigned kind = wmk_kind_of_uri(class->emf_uri);
	const char *name = wmk_or_empty(class->name);

	*step = (struct folded_step){ .is_begin = kind == WAYMARK_KIND_BEGIN, .name = name };
	if (kind == WAYMARK_KIND_BEGIN || kind == WAYMARK_KIND_END) {
		step->len = wmk_kind_name_len(kind, name);
		return true;
	}
	step->is_begin = is_call(name, "syscall_entry_", step);
	return step->is_begin || is_call(name, "syscall_exit_", step);
}

/* The time since the previous record of the thread belongs to its position. */
static void account(struct folded *folded, struct folded_thread *thread, int64_t now)
{
	if (thread->epoch != folded->epoch) {
		thread->epoch = folded->epoch;
		thread->node = 0;
		thread->too_deep = 0;
	}
	if (thread->node && now > thread->since)
		folded->nodes[thread->node].ns += (uint64_t)now - (uint64_t)thread->since;
	thread->since = now;
}

static int begin_step(struct folded *folded, struct folded_thread *thread, const struct folded_step *step,
		      const struct wmk_read_thread_id *who)
{
	uint32_t name, node = thread->node;
	char number[32];
	int err = 0;

	if (node && folded->nodes[node].depth >= DEPTH_MAX) {
		thread->too_deep++;
		return 0;
	}
	if (!node) {
		snprintf(number, sizeof(number), "%" PRId64, who->pid);
		err = number_of(folded, *who->name ? who->name : number, strlen(*who->name ? who->name : number), false,
				&name);
		if (err >= 0)
			err = child_of(folded, 0, name, &node);
	}
	if (err >= 0)
		err = number_of(folded, step->name, step->len, step->is_syscall, &name);
	if (err >= 0)
		err = child_of(folded, node, name, &node);
	if (err >= 0)
		thread->node = node;
	return err;
}

static int end_step(struct folded *folded, struct folded_thread *thread, const struct folded_step *step)
{
	uint32_t name, node = thread->node;
	int err;

	if (thread->too_deep) {
		thread->too_deep--;
		return 0;
	}
	err = number_of(folded, step->name, step->len, step->is_syscall, &name);
	/* (the root is the name of the thread) */
	while (err >= 0 && node && folded->nodes[node].depth && folded->nodes[node].name != name)
		node = folded->nodes[node].parent;
	if (err >= 0 && node && folded->nodes[node].depth) {
		node = folded->nodes[node].parent;
		thread->node = folded->nodes[node].depth ? node : 0;
	}
	return err;
}

/* (the state of a stream is the state of the form) */

static int folded_create(const char *directory, void **whole)
{
	struct folded *made = calloc(1, sizeof(*made));

	(void)directory;
	*whole = made;
	if (!made)
		return no_memory();
	made->children.size = sizeof(struct folded_child);
	made->threads.size = sizeof(struct folded_thread);
	made->n_nodes = 1;
	made->nodes = calloc(made->cap_nodes = 16, sizeof(*made->nodes));
	return made->nodes ? 0 : no_memory();
}

static void folded_free(void *whole)
{
	struct folded *folded = whole;

	tdestroy(folded->names, free_name);
	free(folded->by_number);
	free(folded->nodes);
	wmk_read_table_free(&folded->children);
	wmk_read_table_free(&folded->threads);
	free(folded);
}

static int folded_stream(void *whole, const struct wmk_read_stream *stream, void **state)
{
	(void)stream;
	*state = whole;
	return 0;
}

/* (the state of a stream is that of the form) */
static void folded_stream_free(void *state)
{
	(void)state;
}

static int folded_packet(void *state, struct wmk_read_stream *stream)
{
	struct folded *folded = state;

	folded->epoch += stream->lost || stream->lost_packets;
	return 0;
}

static int folded_record(void *state, struct wmk_read_stream *stream, struct wmk_print_text *out)
{
	struct wmk_read_thread_id who = { .cpu = WMK_READ_NOWHERE };
	struct folded *folded = state;
	struct folded_thread *thread;
	struct folded_step step;
	int err;

	(void)out;
	if (wmk_read_has_time(stream))
		folded->last = stream->ns;
	if (!step_of(stream->record.event->class, &step))
		return 0;
	err = wmk_read_thread_id_of_record(&who, stream);
	if (err < 0)
		return err;
	if (!who.has_tid || !wmk_read_has_time(stream)) {
		folded->n_left_out++;
		return 0;
	}
	thread = wmk_read_table_add(&folded->threads, (uint64_t)who.pid, (uint64_t)who.tid);
	if (!thread)
		return no_memory();
	account(folded, thread, stream->ns);
	return step.is_begin ? begin_step(folded, thread, &step, &who) : end_step(folded, thread, &step);
}

/* Write the names from the root to the node. */
static void put_stack(const struct folded *folded, struct wmk_json_writer *w, uint32_t node)
{
	uint32_t path[DEPTH_MAX + 1], n = 0;

	for (; node; node = folded->nodes[node].parent)
		path[n++] = folded->nodes[node].name;
	while (n--) {
		const struct folded_name *name = folded->by_number[path[n]];

		wmk_json_put_text(w, name->is_syscall ? "syscall:" : "");
		wmk_json_put_text(w, name->text);
		wmk_json_put(w, n ? ";" : " ", 1);
	}
}

static int folded_end(void *whole, struct wmk_print_text *out)
{
	struct folded *folded = whole;
	struct wmk_json_writer w = wmk_json_begin(out);
	char number[32];

	for (struct folded_thread *thread = NULL; (thread = wmk_read_table_next(&folded->threads, thread));)
		account(folded, thread, folded->last);
	for (uint32_t i = 1; i < folded->n_nodes; i++) {
		if (!folded->nodes[i].ns)
			continue;
		put_stack(folded, &w, i);
		snprintf(number, sizeof(number), "%" PRIu64 "\n", folded->nodes[i].ns);
		wmk_json_put_text(&w, number);
	}
	return wmk_json_end(&w, 0);
}

static const char *folded_remark(void *whole)
{
	struct folded *folded = whole;

	if (folded->n_left_out)
		snprintf(folded->remark, sizeof(folded->remark),
			 "begins and ends without a context for their thread, or without a time, are left out: %" PRIu64
			 " (record with -c vpid -c vtid)",
			 folded->n_left_out);
	else if (folded->n_nodes == 1)
		snprintf(folded->remark, sizeof(folded->remark),
			 "no stacks: the trace has no spans (waymark_span()) and no system calls");
	return *folded->remark ? folded->remark : NULL;
}

const struct wmk_read_exporter wmk_read_folded = {
	.name = "folded",
	.create = folded_create,
	.end = folded_end,
	.remark = folded_remark,
	.free = folded_free,
	.stream = folded_stream,
	.stream_free = folded_stream_free,
	.wants_all_packets = true,
	.packet = folded_packet,
	.record = folded_record,
};
