/* SPDX-License-Identifier: MIT */
/*
 * result.c - what a request answered, as users see it: structures that may grow in later versions, each by a pointer of
 * its own, so that no program depends on their size. They share the strings of the object that came over the wire.
 */
#include "ctl/connection.h"

#include "base/error.h"
#include "ctl/json.h"
#include "wire/unrecorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct wmk_member files_reply_members[] = {
	WMK_MEMBER_OF_TEXTS(wmk_ctl_files_reply, files, 65536),
	WMK_MEMBER_OF_TEXTS(wmk_ctl_files_reply, warnings, 65536),
	WMK_MEMBER_OF_LIST(wmk_ctl_files_reply, unanswered, wmk_ctl_app_object, 65536),
	WMK_MEMBER_OF_LIST(wmk_ctl_files_reply, sessions, wmk_ctl_session_object, 65536),
};
const struct wmk_object wmk_ctl_files_reply_object = WMK_OBJECT_OF("files", wmk_ctl_files_reply, files_reply_members);

/* ── views ───────────────────────────────────────────────────────────────────────────────────────────── */

typedef int (*fill)(struct wmk_arena *arena, const void *from, void *to);

/*
 * For each element of the list (`from_size` bytes) a structure of `to_size` bytes, and an array of pointers to them.
 * NULL for an empty list; *err is set when there is no memory.
 */
static void *view_list(struct wmk_arena *arena, const struct wmk_list *list, size_t from_size, size_t to_size, fill one,
		       int *err)
{
	const uint8_t *from = list->items;

	if (*err < 0 || list->n == 0)
		return NULL;
	void **pointers = wmk_arena_alloc(arena, list->n * sizeof(*pointers));
	uint8_t *to = pointers ? wmk_arena_alloc(arena, list->n * to_size) : NULL;
	if (!to) {
		*err = -ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; *err == 0 && i < list->n; i++) {
		pointers[i] = to + i * to_size;
		*err = one(arena, from + i * from_size, pointers[i]);
	}
	return pointers;
}

/* The public structure is written by hand, and has each count. */
enum {
	N_COUNTS = 0
#define WMK_COUNT(name) + 1
#include "wire/counts.def"
};
_Static_assert(sizeof(struct waymark_ctl_counts) == N_COUNTS * sizeof(uint64_t), "one member for each count");

static const struct waymark_ctl_counts *view_counts(struct wmk_arena *arena, const struct wmk_counts *c)
{
	struct waymark_ctl_counts *to = wmk_arena_alloc(arena, sizeof(*to));

	if (to) {
#define WMK_COUNT(name) to->name = c->name;
#include "wire/counts.def"
	}
	return to;
}

static int view_rule(struct wmk_arena *arena, const void *from, void *to)
{
	const struct wmk_ctl_rule *r = from;

	(void)arena;
	*(struct waymark_ctl_rule_info *)to = (struct waymark_ctl_rule_info){
		.pattern = r->pattern,
		.exclusions = r->exclusions.items,
		.n_exclusions = r->exclusions.n,
		.level_op = r->level_op,
		.level = r->level,
		.level_to = r->level_to,
		.enabled = r->enabled,
		.matched = r->matched,
		.filter = r->filter,
		.probe = r->probe,
		.place = r->place,
	};
	return 0;
}

static int view_channel(struct wmk_arena *arena, const void *from, void *to)
{
	const struct wmk_ctl_channel *c = from;
	struct waymark_ctl_channel_info *view = to;
	int err = 0;

	*view = (struct waymark_ctl_channel_info){
		.name = c->name,
		.domain = c->domain.kind,
		.follow = c->domain.follow,
		.pid = c->domain.pid,
		.exec = c->domain.exec,
		.mode = c->mode,
		.buffers = c->buffers,
		.subbuf_size = c->subbuf_size,
		.n_subbufs = c->n_subbufs,
		.blocking_us = c->blocking_us,
		.field_limit = c->field_limit,
		.tracefile_size = c->tracefile_size,
		.tracefile_count = c->tracefile_count,
		.enabled = c->enabled,
		.contexts = c->contexts.items,
		.n_contexts = c->contexts.n,
		.rules = view_list(arena, &c->rules, sizeof(struct wmk_ctl_rule), sizeof(struct waymark_ctl_rule_info),
				   view_rule, &err),
		.n_rules = c->rules.n,
		.counts = view_counts(arena, &c->counts),
		.call_arguments = c->call_arguments,
		.calls_by = c->calls_by,
		.calls_why = c->calls_why,
	};
	return err < 0 || !view->counts ? -ENOMEM : 0;
}

