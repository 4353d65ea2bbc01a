/* SPDX-License-Identifier: MIT */
/*
 * filter_records.c - runs filter programs on records in the consumer (see filter_split.h).
 *
 * The position of a field depends on texts and sequences before the field. A payload is therefore divided into
 * sections. Each section ends with a text or a sequence, or at the end of the payload. Positions within a section are
 * constant.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "kernel/event/filter_split.h"

#define DEPTH_MAX 8u                 /* nested types */

enum source { OF_PAYLOAD, OF_CONTEXTS, OF_TID, OF_CPU };

/* Describes where the filter program reads one of its inputs. */
struct slot {
	uint8_t source;                  /* enum source */
	bool is_text, is_element;        /* is_element: the input is an element of a sequence, which ends the section */
	const struct wmk_type *type;     /* type of the number or of the text */
	uint32_t section, at;            /* at: offset in the section */
	uint32_t index;
};

struct wmk_kfilter {
	struct wmk_filter_program *program;
	uint32_t n_sections;             /* number of sections, up to the last one that contains an input */
	const struct wmk_type **ends;    /* the type that ends each section */
	uint32_t *sizes;                 /* bytes of each section before the type that ends it */
	struct slot slots[WMK_FILTER_INPUTS_MAX];
	struct wmk_filter_values values;
};

/* ── positions of fields ─────────────────────────────────────────────────────────────────────────────── */

/* Returns the size in bytes of a type of constant size; 0: the size varies. */
static uint32_t fixed(const struct wmk_type *type)
{
	switch (type->kind) {
	case WMK_TYPE_INT: case WMK_TYPE_ENUM: case WMK_TYPE_FLAGS: case WMK_TYPE_BOOL: case WMK_TYPE_FLOAT:
		return type->width / 8;
	case WMK_TYPE_ARRAY:
		return type->elem->kind <= WMK_TYPE_FLAGS && type->elem->kind != WMK_TYPE_STRING &&
				       type->count < UINT32_MAX / 8
			       ? type->count * (type->elem->width / 8)
			       : 0;
	default:
		return 0;
	}
}

static bool is_empty(const struct wmk_type *type)
{
	return type->kind == WMK_TYPE_ARRAY && type->count == 0;
}

/* Returns the offset after a value of this type that begins at `at`; SIZE_MAX: the value exceeds the payload. */
static size_t behind(const struct wmk_type *type, const uint8_t *bytes, size_t len, size_t at, unsigned depth)
{
	const uint32_t size = fixed(type);
	uint32_t n = type->count;

	if (size || is_empty(type))
		return len - at < size ? SIZE_MAX : at + size;
	if (type->kind == WMK_TYPE_STRING) {
		const uint8_t *end = memchr(bytes + at, 0, len - at);

		return end ? (size_t)(end - bytes) + 1 : SIZE_MAX;
	}
	if (depth == DEPTH_MAX)
		return SIZE_MAX;
	for (uint32_t i = 0; type->kind == WMK_TYPE_STRUCT && i < type->count && at != SIZE_MAX; i++)
		at = behind(&type->members[i].type, bytes, len, at, depth + 1);
	if (type->kind == WMK_TYPE_STRUCT)
		return at;
	if (type->kind != WMK_TYPE_ARRAY) {
		if (len - at < sizeof(n))
			return SIZE_MAX;
		memcpy(&n, bytes + at, sizeof(n));
		at += sizeof(n);
	}
	if (type->kind == WMK_TYPE_BLOB)
		return n > len - at ? SIZE_MAX : at + n;
	const uint32_t each = fixed(type->elem);

	if (each)
		return n > (len - at) / each ? SIZE_MAX : at + (size_t)n * each;
	/* (kernel events have no elements of 0 bytes) */
	for (uint32_t i = 0; i < n && at != SIZE_MAX; i++)
		at = at < len ? behind(type->elem, bytes, len, at, depth + 1) : SIZE_MAX;
	return at;
}

