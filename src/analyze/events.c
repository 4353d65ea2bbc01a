/* SPDX-License-Identifier: MIT */
/*
 * events.c - find events and fields by name once for each class, and decode records (see events.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/events.h"
#include "base/array.h"
#include "base/error.h"
#include "read/record_scope.h"
#include "schema/schema.h"

enum field_how { NOWHERE, AT_ONCE, BEHIND };

/*
 * '|' separates alternative names. If an event class lacks one of the first `n_needed` fields, the class is not treated
 * as an event of this table.
 */
static const struct known {
	uint8_t event, n_needed;
	const char *names;
	const char *fields[WMK_EVENT_FIELDS];
} known[] = {
	{ WMK_EV_SWITCH, 3, "sched_switch",
	  { "prev_tid|prev_pid", "prev_state", "next_tid|next_pid", "next_comm", "prev_comm" } },
	{ WMK_EV_WAKING, 1, "sched_waking", { "tid|pid", "comm" } },
	{ WMK_EV_WAKEUP, 1, "sched_wakeup", { "tid|pid", "comm" } },
	{ WMK_EV_WAKEUP_NEW, 1, "sched_wakeup_new", { "tid|pid", "comm" } },
	{ WMK_EV_FORK, 1, "sched_process_fork",
	  { "child_tid|child_pid", "child_pid", "parent_tid|parent_pid", "child_comm" } },
	{ WMK_EV_EXIT, 1, "sched_process_exit", { "tid|pid" } },
	{ WMK_EV_EXEC, 1, "sched_process_exec", { "tid|pid", "filename" } },
	{ WMK_EV_PROCESS_STATE, 3, "lttng_statedump_process_state", { "tid", "pid", "name", "file_table_address" } },
	{ WMK_EV_FILE, 3, "lttng_statedump_file_descriptor", { "file_table_address", "fd", "filename" } },
	{ WMK_EV_IRQ_ENTRY, 1, "irq_handler_entry", { "irq", "name" } },
	{ WMK_EV_IRQ_EXIT, 1, "irq_handler_exit", { "irq" } },
	{ WMK_EV_SOFTIRQ_RAISE, 1, "irq_softirq_raise|softirq_raise", { "vec" } },
	{ WMK_EV_SOFTIRQ_ENTRY, 1, "irq_softirq_entry|softirq_entry", { "vec" } },
	{ WMK_EV_SOFTIRQ_EXIT, 1, "irq_softirq_exit|softirq_exit", { "vec" } },
	{ WMK_EV_BLOCK_INSERT, 3, "block_rq_insert", { "dev", "sector", "nr_sector", "rwbs", "bytes" } },
	{ WMK_EV_BLOCK_ISSUE, 3, "block_rq_issue", { "dev", "sector", "nr_sector", "rwbs", "bytes" } },
	{ WMK_EV_BLOCK_COMPLETE, 3, "block_rq_complete", { "dev", "sector", "nr_sector", "rwbs", "error|errors" } },
	{ WMK_EV_BLOCK_MERGE, 3, "block_bio_backmerge|block_bio_frontmerge|block_rq_merge",
	  { "dev", "sector", "nr_sector", "rwbs" } },
	{ WMK_EV_BIO_QUEUE, 3, "block_bio_queue", { "dev", "sector", "nr_sector", "rwbs" } },
	{ WMK_EV_BIO_COMPLETE, 3, "block_bio_complete", { "dev", "sector", "nr_sector", "rwbs", "error" } },
	{ WMK_EV_PAGE_ALLOC, 1, "kmem_mm_page_alloc|mm_page_alloc", { "order" } },
	{ WMK_EV_PAGE_FREE, 1, "kmem_mm_page_free|mm_page_free", { "order" } },
	{ WMK_EV_BLOCK_DEVICE, 2, "lttng_statedump_block_device", { "dev", "diskname" } },
};
static const struct known entry = { WMK_EV_SYSCALL_ENTRY, 0, NULL, { "fd", "filename|pathname", "uaddr", "op" } };
static const struct known leave = { WMK_EV_SYSCALL_EXIT, 0, NULL, { "ret" } };
static const struct known counter = { WMK_EV_COUNTER, 1, NULL, { "value" } };
static const struct known other = { WMK_EV_OTHER, 0, NULL, { NULL } };

