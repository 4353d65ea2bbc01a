/* SPDX-License-Identifier: MIT */
/*
 * probe.c - callbacks of the program's own on its events: waymark_connect(), waymark_disconnect(). See
 * include/waymark/runtime.h.
 *
 * A probe is a recorder without a ring. The list of connections is kept by name, so that an event which comes later (a
 * library) finds its probes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tracer/helper_control.h"
#include "tracer/tracer.h"

#define LEAVE_NS 5000000000u            /* for those who are in the middle of something ... */
/* ... of which one sleep counts so much at most: this process may have been stopped */
#define LEAVE_STEP_NS 10000000u
#define LEAVE_PAUSE_NS 20000

struct connection {
	struct connection *next;
	struct wmk_name *name;
	waymark_probe_fn fn;
	void *data;
};

static struct connection *connections;

/* ── what a probe sees ───────────────────────────────────────────────────────────────────────────────── */

static unsigned scalar_type(const struct waymark_field *field)
{
	return field->type == WAYMARK_T_ENUM || field->type == WAYMARK_T_FLAGS ? field->elem : field->type;
}

static bool is_ref(unsigned type)
{
	return type == WAYMARK_T_STRING || type == WAYMARK_T_TEXT || type == WAYMARK_T_BYTES || type == WAYMARK_T_SEQ ||
	       type == WAYMARK_T_ARRAY;
}

static void load_scalar(union waymark_value *value, unsigned type, const void *from)
{
	int8_t s8;
	int16_t s16;
	int32_t s32;

	value->u64 = 0;
	switch (type) {
	case WAYMARK_T_S8:
		memcpy(&s8, from, 1);
		value->s64 = s8;
		break;
	case WAYMARK_T_S16:
		memcpy(&s16, from, 2);
		value->s64 = s16;
		break;
	case WAYMARK_T_S32:
		memcpy(&s32, from, 4);
		value->s64 = s32;
		break;
	default:
		memcpy(value, from, wmk_scalar_bytes(type));
	}
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
		unsigned type = scalar_type(field);

		if (i == 0 && event->n_ops && event->ops[0].kind == WMK_OP_ZERO) {
			values[i].u64 = 0;
		} else if (is_ref(type)) {
			values[i].ref = *refs++;
			at = (const char *)words + ((size_t)(at - (const char *)words + 7) & ~(size_t)7);
		} else {
			load_scalar(&values[i], type, at);
			at += wmk_scalar_bytes(type);
		}
	}
	fn(&record, data);
}

/* Fields with final names, from the descriptor and the class that was made of it. Kept with the event for ever. */
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

/* "provider:name" → its name, made if need be; NULL with *err. */
static struct wmk_name *find_name(const char *event, bool make, int *err)
{
	const char *colon = event ? strchr(event, ':') : NULL;
	struct wmk_name *name = NULL;

	*err = -EINVAL;
	if (!colon || colon == event || !colon[1] || colon - event > WMK_NAME_MAX || strlen(colon + 1) > WMK_NAME_MAX)
		return NULL;
	char *provider = strndup(event, (size_t)(colon - event));

	if (provider)
		name = wmk_name_get(provider, colon + 1, make);
	*err = make ? -ENOMEM : -ENOENT;
	free(provider);
	return name;
}

static struct connection **find_connection(const struct wmk_name *name, waymark_probe_fn fn, const void *data)
{
	struct connection **at;

	for (at = &connections; *at; at = &(*at)->next)
		if ((*at)->name == name && (*at)->fn == fn && (*at)->data == data)
			break;
	return at;
}

static int connect_locked(const char *event, waymark_probe_fn fn, void *data)
{
	int err, failed = 0;
	struct wmk_name *name = find_name(event, true, &err);

	if (!name)
		return err;
	if (*find_connection(name, fn, data))
		return -EEXIST;
	struct connection *c = malloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	wmk_modules_scan();
	*c = (struct connection){ connections, name, fn, data };
	connections = c;
	wmk_tracer.n_probes++;
	for (struct wmk_event *e = name->events; e; e = e->next_of_name)
		if (attach(e, c) < 0)
			failed = -ENOMEM;
	wmk_patch_flush();
	return failed;
}

int WMK_EXPORT waymark_connect(const char *event, waymark_probe_fn fn, void *data)
{
	int err;

	if (!fn)
		return -EINVAL;
	wmk_tracer_init();
	if (wmk_tracer.disabled)
		return 0;
	wmk_lock();
	err = connect_locked(event, fn, data);
	wmk_unlock();
	return err;
}

int WMK_EXPORT waymark_disconnect(const char *event, waymark_probe_fn fn, void *data)
{
	int err = -ENOENT;

	if (!fn)
		return -EINVAL;
	if (wmk_thread.in_probe)
		return -EDEADLK;
	if (wmk_tracer.disabled)
		return 0;
	wmk_lock();
	struct wmk_name *name = find_name(event, false, &err);
	struct connection **at = name ? find_connection(name, fn, data) : NULL, *c = at ? *at : NULL;

	if (!c) {
		wmk_unlock();
		return name ? -ENOENT : err;
	}
	*at = c->next;
	wmk_tracer.n_probes--;
	for (struct wmk_event *e = name->events; e; e = e->next_of_name)
		detach(e, c);
	wmk_patch_flush();
	free(c);
	/* what was taken out now may wait for a second turn of the grace period: each call ends the one before */
	bool over = wmk_reclaim();

	for (uint64_t waited = 0; waited < LEAVE_NS && !over;) {
		uint64_t before = wmk_clock_monotonic(), took;

		wmk_unlock();
		wmk_pause(LEAVE_PAUSE_NS);
		wmk_lock();
		over = wmk_reclaim();
		took = wmk_clock_monotonic() - before;
		waited += took < LEAVE_STEP_NS ? took : LEAVE_STEP_NS;
	}
	wmk_unlock();
	return over ? 0 : -ETIMEDOUT;
}
