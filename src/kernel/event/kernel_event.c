/* SPDX-License-Identifier: MIT */
/*
 * kernel_event.c - makes an event class and a copy program from a format (see kernel_event.h). Each field gets a type
 * of the trace and an operation that writes the field's bytes.
 */
#include "kernel/event/kernel_event.h"
#include "kernel/event/copy_program.h"
#include "kernel/event/event_names.h"

#include "base/error.h"
#include "schema/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMM_LEN 16u

struct maker {
	const struct wmk_kformat *format;
	struct wmk_scratch scratch;
	struct wmk_field *fields;
	struct wmk_kcopy *copies;
	uint32_t n, n_copies;
	uint32_t min_len, max_fixed;
	bool has_processes;
};

/* ── the program ─────────────────────────────────────────────────────────────────────────────────────── */

static void add_copy(struct maker *maker, struct wmk_kcopy copy, uint32_t takes)
{
	maker->copies[maker->n_copies++] = copy;
	maker->max_fixed += takes;
}

/*
 * Adds a copy of bytes, or extends the previous copy if the source is adjacent. `back` of an operation ADD is the
 * distance from the end of the output to the number that ADD changes. `back` therefore grows in each ADD that follows
 * the extended copy.
 */
static void add_bytes(struct maker *maker, uint32_t from, uint32_t len)
{
	uint32_t last = maker->n_copies;

	while (last && maker->copies[last - 1].code == WMK_KCOPY_ADD)
		last--;
	if (last && maker->copies[last - 1].code == WMK_KCOPY_BYTES &&
	    maker->copies[last - 1].from + maker->copies[last - 1].len == from) {
		maker->copies[last - 1].len += len;
		maker->max_fixed += len;
		for (; last < maker->n_copies; last++)
			maker->copies[last].back += len;
		return;
	}
	add_copy(maker, (struct wmk_kcopy){ .code = WMK_KCOPY_BYTES, .from = from, .len = len }, len);
}

static void shorten(struct maker *maker)
{
	for (uint32_t i = 0; i < maker->n_copies; i++) {
		struct wmk_kcopy *copy = &maker->copies[i];

		if (copy->code != WMK_KCOPY_BYTES)
			continue;
		copy->code = copy->len == 1   ? WMK_KCOPY_1
			     : copy->len == 2 ? WMK_KCOPY_2
			     : copy->len == 4 ? WMK_KCOPY_4
			     : copy->len == 8 ? WMK_KCOPY_8
					      : WMK_KCOPY_BYTES;
	}
}

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_type integer(uint32_t size, bool is_signed, unsigned base)
{
	return (struct wmk_type){
		.kind = WMK_TYPE_INT, .width = (uint8_t)(size * 8), .is_signed = is_signed, .base = (uint8_t)base
	};
}

/*
 * Returns the type of an element of `size` bytes. If `size` is 0, the field has an unknown type, and an element is one
 * byte.
 */
static const struct wmk_type *element(struct maker *maker, const struct wmk_kfield *field, uint32_t size)
{
	struct wmk_type *elem = wmk_scratch_alloc(&maker->scratch, sizeof(*elem));
	const bool is_address = strchr(field->type, '*') != NULL;

	if (elem)
		*elem = size <= 1 ? integer(1, size && field->is_signed, size && field->is_signed ? 10 : 16) :
			integer(size, field->is_signed, is_address ? 16 : 10);
	return elem;
}

static bool is_syscall(const struct wmk_kformat *format)
{
	return strcmp(format->system, "syscalls") == 0 && strncmp(format->name, "sys_enter_", 10) == 0;
}

/*
 * The kernel stores each argument of a system call in a word of a register's size, regardless of the argument's type.
 */
static void make_number(struct maker *maker, const struct wmk_kfield *field, const struct wmk_kfield_rule *rule,
			struct wmk_type *type)
{
	uint32_t from = field->offset, size = field->size;
	bool is_signed = field->is_signed;

	if (is_syscall(maker->format)) {
		const uint32_t declared = wmk_kformat_type_size(field->type, size, &is_signed);

		if (declared && declared < size) {
			from += __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? size - declared : 0;
			size = declared;
		}
	}
	*type = integer(size, is_signed, field->is_pointer || field->is_flags ? 16 : 10);
	if (field->n_labels && size == field->size && rule->how == WMK_KHOW_PLAIN) {
		type->kind = field->is_flags ? WMK_TYPE_FLAGS : WMK_TYPE_ENUM;
		type->is_signed = is_signed && !field->is_flags;
		type->count = field->n_labels;
		type->labels = field->labels;
	}
	add_bytes(maker, from, size);
	if (rule->how == WMK_KHOW_ADD && size == 4)
		add_copy(maker, (struct wmk_kcopy){ .code = WMK_KCOPY_ADD, .back = 4, .add = rule->add }, 0);
}

/*
 * Returns whether the field is the name of a thread. lttng-modules stores such names as texts of 16 bytes. A text that
 * is not the name of a thread becomes a string, which takes fewer bytes.
 */
