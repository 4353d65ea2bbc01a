/* SPDX-License-Identifier: MIT */
/* app_describe.c - describe applications and their events for the protocol (wire/ctl.h). */
#include "session/apps/app_describe.h"

#include "session/apps/app_channels.h"
#include "session/apps/tracker.h"
#include "session/model/class_table.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_SHOWN 1000u             /* the last bytes of a source file's path */

static void scalar_text(const struct wmk_type *type, char *buf, size_t size)
{
	const char *order = type->order == WMK_ORDER_BIG ? "be" : "";

	switch (type->kind) {
	case WMK_TYPE_INT:
		snprintf(buf, size, "%s%u%s%s", type->is_signed ? "s" : "u", type->width, order,
			 type->base == 16 ? " (hex)" : "");
		break;
	case WMK_TYPE_FLOAT:
		snprintf(buf, size, "%s", type->width == 32 ? "float" : "double");
		break;
	case WMK_TYPE_BOOL:
		snprintf(buf, size, "bool");
		break;
	case WMK_TYPE_ENUM:
		snprintf(buf, size, "enum of %u", type->count);
		break;
	case WMK_TYPE_FLAGS:
		snprintf(buf, size, "flags of %u", type->count);
		break;
	default:
		snprintf(buf, size, "%s",
			 type->kind == WMK_TYPE_STRING ? "string"
			 : type->kind == WMK_TYPE_BLOB ? "bytes"
						       : "structure");
	}
}

static void type_text(const struct wmk_type *type, char *buf, size_t size)
{
	char elem[64];

	if (type->kind != WMK_TYPE_ARRAY && type->kind != WMK_TYPE_SEQUENCE) {
		scalar_text(type, buf, size);
		return;
	}
	if (type->is_text)
		snprintf(elem, sizeof(elem), "char");
	else
		scalar_text(type->elem, elem, sizeof(elem));
	if (type->kind == WMK_TYPE_ARRAY)
		snprintf(buf, size, "%s[%u]", elem, type->count);
	else
		snprintf(buf, size, "%s[]", elem);
}

int wmk_fields_describe(const struct wmk_event_class *event, struct wmk_ctl_event *is, struct wmk_arena *arena)
{
	char text[96];

	for (unsigned i = 0; i < event->n_fields; i++) {
		struct wmk_ctl_field *field = wmk_arena_append(arena, &is->fields, sizeof(*field));

		if (!field)
			return -ENOMEM;
		type_text(&event->fields[i].type, text, sizeof(text));
		field->name = wmk_arena_text(arena, event->fields[i].name);
		field->type = wmk_arena_text(arena, text);
		field->unit = wmk_arena_text(arena, event->fields[i].unit ? event->fields[i].unit : "");
		if (!field->name || !field->type || !field->unit)
			return -ENOMEM;
	}
	return 0;
}

static int class_describe(const struct wmk_event_class *event, struct wmk_ctl_event *is, struct wmk_arena *arena)
{
	/* A long path must not make the whole list fail. */
	const char *file = event->file ? event->file : "";
	const size_t len = strlen(file);

	*is = (struct wmk_ctl_event){
		.provider = wmk_arena_text(arena, event->provider),
		.name = wmk_arena_text(arena, event->name),
		.file = wmk_arena_text(arena, len > FILE_SHOWN ? file + len - FILE_SHOWN : file),
		.kind = event->kind,
		.level = event->level,
		.line = event->line,
	};
	return is->provider && is->name && is->file ? wmk_fields_describe(event, is, arena) : -ENOMEM;
}

static bool is_asked(const struct app *app, uint32_t number, const char *pattern)
{
	const struct class *class = app->events[number].class;

	return class && !class->own &&
	       (!pattern || !*pattern || wmk_pattern_match(pattern, class->event->provider, class->event->name));
}

/* Applications of one build have the same classes: a class is described once, and the strings are shared. */
static int event_describe(const struct app *app, uint32_t number, const struct wmk_describing *how,
			  struct wmk_ctl_event *made)
{
	const struct class *class = app->events[number].class;
	struct wmk_described *known = &how->known[class->serial % WMK_DESCRIBED];

	if (known->class != class) {
		const int err = class_describe(class->event, &known->is, how->arena);

		known->class = err < 0 ? NULL : class;
		if (err < 0)
			return err;
	}
	*made = known->is;
	made->enabled = wmk_app_event_is_enabled(app, number, how->enabled_by);
	return 0;
}

static int events_describe(const struct app *app, const struct wmk_describing *how, struct wmk_ctl_app *is)
{
	const char *pattern = how->what->pattern;
	uint32_t n = 0;
	int err;

	for (uint32_t i = 0; i < app->n_events; i++)
		n += is_asked(app, i, pattern);
	err = wmk_arena_list(how->arena, &is->events, n, sizeof(struct wmk_ctl_event));
	for (uint32_t i = 0, at = 0; err == 0 && i < app->n_events; i++)
		if (is_asked(app, i, pattern))
			err = event_describe(app, i, how, (struct wmk_ctl_event *)is->events.items + at++);
	return err;
}

int wmk_app_describe(struct app *app, const struct wmk_describing *how, struct wmk_ctl_app *is)
{
	struct wmk_arena *arena = how->arena;

	*is = (struct wmk_ctl_app){
		.pid = (uint64_t)app->pid, .uid = app->uid, .gid = app->gid, .start_time = wmk_app_start_time(app),
		.name = wmk_arena_text(arena, app->name), .exe = wmk_arena_text(arena, wmk_app_exe(app)),
		.connected = app->socket >= 0,
		.why = wmk_arena_text(arena, app->record && app->record->info.why ? app->record->info.why : ""),
	};
	if (!is->name || !is->exe || !is->why)
		return -ENOMEM;
	for (uint32_t i = 0; i < app->n_events; i++)
		is->n_events += app->events[i].class && !app->events[i].class->own;
	return how->known ? events_describe(app, how, is) : 0;
}