static const struct waymark_ctl_trackers *view_trackers(struct wmk_arena *arena, const struct wmk_ctl_trackers *t)
{
	struct waymark_ctl_trackers *to = wmk_arena_alloc(arena, sizeof(*to));

	if (to)
		*to = (struct waymark_ctl_trackers){
			.pid = t->pid,
			.uid = t->uid,
			.gid = t->gid,
			.pids = t->pids.items,
			.uids = t->uids.items,
			.gids = t->gids.items,
			.n_pids = t->pids.n,
			.n_uids = t->uids.n,
			.n_gids = t->gids.n,
			.kernel_pid = t->kernel_pid,
			.kernel_pids = t->kernel_pids.items,
			.n_kernel_pids = t->kernel_pids.n,
		};
	return to;
}

static int view_unrecorded(struct wmk_arena *arena, const void *from, void *to)
{
	const struct wmk_ctl_unrecorded *u = from;

	(void)arena;
	*(struct waymark_ctl_unrecorded *)to = (struct waymark_ctl_unrecorded){
		.pid = u->pid, .uid = u->uid, .name = u->name, .reason = wmk_unrecorded_names[u->reason], .why = u->why,
		.in_part = u->in_part,
	};
	return 0;
}

static int view_session(struct wmk_arena *arena, const void *from, void *to)
{
	const struct wmk_ctl_session *s = from;
	struct waymark_ctl_session_info *view = to;
	int err = 0;

	*view = (struct waymark_ctl_session_info){
		.name = s->name,
		.path = s->path,
		.uid = s->uid,
		.gid = s->gid,
		.created = s->created,
		.active = s->active,
		.started = s->started,
		.n_channels = s->channels.n,
		.channels = view_list(arena, &s->channels, sizeof(struct wmk_ctl_channel),
				      sizeof(struct waymark_ctl_channel_info), view_channel, &err),
		.trackers = view_trackers(arena, &s->trackers),
		.counts = view_counts(arena, &s->counts),
		.max_size = s->settings.max_size,
		.full = s->full,
		.stopping = s->stopping,
		.trace_format = s->settings.trace_format,
		.clock = s->settings.clock,
		.no_statedump = s->settings.no_statedump,
		.shm_path = s->settings.shm_path,
		.description = s->settings.description,
		.unrecorded = view_list(arena, &s->unrecorded, sizeof(struct wmk_ctl_unrecorded),
					sizeof(struct waymark_ctl_unrecorded), view_unrecorded, &err),
		.n_unrecorded = s->unrecorded.n,
		.unrecorded_more = s->unrecorded_more,
	};
	return err < 0 || !view->trackers || !view->counts ? -ENOMEM : 0;
}

static int view_field(struct wmk_arena *arena, const void *from, void *to)
{
	const struct wmk_ctl_field *f = from;

	(void)arena;
	*(struct waymark_ctl_field_info *)to = (struct waymark_ctl_field_info){ .name = f->name, .type = f->type, .unit = f->unit };
	return 0;
}

static int view_event(struct wmk_arena *arena, const void *from, void *to)
{
	const struct wmk_ctl_event *e = from;
	int err = 0;

	*(struct waymark_ctl_event_info *)to = (struct waymark_ctl_event_info){
		.provider = e->provider,
		.name = e->name,
		.kind = e->kind,
		.level = e->level,
		.file = e->file,
		.line = e->line,
		.enabled = e->enabled,
		.n_fields = e->fields.n,
		.fields = view_list(arena, &e->fields, sizeof(struct wmk_ctl_field),
				    sizeof(struct waymark_ctl_field_info), view_field, &err),
	};
	return err;
}

