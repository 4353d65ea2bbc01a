/* SPDX-License-Identifier: MIT */
/*
 * result.c - results of requests as public structures.
 */
#include "ctl/connection.h"

#include "base/error.h"
#include "ctl/json.h"
#include "ctl/view.h"

#include <errno.h>
#include <stdlib.h>

static const struct wmk_member files_reply_members[] = {
	WMK_MEMBER(TEXTS, wmk_ctl_files_reply, files, 65536),
	WMK_MEMBER(TEXTS, wmk_ctl_files_reply, warnings, 65536),
	WMK_MEMBER(LIST, wmk_ctl_files_reply, unanswered, wmk_ctl_app_object, 65536),
	WMK_MEMBER(LIST, wmk_ctl_files_reply, sessions, wmk_ctl_session_object, 65536),
};
const struct wmk_object wmk_ctl_files_reply_object = WMK_OBJECT_OF("files", wmk_ctl_files_reply, files_reply_members);

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
	wmk_error(-ENOMEM, "no memory for a reply");
	return NULL;
}

static int finish_sessions(struct waymark_ctl_result *result, const struct wmk_list *list)
{
	int err = 0;

	result->sessions = wmk_ctl_view_list(&result->views, &wmk_ctl_session_object, list, &err);
	result->n_sessions = list->n;
	return err;
}

static int finish_listed(struct waymark_ctl_result *result, const struct wmk_ctl_sessions *listed)
{
	int err = 0;

	result->relays = wmk_ctl_view_list(&result->views, &wmk_ctl_relay_object, &listed->relays, &err);
	result->n_relays = listed->relays.n;
	return err < 0 ? err : finish_sessions(result, &listed->sessions);
}

static int finish_apps(struct waymark_ctl_result *result, const struct wmk_list *list,
		       const struct waymark_ctl_app_info ***apps, unsigned *n)
{
	int err = 0;

	*apps = wmk_ctl_view_list(&result->views, &wmk_ctl_app_object, list, &err);
	*n = list->n;
	return err;
}

/* Complete the result of a command, of save, or of load. */
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

	result->events = wmk_ctl_view_list(&result->views, &wmk_ctl_event_object, &kernel->events, &err);
	result->n_events = kernel->events.n;
	result->lacks = kernel->lacks.items;
	result->n_lacks = kernel->lacks.n;
	result->kernel_clock = kernel->clock;
	return err;
}

static int finish_version(struct waymark_ctl_result *result)
{
	int err = 0;

	result->version = wmk_ctl_view(&result->views, result->is, result->object, &err);
	return err;
}

static int finish_snapshot(struct waymark_ctl_result *result)
{
	const struct wmk_ctl_snapshot_reply *reply = result->object;
	int err = 0;

	result->warnings = reply->warnings.items;
	result->n_warnings = reply->warnings.n;
	result->snapshot = wmk_ctl_view(&result->views, result->is, result->object, &err);
	return err;
}

int wmk_ctl_result_finish(struct waymark_ctl_result *result)
{
	if (result->is == &wmk_ctl_sessions_object)
		return finish_listed(result, result->object);
	if (result->is == &wmk_ctl_apps_object)
		return finish_apps(result, &((struct wmk_ctl_apps *)result->object)->apps, &result->apps,
				   &result->n_apps);
	if (result->is == &wmk_ctl_kernel_object)
		return finish_kernel(result, result->object);
	if (result->is == &wmk_ctl_version_reply_object)
		return finish_version(result);
	if (result->is == &wmk_ctl_snapshot_reply_object)
		return finish_snapshot(result);
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

/* ── public functions ────────────────────────────────────────────────────────────────────────────────── */

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

unsigned waymark_ctl_result_relays(const struct waymark_ctl_result *result,
				   const struct waymark_ctl_relay_info *const **relays)
{
	*relays = result->relays;
	return result->n_relays;
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

const struct waymark_ctl_snapshot_info *waymark_ctl_result_snapshot(const struct waymark_ctl_result *result)
{
	return result->snapshot;
}

int waymark_ctl_result_json(const struct waymark_ctl_result *result, char **text)
{
	return wmk_json_text(result->is, result->object, 0, text);
}

int waymark_ctl_result_print_json(const struct waymark_ctl_result *result, FILE *to)
{
	return wmk_json_print(result->is, result->object, 0, to);
}
