/* SPDX-License-Identifier: MIT */
/*
 * runtime_event.c - see runtime_event.h. A handle is a descriptor without sites; a record of the handle stages the
 * values as the macros of trace.h do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/compiler.h"
#include "tracer/event.h"
#include "tracer/lock.h"
#include "tracer/patch.h"
#include "tracer/plan.h"
#include "tracer/runtime_event.h"
#include "tracer/tracer.h"

struct waymark_event {
	struct waymark_desc desc;
	uint8_t types[WAYMARK_MAX_FIELDS];              /* of the staged scalar or reference */
	uint8_t bytes[WAYMARK_MAX_FIELDS];              /* of the staged scalar; 0: a reference */
	struct waymark_field fields[];
};

/* Size of a schema of an earlier version, without the member `kind`. */
#define BEFORE_KIND offsetof(struct waymark_schema, kind)

static bool is_kind(uint32_t kind)
{
	return wmk_kind_has_class(kind) && !wmk_kind_has_format(kind);
}

static bool is_identifier(const char *text)
{
	const size_t len = text ? strnlen(text, 128) : 0;

	return len > 0 && len < 128 && !(text[0] >= '0' && text[0] <= '9') &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len;
}

/*
 * The class has copies of all names and labels, so pointers to the caller's data are removed from the descriptor as
 * soon as the event exists. The library finds an existing event by the class of the event, so only this function needs
 * the fields of the descriptor.
 */
static int declare(struct waymark_event *handle, const struct waymark_schema *schema, bool by_helper)
{
	struct waymark_desc *desc = &handle->desc;
	struct wmk_event *event;

	desc->size = sizeof(*desc);
	desc->version = WAYMARK_ABI_VERSION;
	desc->kind = schema->size >= sizeof(*schema) ? (uint8_t)schema->kind : WAYMARK_KIND_EVENT;
	desc->level = (uint8_t)schema->level;
	desc->provider = schema->provider;
	desc->name = schema->name;
	desc->n_fields = schema->n_fields;
	desc->fields = schema->fields;
	event = wmk_event_get(desc);
	if (!event)
		return -EINVAL;
	if (event->n_descs == 0 && !event->chain)
		event->is_helpers = by_helper;
	for (uint32_t i = 0; i < schema->n_fields; i++) {
		const struct waymark_field *field = &schema->fields[i];

		handle->types[i] =
			field->type == WAYMARK_T_ENUM || field->type == WAYMARK_T_FLAGS ? field->elem : field->type;
		handle->bytes[i] = (uint8_t)wmk_scalar_bytes(handle->types[i]);
		handle->fields[i] = (struct waymark_field){ .type = field->type,
							    .elem = field->elem,
							    .flags = field->flags,
							    .count = field->count,
							    .name = event->class->fields[i].name };
	}
	desc->fields = handle->fields;
	desc->provider = event->class->provider;
	desc->name = event->class->name;
	return wmk_event_add_desc(event, desc);
}

struct waymark_event *wmk_runtime_event_make(const struct waymark_schema *schema)
{
	struct waymark_event *handle;

	if (!schema || schema->size < BEFORE_KIND || (schema->size >= sizeof(*schema) && !is_kind(schema->kind)) ||
	    !is_identifier(schema->provider) || !is_identifier(schema->name) || (schema->n_fields && !schema->fields)) {
		errno = EINVAL;
		return NULL;
	}
	if (schema->n_fields > WAYMARK_MAX_FIELDS) {
		errno = E2BIG;
		return NULL;
	}
	handle = calloc(1, sizeof(*handle) + schema->n_fields * sizeof(handle->fields[0]));
	if (handle)
		handle->desc.n_fields = schema->n_fields;
	return handle;
}

int wmk_runtime_event_declare(struct waymark_event *handle, const struct waymark_schema *schema, bool by_helper)
{
	const int err = declare(handle, schema, by_helper);

	if (err < 0)
		return err;
	wmk_patch_flush();
	wmk_tracer.changes++;
	return 0;
}

void wmk_runtime_event_drop(struct waymark_event *handle)
{
	wmk_event_drop_desc(handle->desc.event, &handle->desc);
	wmk_patch_flush();
	wmk_tracer.changes++;
}

int WMK_EXPORT waymark_event_enabled(const struct waymark_event *event)
{
	return event && __atomic_load_n(&event->desc.chain, __ATOMIC_RELAXED) != NULL;
}

struct staging {
	uint64_t words[WAYMARK_MAX_FIELDS];
	struct waymark_ref refs[WAYMARK_MAX_FIELDS];
	uint32_t at, n_refs;
};

static void stage_value(struct staging *s, unsigned type, unsigned bytes, const union waymark_value *value)
{
	if (bytes) {
		uint8_t truth = value->u64 != 0;

		memcpy((char *)s->words + s->at, type == WAYMARK_T_BOOL ? (const void *)&truth : (const void *)value,
		       bytes);
		s->at += bytes;
		return;
	}
	s->refs[s->n_refs++] = value->ref;
	s->at = (s->at + 7) & ~7u;
}

int WMK_EXPORT waymark_event_record(struct waymark_event *event, const union waymark_value *values, unsigned n)
{
	struct staging s;

	if (!event || n != event->desc.n_fields)
		return -EINVAL;
	if (!__atomic_load_n(&event->desc.chain, __ATOMIC_RELAXED))
		return 0;
	memset(s.words, 0, sizeof(s.words));
	s.at = s.n_refs = 0;
	for (unsigned i = 0; i < n; i++)
		stage_value(&s, event->types[i], event->bytes[i], &values[i]);
	waymark_record(&event->desc, s.words, s.refs, __builtin_return_address(0));
	return 0;
}