static bool is_one_of(const char *list, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = list; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
		if (!strncmp(at, name, len) && (at[len] == '|' || !at[len]))
			return true;
	return false;
}

/* ── positions of fields ─────────────────────────────────────────────────────────────────────────────── */

static struct wmk_field_place place_in(const struct wmk_ctf_program *program, unsigned scope, const char *names)
{
	struct wmk_field_place place = { .how = AT_ONCE, .scope = (uint8_t)scope };
	const struct wmk_ctf_op *ops = program->ops;

	for (uint32_t i = 1; program->n_ops > 1 && ops[i].code != WMK_CTF_END; i = ops[i].next) {
		uint64_t bits;

		place.distance = wmk_bits_align(place.distance, ops[i].align);
		if (ops[i].code <= WMK_CTF_TEXT && ops[i].name && is_one_of(names, ops[i].name)) {
			place.op = i;
			return place;
		}
		bits = wmk_ctf_fixed_bits(ops, i);
		place.how = place.how == AT_ONCE && bits ? AT_ONCE : BEHIND;
		place.distance += bits;
	}
	return (struct wmk_field_place){ .how = NOWHERE };
}

static struct wmk_field_place context_place(const struct wmk_ctf_stream_decoder *decoder,
					    const struct wmk_ctf_event_decoder *event, const char *names)
{
	const struct wmk_field_place common = place_in(&decoder->event_context, WMK_READ_COMMON, names);

	return common.how ? common : place_in(&event->context, WMK_READ_CONTEXT, names);
}

static const struct known *known_event(const char *name, struct wmk_class *class)
{
	for (size_t i = 0; i < WMK_ARRAY_LEN(known); i++)
		if (is_one_of(known[i].names, name))
			return &known[i];
	if (!strncmp(name, "syscall_entry_", 14) || !strncmp(name, "syscall_exit_", 13)) {
		const bool is_entry = name[9] == 'n';

		class->what = name + (is_entry ? 14 : 13);
		class->what_len = strlen(class->what);
		return is_entry ? &entry : &leave;
	}
	return &other;
}

static void resolve_fields(const struct known *is, const struct wmk_ctf_event_decoder *event, struct wmk_class *class)
{
	class->event = is->event;
	for (unsigned i = 0; i < WMK_EVENT_FIELDS && is->fields[i]; i++) {
		class->fields[i] = place_in(&event->payload, WMK_READ_PAYLOAD, is->fields[i]);
		if (i < is->n_needed && !class->fields[i].how)
			class->event = WMK_EV_OTHER;
	}
}

static int name_id(struct wmk_names *names, const char *name, uint32_t *id)
{
	char **all;

	for (*id = 0; *id < names->n; ++*id)
		if (!strcmp(names->names[*id], name))
			return 0;
	all = wmk_array_room(names->names, names->n, &names->cap, sizeof(*all));
	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u names of events", names->n);
	names->names = all;
	all[names->n] = strdup(name);
	if (!all[names->n])
		return wmk_error(-ENOMEM, "no memory for the name of an event");
	names->n++;
	return 0;
}

static int resolve(const struct wmk_ctf_stream_decoder *decoder, const struct wmk_ctf_event_decoder *event,
		   struct wmk_names *names, struct wmk_class *class)
{
	const char *name = event->class->name && *event->class->name ? event->class->name : "event";
	const unsigned kind = wmk_kind_of_uri(event->class->emf_uri);
	const int err = name_id(names, name, &class->id);

	if (err < 0)
		return err;
	name = class->name = class->what = names->names[class->id];
	class->tid = context_place(decoder, event, "tid|vtid");
	class->pid = context_place(decoder, event, "pid|vpid");
	class->procname = context_place(decoder, event, "procname|comm");
	if (kind == WAYMARK_KIND_BEGIN || kind == WAYMARK_KIND_END) {
		class->event = kind == WAYMARK_KIND_BEGIN ? WMK_EV_SPAN_BEGIN : WMK_EV_SPAN_END;
		class->what_len = wmk_kind_name_len(kind, name);
	} else {
		resolve_fields(kind == WAYMARK_KIND_COUNTER ? &counter : known_event(name, class), event, class);
	}
	return 0;
}