static int view_app(struct wmk_arena *arena, const void *from, void *to)
{
	const struct wmk_ctl_app *a = from;
	int err = 0;

	*(struct waymark_ctl_app_info *)to = (struct waymark_ctl_app_info){
		.pid = a->pid,
		.uid = a->uid,
		.gid = a->gid,
		.name = a->name,
		.exe = a->exe,
		.connected = a->connected,
		.n_known = a->n_events,
		.why = a->why,
		.n_events = a->events.n,
		.events = view_list(arena, &a->events, sizeof(struct wmk_ctl_event),
				    sizeof(struct waymark_ctl_event_info), view_event, &err),
	};
	return err;
}

/* ── results ─────────────────────────────────────────────────────────────────────────────────────────── */

struct waymark_ctl_result *wmk_ctl_result_new(const struct wmk_object *is)
{
	struct waymark_ctl_result *result = calloc(1, sizeof(*result));

	if (result) {
		result->is = is;
		result->object = wmk_arena_alloc(&result->objects, is->size);
	}
	if (result && result->object)
		return result;
	waymark_ctl_result_free(result);
	wmk_error(-ENOMEM, "no memory for an answer");
	return NULL;
}

static int finish_sessions(struct waymark_ctl_result *result, const struct wmk_list *list)
{
	int err = 0;

	result->sessions = view_list(&result->views, list, sizeof(struct wmk_ctl_session),
				     sizeof(struct waymark_ctl_session_info), view_session, &err);
	result->n_sessions = list->n;
	return err;
}

static int finish_apps(struct waymark_ctl_result *result, const struct wmk_list *list,
		       const struct waymark_ctl_app_info ***apps, unsigned *n)
{
	int err = 0;

	*apps = view_list(&result->views, list, sizeof(struct wmk_ctl_app), sizeof(struct waymark_ctl_app_info), view_app, &err);
	*n = list->n;
	return err;
}

/* What commands answer, and, with files, saving and loading. */
static int finish_outcome(struct waymark_ctl_result *result, const struct wmk_list *sessions,
			  const struct wmk_list *unanswered, const struct wmk_list *warnings)
{
	result->warnings = warnings->items;
	result->n_warnings = warnings->n;
	int err = finish_sessions(result, sessions);
	return err < 0 ? err : finish_apps(result, unanswered, &result->unanswered, &result->n_unanswered);
}

static int finish_kernel(struct waymark_ctl_result *result, const struct wmk_ctl_kernel *kernel)
{
	int err = 0;

	result->events = view_list(&result->views, &kernel->events, sizeof(struct wmk_ctl_event),
				   sizeof(struct waymark_ctl_event_info), view_event, &err);
	result->n_events = kernel->events.n;
	result->lacks = kernel->lacks.items;
	result->n_lacks = kernel->lacks.n;
	result->kernel_clock = kernel->clock;
	return err;
}

static int finish_version(struct waymark_ctl_result *result, const struct wmk_ctl_version_reply *v)
{
	struct waymark_ctl_version_info *to = wmk_arena_alloc(&result->views, sizeof(*to));

	if (!to)
		return -ENOMEM;
	*to = (struct waymark_ctl_version_info){
		.version = v->version, .pid = v->pid, .uid = v->uid, .started = v->started, .rundir = v->rundir,
	};
	result->version = to;
	return 0;
}

