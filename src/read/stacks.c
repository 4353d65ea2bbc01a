/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - the tree of stacks (see stacks.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "read/json_writer.h"
#include "read/stacks.h"
#include "schema/schema.h"

/* A child of a node; its key consists of the node and the name. */
struct stack_child {
	struct wmk_read_slot slot;
	uint32_t node;
};

/* The position of a thread; its key consists of the process and the thread. */
struct stack_position {
	struct wmk_read_slot slot;
	uint32_t node;                 /* 0: in no stack */
	uint64_t epoch;                /* `node` is valid if this equals wmk_read_stacks.epoch */
	uint64_t too_deep;             /* number of open spans below WMK_READ_STACK_MAX */
	int64_t since;
};

/* Describes how a record changes the stack of its thread. */
struct stack_step {
	bool is_begin;
	const char *prefix, *name;     /* of the frame */
	size_t len;
};

static int no_memory(void)
{
	return wmk_error(-ENOMEM, "no memory for stacks");
}

/* ── the tree ────────────────────────────────────────────────────────────────────────────────────────── */

static int by_name(const void *left, const void *right)
{
	const struct wmk_read_stack_name *a = left, *b = right;

	return strcmp(a->text, b->text);
}

static void free_name(void *data)
{
	struct wmk_read_stack_name *name = data;

	free(name->text);
	free(name);
}

/*
 * Find a name or add it, and return its number. The function replaces characters that the output format reserves.
 * -ENOMEM.
 */
static int number_of(struct wmk_read_stacks *stacks, const char *prefix, const char *text, int len,
		     uint32_t *number)
{
	struct wmk_read_stack_name **all =
		wmk_array_room(stacks->names, stacks->n_names, &stacks->cap_names, sizeof(*all));
	struct wmk_read_stack_name *name = all ? calloc(1, sizeof(*name)) : NULL, **found;

	stacks->names = all ? all : stacks->names;
	if (!name || asprintf(&name->text, "%s%.*s", prefix, len, text) < 0) {
		free(name);
		return no_memory();
	}
	for (char *p = name->text; *p; p++)
		*p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p == ';' ? ':' : *p;
	name->number = stacks->n_names;
	found = tsearch(name, &stacks->by_name, by_name);
	if (!found || *found != name)
		free_name(name);
	if (!found)
		return no_memory();
	*number = (*found)->number;
	if (*number == stacks->n_names)
		all[stacks->n_names++] = *found;
	return 0;
}

/* Find or add the child of the node `parent` with this name. -ENOMEM. */
static int child_of(struct wmk_read_stacks *stacks, uint32_t parent, uint32_t name, uint32_t *node)
{
	struct stack_child *child = wmk_read_table_add(&stacks->children, parent, name);
	struct wmk_read_stack_node *nodes = stacks->nodes;

	if (!child)
		return no_memory();
	if (!child->node) {
		stacks->n_nodes += !stacks->n_nodes;
		nodes = wmk_array_room(nodes, stacks->n_nodes, &stacks->cap_nodes, sizeof(*nodes));
		if (!nodes)
			return no_memory();
		stacks->nodes = nodes;
		child->node = stacks->n_nodes++;
		nodes[child->node] = (struct wmk_read_stack_node){ .parent = parent,
								   .name = name,
								   .depth = parent ? nodes[parent].depth + 1 : 0 };
	}
	*node = child->node;
	return 0;
}

/* ── steps ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Return the name of the system call, which is a part of the name of the event. */
static bool is_call(const char *event, const char *prefix, struct stack_step *step)
{
	const size_t len = strlen(prefix);

	if (strncmp(event, "compat_", 7) == 0)
		event += 7;
	if (strncmp(event, prefix, len) != 0)
		return false;
	step->prefix = "syscall:";
	step->name = event + len;
	step->len = strlen(step->name);
	return true;
}

static bool step_of(const struct wmk_ctf_event_class *class, struct stack_step *step)
{
	const unsigned kind = wmk_kind_of_uri(class->emf_uri);
	const char *name = wmk_or_empty(class->name);

	*step = (struct stack_step){ .is_begin = kind == WAYMARK_KIND_BEGIN, .prefix = "", .name = name };
	if (kind == WAYMARK_KIND_BEGIN || kind == WAYMARK_KIND_END) {
		step->len = wmk_kind_name_len(kind, name);
		return true;
	}
	step->is_begin = is_call(name, "syscall_entry_", step);
	return step->is_begin || is_call(name, "syscall_exit_", step);
}

/* The time since the previous record of the thread belongs to the current position of the thread. */
static void account(struct wmk_read_stacks *stacks, struct stack_position *thread, int64_t now)
{
	if (thread->epoch != stacks->epoch) {
		thread->epoch = stacks->epoch;
		thread->node = 0;
		thread->too_deep = 0;
	}
	if (thread->node && now > thread->since)
		stacks->nodes[thread->node].ns += (uint64_t)now - (uint64_t)thread->since;
	thread->since = now;
}

static int begin_step(struct wmk_read_stacks *stacks, struct stack_position *thread, const struct stack_step *step,
		      const struct wmk_read_thread_id *who)
{
	uint32_t name, node = thread->node;
	char number[32];
	int err = 0;

	if (node && stacks->nodes[node].depth >= WMK_READ_STACK_MAX) {
		thread->too_deep++;
		return 0;
	}
	if (!node) {
		snprintf(number, sizeof(number), "%" PRId64, who->pid);
		err = number_of(stacks, "", *who->name ? who->name : number, INT_MAX, &name);
		if (err >= 0)
			err = child_of(stacks, 0, name, &node);
	}
	if (err >= 0)
		err = number_of(stacks, step->prefix, step->name, (int)step->len, &name);
	if (err >= 0)
		err = child_of(stacks, node, name, &node);
	if (err >= 0)
		thread->node = node;
	return err;
}

static int end_step(struct wmk_read_stacks *stacks, struct stack_position *thread, const struct stack_step *step)
{
	uint32_t name, node = thread->node;
	int err;

	if (thread->too_deep) {
		thread->too_deep--;
		return 0;
	}
	err = number_of(stacks, step->prefix, step->name, (int)step->len, &name);
	/* (the root is the name of the thread) */
	while (err >= 0 && node && stacks->nodes[node].depth && stacks->nodes[node].name != name)
		node = stacks->nodes[node].parent;
	if (err >= 0 && node && stacks->nodes[node].depth) {
		node = stacks->nodes[node].parent;
		thread->node = stacks->nodes[node].depth ? node : 0;
	}
	return err;
}

void wmk_read_stacks_begin(struct wmk_read_stacks *stacks)
{
	*stacks = (struct wmk_read_stacks){ .children = { .size = sizeof(struct stack_child) },
					    .threads = { .size = sizeof(struct stack_position) } };
}

bool wmk_read_stacks_uses(const struct wmk_ctf_event_class *class)
{
	struct stack_step step;

	return step_of(class, &step);
}

int wmk_read_stacks_record(struct wmk_read_stacks *stacks, const struct wmk_ctf_event_class *class,
			   const struct wmk_read_thread_id *who, int64_t ns)
{
	struct stack_position *thread;
	struct stack_step step;

	if (!step_of(class, &step))
		return 0;
	thread = wmk_read_table_add(&stacks->threads, (uint64_t)who->pid, (uint64_t)who->tid);
	if (!thread)
		return no_memory();
	account(stacks, thread, ns);
	return step.is_begin ? begin_step(stacks, thread, &step, who) : end_step(stacks, thread, &step);
}

void wmk_read_stacks_lost(struct wmk_read_stacks *stacks)
{
	stacks->epoch++;
}

void wmk_read_stacks_end(struct wmk_read_stacks *stacks, int64_t ns)
{
	for (struct stack_position *thread = NULL; (thread = wmk_read_table_next(&stacks->threads, thread));) {
		account(stacks, thread, ns);
		thread->node = 0;
	}
}

int wmk_read_stacks_add(struct wmk_read_stacks *stacks, const char *const *frames, uint32_t n, uint64_t ns)
{
	uint32_t node = 0, name;
	int err = 0;

	for (uint32_t i = 0; i < n && i < WMK_READ_STACK_MAX && err >= 0; i++) {
		err = number_of(stacks, "", frames[i], INT_MAX, &name);
		if (err >= 0)
			err = child_of(stacks, node, name, &node);
	}
	if (err >= 0 && node)
		stacks->nodes[node].ns += ns;
	return err;
}

/* Write the names of the nodes from the root to the given node. */
static void put_stack(const struct wmk_read_stacks *stacks, struct wmk_json_writer *w, uint32_t node)
{
	uint32_t path[WMK_READ_STACK_MAX + 1], n = 0;

	for (; node; node = stacks->nodes[node].parent)
		path[n++] = stacks->nodes[node].name;
	while (n--) {
		wmk_json_put_text(w, stacks->names[path[n]]->text);
		wmk_json_put(w, n ? ";" : " ", 1);
	}
}

int wmk_read_stacks_put(const struct wmk_read_stacks *stacks, struct wmk_print_text *out)
{
	struct wmk_json_writer w = wmk_json_begin(out);
	char number[32];

	for (uint32_t i = 1; i < stacks->n_nodes; i++) {
		if (!stacks->nodes[i].ns)
			continue;
		put_stack(stacks, &w, i);
		snprintf(number, sizeof(number), "%" PRIu64 "\n", stacks->nodes[i].ns);
		wmk_json_put_text(&w, number);
	}
	return wmk_json_end(&w, 0);
}

void wmk_read_stacks_free(struct wmk_read_stacks *stacks)
{
	tdestroy(stacks->by_name, free_name);
	free(stacks->names);
	free(stacks->nodes);
	wmk_read_table_free(&stacks->children);
	wmk_read_table_free(&stacks->threads);
}