static bool is_comm(const struct wmk_kfield *field)
{
	const size_t len = strlen(field->name);

	return field->count == COMM_LEN && len >= 4 && strcmp(field->name + len - 4, "comm") == 0;
}

static int make_array(struct maker *maker, const struct wmk_kfield *field, const struct wmk_kfield_rule *rule,
		      struct wmk_type *type)
{
	if (field->is_text && rule->how == WMK_KHOW_RWBS) {
		*type = (struct wmk_type){ .kind = WMK_TYPE_FLAGS, .width = 32, .base = 16,
					   .count = WMK_KRWBS_LABELS, .labels = wmk_krwbs_labels };
		add_copy(maker, (struct wmk_kcopy){ .code = WMK_KCOPY_RWBS, .from = field->offset, .len = field->size },
			 4);
		return 0;
	}
	if (field->is_text && !is_comm(field)) {
		*type = (struct wmk_type){ .kind = WMK_TYPE_STRING };
		add_copy(maker, (struct wmk_kcopy){ .code = WMK_KCOPY_TEXT, .from = field->offset, .len = field->size },
			 field->size + 1);
		return 0;
	}
	*type = (struct wmk_type){ .kind = WMK_TYPE_ARRAY, .is_text = field->is_text };
	type->count = field->shape == WMK_KSHAPE_ARRAY ? field->count : field->size;
	type->elem = element(maker, field, field->shape == WMK_KSHAPE_ARRAY ? field->elem : 0);
	add_bytes(maker, field->offset, field->size);
	return type->elem ? 0 : -ENOMEM;
}

static int make_far(struct maker *maker, const struct wmk_kfield *field, struct wmk_type *type)
{
	struct wmk_kcopy copy = { .code = WMK_KCOPY_FAR_ELEMENTS,
				  .from = field->offset,
				  .len = field->elem ? field->elem : 1 };

	copy.place = field->shape == WMK_KSHAPE_DYNAMIC    ? WMK_KPLACE_LOC
		     : field->shape == WMK_KSHAPE_RELATIVE ? WMK_KPLACE_REL
							   : WMK_KPLACE_REST;
	if (field->is_text) {
		*type = (struct wmk_type){ .kind = WMK_TYPE_STRING };
		copy.code = WMK_KCOPY_FAR_TEXT;
	} else if (field->elem) {
		*type = (struct wmk_type){ .kind = WMK_TYPE_SEQUENCE, .elem = element(maker, field, field->elem) };
	} else {
		*type = (struct wmk_type){ .kind = WMK_TYPE_BLOB };
	}
	add_copy(maker, copy, field->is_text ? 1 : 4);
	return type->kind == WMK_TYPE_SEQUENCE && !type->elem ? -ENOMEM : 0;
}

/* ── fields ──────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_taken(const struct maker *maker, const char *name)
{
	for (uint32_t i = 0; i < maker->n; i++)
		if (strcmp(maker->fields[i].name, name) == 0)
			return true;
	return false;
}

/* Adds a field with a unique name. */
static struct wmk_field *add_field(struct maker *maker, const char *name)
{
	char numbered[WMK_NAME_MAX + 1];

	snprintf(numbered, sizeof(numbered), "%s", name);
	for (unsigned i = 2; is_taken(maker, numbered); i++)
		snprintf(numbered, sizeof(numbered), "%.*s_%u", WMK_NAME_MAX - 12, name, i);
	struct wmk_field *field = &maker->fields[maker->n];

	field->name = wmk_scratch_text(&maker->scratch, numbered, strlen(numbered));
	maker->n += field->name != NULL;
	return field->name ? field : NULL;
}

bool wmk_kevent_shows(const struct wmk_kformat *format, const struct wmk_kfield *field, struct wmk_kfield_rule *rule)
{
	wmk_kname_field(format->system, format->name, field->name, rule);
	return rule->how != WMK_KHOW_DROPPED && (field->size || field->shape == WMK_KSHAPE_REST);
}

static int make_field(struct maker *maker, const struct wmk_kfield *from)
{
	struct wmk_kfield_rule rule;
	struct wmk_field *field;

	if (!wmk_kevent_shows(maker->format, from, &rule))
		return 0;
	field = add_field(maker, rule.name);
	if (!field)
		return -ENOMEM;
	if (from->offset + from->size > maker->min_len)
		maker->min_len = from->offset + from->size;
	switch ((enum wmk_kshape)from->shape) {
	case WMK_KSHAPE_NUMBER:
		make_number(maker, from, &rule, &field->type);
		return 0;
	case WMK_KSHAPE_ARRAY:
	case WMK_KSHAPE_BYTES:
		return make_array(maker, from, &rule, &field->type);
	default:
		return make_far(maker, from, &field->type);
	}
}