int wmk_events_resolve(const struct wmk_ctf_stream_decoder *decoder, struct wmk_names *names,
		       struct wmk_classes **classes)
{
	struct wmk_classes *made = calloc(1, sizeof(*made));
	int err = 0;

	if (made)
		made->classes = calloc(decoder->n_events ? decoder->n_events : 1, sizeof(*made->classes));
	if (!made || !made->classes) {
		free(made);
		return wmk_error(-ENOMEM, "no memory for %u events", decoder->n_events);
	}
	made->decoder = decoder;
	for (uint32_t i = 0; i < decoder->n_events && err >= 0; i++) {
		err = resolve(decoder, &decoder->events[i], names, &made->classes[i]);
		made->events |= UINT32_C(1) << made->classes[i].event;
	}
	if (err < 0) {
		wmk_events_free(made);
		return err;
	}
	*classes = made;
	return 0;
}

void wmk_events_free(struct wmk_classes *classes)
{
	free(classes->classes);
	free(classes);
}

void wmk_events_free_names(struct wmk_names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		free(names->names[i]);
	free(names->names);
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static int value_at(struct wmk_read_stream *stream, const struct wmk_field_place *place, struct wmk_field_value *value)
{
	const struct wmk_ctf_program *program = wmk_read_scope_begin(stream, place->scope);
	struct wmk_ctf_walk *walk = &stream->record.walk;
	struct wmk_ctf_item item;
	bool is_there;

	wmk_ctf_walk_enter(walk, program);
	if (place->how == AT_ONCE) {
		walk->at = wmk_bits_align(walk->at, program->ops->align) + place->distance;
		walk->op = place->op;
		is_there = wmk_ctf_next(walk, &item);
	} else {
		while ((is_there = wmk_ctf_next(walk, &item)) && (item.is_end || item.op != &program->ops[place->op]))
			;
	}
	if (!is_there)
		return walk->err;
	value->has = true;
	value->is_text = item.op->code == WMK_CTF_STRING || item.op->code == WMK_CTF_TEXT;
	value->number = item.op->code == WMK_CTF_FLOAT ? (int64_t)item.value.f : item.value.i;
	value->real = item.op->code == WMK_CTF_FLOAT ? item.value.f
		      : item.op->is_signed	     ? (double)item.value.i
						     : (double)item.value.u;
	value->text = value->is_text ? item.text : NULL;
	value->len = value->is_text ? item.len : 0;
	return 0;
}

int wmk_events_decode(const struct wmk_class *class, struct wmk_read_stream *stream, struct wmk_record *record)
{
	struct wmk_field_value number = { .has = false };
	int err = 0;

	record->ns = stream->ns;
	record->event = class->event;
	record->class = class;
	record->stream = stream;
	record->procname.has = record->has_tid = record->has_pid = false;
	for (unsigned i = 0; i < WMK_EVENT_FIELDS && err >= 0; i++) {
		record->values[i].has = false;
		if (class->fields[i].how)
			err = value_at(stream, &class->fields[i], &record->values[i]);
	}
	if (err >= 0 && class->tid.how) {
		err = value_at(stream, &class->tid, &number);
		record->has_tid = number.has && number.number >= 0;
		record->tid = number.number;
	}
	if (err >= 0 && class->pid.how) {
		number.has = false;
		err = value_at(stream, &class->pid, &number);
		record->has_pid = number.has && number.number >= 0;
		record->pid = number.number;
	}
	if (err >= 0 && class->procname.how && class->event != WMK_EV_SWITCH)
		err = value_at(stream, &class->procname, &record->procname);
	return err;
}

void wmk_value_text(const struct wmk_field_value *value, char *buf, size_t size)
{
	const size_t len = value->has && value->is_text ? strnlen(value->text, value->len) : 0;
	const size_t n = len < size ? len : size - 1;

	memcpy(buf, value->text ? value->text : "", n);
	buf[n] = '\0';
}