int wmk_ctl_result_finish(struct waymark_ctl_result *result)
{
	if (result->is == &wmk_ctl_sessions_object)
		return finish_sessions(result, &((struct wmk_ctl_sessions *)result->object)->sessions);
	if (result->is == &wmk_ctl_apps_object)
		return finish_apps(result, &((struct wmk_ctl_apps *)result->object)->apps, &result->apps,
				   &result->n_apps);
	if (result->is == &wmk_ctl_kernel_object)
		return finish_kernel(result, result->object);
	if (result->is == &wmk_ctl_version_reply_object)
		return finish_version(result, result->object);
	if (result->is == &wmk_ctl_outcome_object) {
		const struct wmk_ctl_outcome *o = result->object;

		return finish_outcome(result, &o->sessions, &o->unanswered, &o->warnings);
	}
	if (result->is == &wmk_ctl_files_reply_object) {
		const struct wmk_ctl_files_reply *f = result->object;

		result->files = f->files.items;
		result->n_files = f->files.n;
		return finish_outcome(result, &f->sessions, &f->unanswered, &f->warnings);
	}
	return 0;
}

int wmk_ctl_files_add_text(struct waymark_ctl_result *result, struct wmk_list *list, const char *text)
{
	const char *copy = wmk_arena_text(&result->objects, text);
	const char **element = copy ? wmk_arena_append(&result->objects, list, sizeof(*element)) : NULL;

	if (!element)
		return -ENOMEM;
	*element = copy;
	return 0;
}

int wmk_ctl_files_add_outcome(struct waymark_ctl_result *result, const struct waymark_ctl_result *of)
{
	struct wmk_ctl_files_reply *filed = result->object;
	const struct wmk_ctl_outcome *o = of->object;
	const struct wmk_ctl_app *apps = o->unanswered.items;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < o->warnings.n; i++)
		err = wmk_ctl_files_add_text(result, &filed->warnings, ((const char *const *)o->warnings.items)[i]);
	for (uint32_t i = 0; err == 0 && i < o->unanswered.n; i++) {
		struct wmk_ctl_app *to = wmk_arena_append(&result->objects, &filed->unanswered, sizeof(*to));

		err = to ? wmk_object_copy(&wmk_ctl_app_object, &apps[i], to, &result->objects) : -ENOMEM;
	}
	return err;
}

/* ── what users call ─────────────────────────────────────────────────────────────────────────────────── */

void waymark_ctl_result_free(struct waymark_ctl_result *result)
{
	if (!result)
		return;
	wmk_arena_free(&result->objects);
	wmk_arena_free(&result->views);
	free(result);
}

unsigned waymark_ctl_result_sessions(const struct waymark_ctl_result *result,
				     const struct waymark_ctl_session_info *const **sessions)
{
	*sessions = result->sessions;
	return result->n_sessions;
}

unsigned waymark_ctl_result_apps(const struct waymark_ctl_result *result,
				 const struct waymark_ctl_app_info *const **apps)
{
	*apps = result->apps;
	return result->n_apps;
}

unsigned waymark_ctl_result_events(const struct waymark_ctl_result *result,
				   const struct waymark_ctl_event_info *const **events)
{
	*events = result->events;
	return result->n_events;
}

unsigned waymark_ctl_result_lacks(const struct waymark_ctl_result *result, const char *const **lacks)
{
	*lacks = result->lacks;
	return result->n_lacks;
}

const char *waymark_ctl_result_kernel_clock(const struct waymark_ctl_result *result)
{
	return result->kernel_clock;
}

unsigned waymark_ctl_result_unanswered(const struct waymark_ctl_result *result,
				       const struct waymark_ctl_app_info *const **apps)
{
	*apps = result->unanswered;
	return result->n_unanswered;
}

unsigned waymark_ctl_result_warnings(const struct waymark_ctl_result *result, const char *const **warnings)
{
	*warnings = result->warnings;
	return result->n_warnings;
}

unsigned waymark_ctl_result_files(const struct waymark_ctl_result *result, const char *const **files)
{
	*files = result->files;
	return result->n_files;
}

const struct waymark_ctl_version_info *waymark_ctl_result_version(const struct waymark_ctl_result *result)
{
	return result->version;
}

int waymark_ctl_result_json(const struct waymark_ctl_result *result, char **text)
{
	return wmk_json_text(result->is, result->object, 0, text);
}

int waymark_ctl_result_print_json(const struct waymark_ctl_result *result, FILE *to)
{
	return wmk_json_print(result->is, result->object, 0, to);
}