/* Checks that the four fields that wmk_kcommon_read() reads are at the expected positions. */
static bool has_common(const struct wmk_kformat *format)
{
	static const struct { const char *name; uint32_t offset, size;
	} wanted[] = {
		{ "common_type", 0, 2 },
		{ "common_flags", 2, 1 },
		{ "common_preempt_count", 3, 1 },
		{ "common_pid", 4, 4 },
	};

	if (format->n_common < 4)
		return false;
	for (unsigned i = 0; i < 4; i++)
		if (strcmp(format->fields[i].name, wanted[i].name) != 0 ||
		    format->fields[i].offset != wanted[i].offset || format->fields[i].size != wanted[i].size)
			return false;
	return true;
}

/* The program copies thread numbers. set_processes() in cpu_stream.c replaces the thread numbers by process numbers. */
static int make_processes(struct maker *maker)
{
	static const char *const names[][2] = { { "parent_pid", "parent_process" }, { "child_pid", "child_process" } };
	const struct wmk_kformat *format = maker->format;
	struct wmk_kfield found[2];
	unsigned n = 0;
	int err = 0;

	for (uint32_t i = 0; i < format->n_fields && n < 2; i++) {
		const struct wmk_kfield *field = &format->fields[format->n_common + i];

		if (!strcmp(field->name, names[n][0]) && field->shape == WMK_KSHAPE_NUMBER && field->size == 4) {
			found[n] = *field;
			found[n].name = names[n][1];
			n++;
		}
	}
	for (unsigned i = 0; n == 2 && i < n && err >= 0; i++)
		err = make_field(maker, &found[i]);
	maker->has_processes = n == 2;
	return err;
}

static int make_fields(struct maker *maker)
{
	const struct wmk_kformat *format = maker->format;
	int err = 0;

	for (uint32_t i = 0; i < format->n_fields && err >= 0; i++)
		err = make_field(maker, &format->fields[format->n_common + i]);
	if (err >= 0 && wmk_kname_has_tid(format->system, format->name)) {
		const struct wmk_kfield tid = {
			.name = "tid", .type = "pid_t", .offset = 4, .size = 4, .is_signed = true
		};

		err = make_field(maker, &tid);
	}
	if (err >= 0 && wmk_kname_has_processes(format->system, format->name))
		err = make_processes(maker);
	shorten(maker);
	return err;
}

/* ── events ──────────────────────────────────────────────────────────────────────────────────────────── */

static int finish(const struct maker *maker, const char *name, struct wmk_kevent **event)
{
	const struct wmk_event_class class = { .provider = "",
					       .name = name,
					       .level = WAYMARK_LEVEL_INFO,
					       .n_fields = (uint16_t)maker->n,
					       .fields = maker->fields };
	const struct wmk_kformat *format = maker->format;
	const size_t copies = maker->n_copies * sizeof(*maker->copies), system = strlen(format->system) + 1,
		     own = strlen(format->name) + 1;
	struct wmk_kevent *made;
	char *texts;
	int err;

	if (wmk_class_check(&class) < 0)
		return wmk_error_add(-ENOTSUP, "cannot describe event %.60s:%.60s in a trace", format->system,
				     format->name);
	made = calloc(1, sizeof(*made) + copies + system + own);
	if (!made)
		return wmk_error(-ENOMEM, "cannot make event %.60s: no memory", format->name);
	err = wmk_class_clone(&class, &made->class);
	if (err < 0) {
		free(made);
		return err;
	}
	if (copies)
		memcpy(made + 1, maker->copies, copies);
	texts = (char *)(made + 1) + copies;
	made->kernel_id = format->id;
	made->system = memcpy(texts, format->system, system);
	made->kernel_name = memcpy(texts + system, format->name, own);
	made->n_copies = maker->n_copies;
	made->copies = (const struct wmk_kcopy *)(made + 1);
	made->min_len = maker->min_len;
	made->max_fixed = maker->max_fixed;
	made->has_processes = maker->has_processes;
	*event = made;
	return 0;
}

int wmk_kevent_make(const struct wmk_kformat *format, struct wmk_kevent **event)
{
	struct maker maker = { .format = format, .min_len = sizeof(struct wmk_kcommon) };
	char name[WMK_NAME_MAX + 1];
	int err;

	if (!has_common(format))
		return wmk_error(-ENOTSUP, "event %.60s:%.60s does not begin with the common fields of kernel events",
				 format->system, format->name);
	if (format->n_fields >= WMK_MEMBERS_MAX || !wmk_kname_event(format->system, format->name, name))
		return wmk_error(-ENOTSUP, "event %.60s:%.60s has too many fields (%u) or too long a name",
				 format->system, format->name, format->n_fields);
	/* Room for at most two additional fields (tid, processes), and for two operations per field. */
	maker.fields = wmk_scratch_alloc(&maker.scratch, (format->n_fields + 2) * sizeof(*maker.fields));
	maker.copies = wmk_scratch_alloc(&maker.scratch, 2 * (format->n_fields + 2) * sizeof(*maker.copies));
	err = maker.fields && maker.copies ? make_fields(&maker) : -ENOMEM;
	if (err >= 0)
		err = finish(&maker, name, event);
	wmk_scratch_free(&maker.scratch);
	return err;
}

void wmk_kevent_free(struct wmk_kevent *event)
{
	if (!event)
		return;
	wmk_event_class_free(event->class);
	free(event);
}
