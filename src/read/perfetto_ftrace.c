/* SPDX-License-Identifier: MIT */
/*
 * perfetto_ftrace.c - scheduler records as ftrace events (see perfetto_ftrace.h).
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "read/perfetto_ftrace.h"
#include "read/record_scope.h"

/* Field numbers of protobuf messages; the prefix of a constant is the message. */
enum { BUNDLE_CPU = 1, BUNDLE_EVENT = 2, BUNDLE_LOST = 3 };
enum { EVENT_TIME = 1, EVENT_TID = 2 };

#define FIELDS 8u

/*
 * fields[i] names the field of the record that is written as field i + 1 of the message. A '|' separates alternatives,
 * and the first has priority. A field without a name is not written to the message. `needed` has a bit for each field
 * that must exist.
 */
struct wmk_ftrace_kind {
	const char *name;
	unsigned number;               /* field number of the message in FtraceEvent */
	unsigned needed;
	const char *fields[FIELDS];
};

#define BIT(number) (1u << (number))

static const struct wmk_ftrace_kind kinds[] = {
	{ "sched_switch", 4, BIT(2) | BIT(4) | BIT(6),
	  { "prev_comm", "prev_tid|prev_pid", "prev_prio", "prev_state", "next_comm", "next_tid|next_pid",
	    "next_prio" } },
	{ "sched_wakeup", 17, BIT(2), { "comm", "tid|pid", "prio", "success", "target_cpu" } },
	{ "sched_waking", 20, BIT(2), { "comm", "tid|pid", "prio", "success", "target_cpu" } },
	{ "sched_wakeup_new", 114, BIT(2), { "comm", "tid|pid", "prio", "success", "target_cpu" } },
	{ "sched_process_exit", 238, BIT(2), { "comm", "tid|pid", "tgid", "prio" } },
	{ "sched_process_fork", 239, BIT(2) | BIT(4),
	  { "parent_comm", "parent_tid|parent_pid", "child_comm", "child_tid|child_pid" } },
};

enum { SWITCH_PREV = 2, SWITCH_NEXT = 6 };

/* Records that describe a thread. The fields of the record are the tid, the pid and the name of the other thread. */
static const struct wmk_ftrace_kind forked = { "sched_process_fork", 0, BIT(1) | BIT(2),
					       { "child_tid", "child_pid" } };
static const struct wmk_ftrace_kind dumped = { "lttng_statedump_process_state", 0, BIT(1) | BIT(2),
					       { "tid", "pid", "name" } };

/* ── fields ──────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_name(const char *name, const char *is, size_t len)
{
	return name && strncmp(name, is, len) == 0 && !name[len];
}

/* Find the operation of the first name in `names` that the record has; '|' separates names. 0: none. */
static uint32_t find(const struct wmk_ctf_program *program, const char *names)
{
	const struct wmk_ctf_op *ops = program->ops;

	while (names) {
		const size_t len = strcspn(names, "|");

		for (uint32_t i = 1; program->n_ops > 1 && ops[i].code != WMK_CTF_END; i = ops[i].next)
			if (ops[i].code <= WMK_CTF_TEXT && is_name(ops[i].name, names, len))
				return i;
		names = names[len] ? names + len + 1 : NULL;
	}
	return 0;
}

static bool has_needed(const struct wmk_ftrace_kind *kind, const struct wmk_ctf_program *program)
{
	for (unsigned i = 0; i < FIELDS; i++)
		if (kind->needed & BIT(i + 1) && !find(program, kind->fields[i]))
			return false;
	return true;
}

/*
 * Read the fields of the record that the ftrace message needs. If the record lacks a field, `op` of the field's item is
 * NULL. Errors of ctf/decode.h.
 */
static int read_fields(const struct wmk_ftrace_kind *kind, struct wmk_read_stream *read,
		       struct wmk_ctf_item items[FIELDS])
{
	const struct wmk_ctf_program *program = wmk_read_scope_begin(read, WMK_READ_PAYLOAD);
	struct wmk_ctf_walk *walk = &read->record.walk;
	uint32_t ops[FIELDS];
	struct wmk_ctf_item item;

	memset(items, 0, FIELDS * sizeof(*items));
	for (unsigned i = 0; i < FIELDS; i++)
		ops[i] = find(program, kind->fields[i]);
	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item))
		for (unsigned i = 0; i < FIELDS; i++)
			if (ops[i] && item.op == &program->ops[ops[i]])
				items[i] = item;
	return walk->err;
}