/* Determines the sections up to the section that contains the field or ends with the field. */
static void sections_to(struct wmk_kfilter *filter, const struct wmk_event_class *class, uint32_t field,
			struct slot *slot)
{
	uint32_t section = 0, at = 0;

	for (uint32_t i = 0; i < field; i++) {
		const struct wmk_type *type = &class->fields[i].type;
		const uint32_t size = fixed(type);

		if (size || is_empty(type)) {
			at += size;
			continue;
		}
		filter->ends[section] = type;
		filter->sizes[section++] = at;
		at = 0;
	}
	slot->section = section;
	slot->at = at;
	if (section + 1 > filter->n_sections) {
		filter->n_sections = section + 1;
		filter->ends[section] = NULL;
		filter->sizes[section] = 0;
	}
}

static int of_payload(struct wmk_kfilter *filter, const struct wmk_event_class *class,
		      const struct wmk_filter_input *input, struct slot *slot)
{
	if (input->number >= class->n_fields)
		return -EPROTO;
	const struct wmk_type *type = &class->fields[input->number].type;

	sections_to(filter, class, input->number, slot);
	slot->type = type;
	slot->is_text = wmk_filter_type_of(type) == WMK_FILTER_TEXT;
	if (wmk_filter_type_of(type) == input->type)
		return slot->is_text && type->kind == WMK_TYPE_SEQUENCE ? -EPROTO : 0;
	if ((type->kind != WMK_TYPE_ARRAY && type->kind != WMK_TYPE_SEQUENCE) ||
	    wmk_filter_type_of(type->elem) != input->type || slot->is_text || !fixed(type->elem))
		return -EPROTO;
	slot->is_element = true;
	slot->index = input->index;
	return 0;
}

static int of_contexts(const uint8_t *contexts, unsigned n, const struct wmk_filter_input *input, struct slot *slot)
{
	const struct wmk_ctf_context *context = wmk_ctf_context(input->number);
	uint32_t at = 0;

	if (!context || wmk_filter_type_of(&context->field.type) != input->type)
		return -EPROTO;
	slot->type = &context->field.type;
	slot->is_text = input->type == WMK_FILTER_TEXT;
	slot->source = input->number == WMK_CONTEXT_TID      ? OF_TID
		       : input->number == WMK_CONTEXT_CPU_ID ? OF_CPU
							     : OF_CONTEXTS;
	if (slot->source != OF_CONTEXTS)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		if (contexts[i] == input->number) {
			slot->at = at;
			return 0;
		}
		context = wmk_ctf_context(contexts[i]);
		at += context ? fixed(&context->field.type) : 0;
	}
	return -EPROTO;
}

static int slots_fill(struct wmk_kfilter *filter, const struct wmk_event_class *class, const uint8_t *contexts,
		      unsigned n)
{
	int err = 0;

	for (uint32_t i = 0; i < filter->program->n_inputs && err == 0; i++) {
		const struct wmk_filter_input *input = &filter->program->inputs[i];

		err = input->scope == WMK_FILTER_FIELD ? of_payload(filter, class, input, &filter->slots[i]) :
							 of_contexts(contexts, n, input, &filter->slots[i]);
	}
	return err < 0 ? wmk_error(err,
				   "malformed filter of the event %.60s: it reads a value that the records do not have",
				   class->name)
		       : 0;
}

int wmk_kfilter_open(const struct wmk_event_class *class, const uint8_t *contexts, unsigned n_contexts,
		     const void *program, size_t len, struct wmk_kfilter **result)
{
	struct wmk_kfilter *filter = calloc(1, sizeof(*filter));
	int err = 0;

	if (filter) {
		filter->ends = calloc(class->n_fields + 1u, sizeof(struct wmk_type *));
		filter->sizes = calloc(class->n_fields + 1u, sizeof(*filter->sizes));
	}
	if (!filter || !filter->ends || !filter->sizes)
		err = wmk_error(-ENOMEM, "cannot open a filter: no memory");
	if (err == 0)
		err = wmk_filter_decode(program, len, &filter->program);
	if (err == 0)
		err = slots_fill(filter, class, contexts, n_contexts);
	if (err < 0) {
		wmk_kfilter_close(filter);
		return err;
	}
	*result = filter;
	return 0;
}

