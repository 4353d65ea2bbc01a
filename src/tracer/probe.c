/* SPDX-License-Identifier: MIT */
/* probe.c - see probe.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/patch.h"
#include "tracer/plan.h"
#include "tracer/probe.h"
#include "tracer/recorder.h"
#include "tracer/tracer.h"

struct connection {
	struct connection *next;
	struct wmk_name *name;
	waymark_probe_fn fn;
	void *data;
};

static struct connection *connections;

/* ── the record for callbacks ──────────────────────────────────────────────────────────────────────────── */

static unsigned scalar_type(const struct waymark_field *field)
{
	return field->type == WAYMARK_T_ENUM || field->type == WAYMARK_T_FLAGS ? field->elem : field->type;
}

static void load_scalar(union waymark_value *value, unsigned type, uint32_t bytes, const void *from)
{
	const uint32_t shift = 64 - 8 * bytes;

	value->u64 = 0;
	memcpy(value, from, bytes);
	if (type == WAYMARK_T_S8 || type == WAYMARK_T_S16 || type == WAYMARK_T_S32)
		value->s64 = (int64_t)(value->u64 << shift) >> shift;
}

void wmk_probe_call(struct wmk_event *event, waymark_probe_fn fn, void *data, const uint64_t *words,
		    const struct waymark_ref *refs)
{
	union waymark_value values[WAYMARK_MAX_FIELDS + 1];
	const struct wmk_event_class *class = event->class;
	const char *at = (const char *)words;
	struct waymark_probe_record record = {
		.size = sizeof(record), .provider = class->provider, .name = class->name, .fields = event->probe_fields,
		.values = values, .n_fields = class->n_fields, .level = class->level,
	};

	for (unsigned i = 0; i < class->n_fields; i++) {
		const struct waymark_field *field = &event->probe_fields[i];
		const unsigned type = scalar_type(field);
		const uint32_t bytes = wmk_scalar_bytes(type);

		if (i == 0 && event->n_ops && event->ops[0].kind == WMK_OP_ZERO) {
			values[i].u64 = 0;
		} else if (bytes) {
			load_scalar(&values[i], type, bytes, at);
			at += bytes;
		} else {
			values[i].ref = *refs++;
			at = (const char *)words + ((size_t)(at - (const char *)words + 7) & ~(size_t)7);
		}
	}
	fn(&record, data);
}

/* Create the fields with their final names from the descriptor and its class. The event keeps them permanently. */
static int make_fields(struct wmk_event *event)
{
	const struct wmk_event_class *class = event->class;
	const struct waymark_desc *desc = event->descs[0];
	unsigned extra = class->n_fields - desc->n_fields;      /* `msg` of a text event */
	struct waymark_field *fields;

	if (event->probe_fields || class->n_fields > WAYMARK_MAX_FIELDS + 1 || extra > 1)
		return event->probe_fields ? 0 : -EINVAL;
	fields = calloc(class->n_fields ? class->n_fields : 1u, sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	for (unsigned i = 0; i < class->n_fields; i++) {
		if (i < extra)
			fields[i] = (struct waymark_field){ .type = WAYMARK_T_ENUM, .elem = WAYMARK_T_U8 };
		else if (desc->fields)
			fields[i] = (struct waymark_field){ .type = desc->fields[i - extra].type,
							    .elem = desc->fields[i - extra].elem,
							    .flags = desc->fields[i - extra].flags,
							    .count = desc->fields[i - extra].count };
		else
			fields[i] = (struct waymark_field){ .type = desc->arg_types[i - extra] };
		fields[i].flags |= WAYMARK_F_NAMED;
		fields[i].name = class->fields[i].name;
		fields[i].unit = class->fields[i].unit;
	}
	event->probe_fields = fields;
	return 0;
}

/* ── connecting ──────────────────────────────────────────────────────────────────────────────────────── */

static int attach(struct wmk_event *event, const struct connection *c)
{
	int err = wmk_event_is_loaded(event) ? make_fields(event) : 1;

	if (err)
		return err < 0 ? err : 0;
	if (!wmk_recorder_add_probe(event, c->fn, c->data))
		return -ENOMEM;
	wmk_patch_later(event);
	return 0;
}

void wmk_probes_attach(struct wmk_event *event)
{
	for (const struct connection *c = connections; c; c = c->next)
		if (c->name == event->name)
			attach(event, c);
}

static void detach(struct wmk_event *event, const struct connection *c)
{
	struct waymark_recorder *e, *next;

	for (e = event->chain; e; e = next) {
		next = e->next;
		if (e->probe == c->fn && e->data == c->data)
			wmk_recorder_remove(e);
	}
}

static struct connection **find_connection(const struct wmk_name *name, waymark_probe_fn fn, const void *data)
{
	struct connection **at;

	for (at = &connections; *at; at = &(*at)->next)
		if ((*at)->name == name && (*at)->fn == fn && (*at)->data == data)
			break;
	return at;
}

int wmk_probe_connect(struct wmk_name *name, waymark_probe_fn fn, void *data)
{
	int failed = 0;

	if (*find_connection(name, fn, data))
		return -EEXIST;
	struct connection *c = malloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	*c = (struct connection){ connections, name, fn, data };
	connections = c;
	wmk_tracer.n_probes++;
	for (struct wmk_event *e = name->events; e; e = e->next_of_name)
		if (attach(e, c) < 0)
			failed = -ENOMEM;
	return failed;
}

bool wmk_probe_disconnect(struct wmk_name *name, waymark_probe_fn fn, void *data)
{
	struct connection **at = find_connection(name, fn, data), *c = *at;

	if (!c)
		return false;
	*at = c->next;
	wmk_tracer.n_probes--;
	for (struct wmk_event *e = name->events; e; e = e->next_of_name)
		detach(e, c);
	free(c);
	return true;
}