static bool is_text(const struct wmk_ctf_item *item)
{
	return item->op && (item->op->code == WMK_CTF_STRING || item->op->code == WMK_CTF_TEXT);
}

static void put_field(struct wmk_proto *b, unsigned number, const struct wmk_ctf_item *item, const char *name)
{
	const bool wants_text = strstr(name, "comm") != NULL;

	if (!item->op || is_text(item) != wants_text)
		return;
	if (!wants_text)
		wmk_proto_number(b, number, item->value.u);
	else if (item->op->type->encoding != WMK_ENCODING_UTF8)
		wmk_proto_wide_text(b, number, item);
	else
		wmk_proto_text(b, number, item->text, item->len);
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

const struct wmk_ftrace_kind *wmk_ftrace_kind_of(const struct wmk_read_stream *read,
						 const struct wmk_read_thread_id *who)
{
	const char *name = read->record.event->class->name;

	if (!who->has_cpu || !name || strncmp(name, "sched_", 6) != 0)
		return NULL;
	for (size_t i = 0; i < WMK_ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return has_needed(&kinds[i], &read->record.event->payload) ? &kinds[i] : NULL;
	return NULL;
}

int wmk_ftrace_put(struct wmk_proto *b, const struct wmk_ftrace_kind *kind, struct wmk_read_stream *read,
		   struct wmk_read_track *line, int64_t ns)
{
	const bool is_switch = kind == &kinds[0];
	struct wmk_ctf_item items[FIELDS];
	int err = read_fields(kind, read, items);
	int64_t tid = line->who.has_tid ? line->who.tid : is_switch ? items[SWITCH_PREV - 1].value.i : line->runs;

	if (err < 0)
		return err;
	wmk_proto_number(b, BUNDLE_CPU, (uint32_t)line->who.cpu);
	if (line->has_lost)
		wmk_proto_number(b, BUNDLE_LOST, 1);
	const size_t event = wmk_proto_begin(b, BUNDLE_EVENT);

	wmk_proto_number(b, EVENT_TIME, (uint64_t)ns);
	wmk_proto_number(b, EVENT_TID, (uint32_t)tid);
	const size_t message = wmk_proto_begin(b, kind->number);

	for (unsigned i = 0; i < FIELDS && kind->fields[i]; i++)
		put_field(b, i + 1, &items[i], kind->fields[i]);
	wmk_proto_end(b, message);
	wmk_proto_end(b, event);
	line->has_lost = false;
	if (is_switch)
		line->runs = items[SWITCH_NEXT - 1].value.i;
	return 0;
}

int wmk_ftrace_thread(struct wmk_read_stream *read, struct wmk_read_thread_id *who)
{
	const char *name = read->record.event->class->name;
	const struct wmk_ftrace_kind *kind = !name			     ? NULL
					     : strcmp(name, forked.name) == 0 ? &forked
					     : strcmp(name, dumped.name) == 0 ? &dumped
									      : NULL;
	struct wmk_ctf_item items[FIELDS];
	int err = kind && has_needed(kind, &read->record.event->payload) ? read_fields(kind, read, items) : 0;

	if (err < 0 || !kind || !has_needed(kind, &read->record.event->payload))
		return err;
	*who = (struct wmk_read_thread_id){ .has_pid = true, .has_tid = true };
	who->tid = items[0].value.i;
	who->pid = items[1].value.i;
	if (is_text(&items[2]) && items[2].op->type->encoding == WMK_ENCODING_UTF8)
		snprintf(who->name, sizeof(who->name), "%.*s", (int)(items[2].len < 63 ? items[2].len : 63),
			 items[2].text);
	return who->tid > 0 && who->pid > 0;
}

void wmk_ftrace_system(const struct wmk_read_trace *trace, struct wmk_read_tracks *whole)
{
	const struct wmk_ctf_class *class = trace->class;

	for (uint32_t i = 0; i < class->n_env; i++) {
		const struct wmk_ctf_env_entry *env = &class->env[i];

		if (env->text && strcmp(env->name, "sysname") == 0)
			snprintf(whole->sysname, sizeof(whole->sysname), "%s", env->text);
		if (env->text && strcmp(env->name, "kernel_release") == 0)
			snprintf(whole->release, sizeof(whole->release), "%s", env->text);
	}
}