void wmk_kfilter_close(struct wmk_kfilter *filter)
{
	if (!filter)
		return;
	wmk_filter_program_free(filter->program);
	free(filter->ends);
	free(filter->sizes);
	free(filter);
}

/* ── a record ────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t number(const struct wmk_type *type, const uint8_t *at)
{
	uint64_t value = 0;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	memcpy((uint8_t *)&value + 8 - type->width / 8, at, type->width / 8);
#else
	memcpy(&value, at, type->width / 8);
#endif
	if (type->is_signed && type->width < 64)
		value = (uint64_t)((int64_t)(value << (64 - type->width)) >> (64 - type->width));
	return value;
}

/* Reads an input. Returns false if the payload does not contain the input. */
static bool take(struct wmk_kfilter *filter, uint32_t input, const uint8_t *bytes, size_t len, size_t at)
{
	const struct slot *slot = &filter->slots[input];
	const struct wmk_type *type = slot->type;
	uint32_t n = type->count;

	if (at > len)
		return false;
	if (slot->is_text) {
		const size_t max = type->kind == WMK_TYPE_ARRAY && type->count < len - at ? type->count : len - at;

		filter->values.texts[input] =
			(struct wmk_filter_text){ (const char *)bytes + at, strnlen((const char *)bytes + at, max) };
		return true;
	}
	if (slot->is_element && type->kind == WMK_TYPE_SEQUENCE) {
		if (len - at < sizeof(n))
			return false;
		memcpy(&n, bytes + at, sizeof(n));
		at += sizeof(n);
	}
	if (slot->is_element) {
		const uint32_t each = fixed(type->elem);

#ifdef WMK_PLANTED_BUG_KERNEL_FILTER         /* the fuzzer must find this */
		if (slot->index >= 64)
			return false;
		n = each;
#else
		if (slot->index >= n || slot->index >= (len - at) / each)
			return false;
#endif
		at += (size_t)slot->index * each;
		type = type->elem;
	}
	if (!slot->is_element && len - at < fixed(type))
		return false;
	filter->values.numbers[input] = number(type, bytes + at);
	return true;
}

static void take_section(struct wmk_kfilter *filter, uint32_t section, const struct wmk_kfilter_record *record,
			 size_t at)
{
	for (uint32_t i = 0; i < filter->program->n_inputs; i++)
		if (filter->slots[i].source == OF_PAYLOAD && filter->slots[i].section == section &&
		    take(filter, i, record->payload, record->payload_len, at + filter->slots[i].at))
			filter->values.lacking &= ~(UINT64_C(1) << i);
}

bool wmk_kfilter_wants(struct wmk_kfilter *filter, const struct wmk_kfilter_record *record)
{
	const uint32_t n = filter->program->n_inputs;
	size_t at = 0;

	filter->values.lacking = (UINT64_C(1) << n) - 1;
	for (uint32_t i = 0; i < n; i++) {
		const struct slot *slot = &filter->slots[i];
		bool has = slot->source == OF_TID || slot->source == OF_CPU;

		filter->values.numbers[i] =
			(uint64_t)(int64_t)(slot->source == OF_TID ? record->tid : (int32_t)record->cpu);
		filter->values.texts[i] = (struct wmk_filter_text){ "", 0 };
		if (slot->source == OF_CONTEXTS)
			has = take(filter, i, record->contexts, record->contexts_len, slot->at);
		filter->values.lacking &= ~((uint64_t)has << i);
	}
	for (uint32_t section = 0; section < filter->n_sections && at <= record->payload_len; section++) {
		take_section(filter, section, record, at);
		if (section + 1 == filter->n_sections)
			break;
		at += filter->sizes[section];
		if (at > record->payload_len)
			break;
		at = behind(filter->ends[section], record->payload, record->payload_len, at, 0);
		if (at == SIZE_MAX)
			break;
	}
	return wmk_filter_run(filter->program, &filter->values);
}
