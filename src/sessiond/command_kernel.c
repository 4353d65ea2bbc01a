/* SPDX-License-Identifier: MIT */
/*
 * command_kernel.c - list the kernel's events and the features that this kernel lacks.
 *
 *     catalog ── patterns ──► events ── format files ──► fields
 *                                    ── sessions that the client may use ──► enabled
 *
 * A system call has two kernel events (entry and exit), but the list has one event: provider "syscall", the name, the
 * arguments and the result. The list omits probes of sessions, because no pattern selects them.
 */
#include "sessiond/command_request.h"

#include "base/error.h"
#include "kernel/channel/missing_features.h"
#include "kernel/event/catalog.h"
#include "kernel/event/kernel_event.h"
#include "kernel/tracefs/instance.h"
#include "session/apps/app_describe.h"
#include "session/kernel/kernel_channel.h"
#include "session/kernel/kernel_probes.h"
#include "session/model/session_clock.h"
#include "session/model/session_model.h"
#include "session/model/session_tracefs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL "syscall"
#define FILE_MAX (2 * WMK_NAME_MAX + 16)

/* The catalog entries in the list, in the order of the events in the reply. */
struct kernel_listing {
	struct command_request *cmd;
	const struct wmk_tracefs *tracefs;
	const struct wmk_kcatalog *catalog;
	const struct wmk_kentry **entries;
};

/*
 * Return the exit event of the system call to which an entry event belongs. The function writes the name of the exit
 * event to the buffer `name`.
 */
static struct wmk_kentry exit_of(const struct wmk_kentry *entry, char name[WMK_NAME_MAX + 1])
{
	struct wmk_kentry exit = *entry;

	snprintf(name, WMK_NAME_MAX + 1, "sys_exit_%s", entry->call);
	exit.name = name;
	exit.is_exit = true;
	return exit;
}

/* ── selection ───────────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_ctl_list_kernel *asked(const struct kernel_listing *listing)
{
	return listing->cmd->request;
}

static struct wmk_ctl_event *event_at(const struct kernel_listing *listing, uint32_t i)
{
	struct wmk_ctl_kernel *reply = listing->cmd->reply;

	return (struct wmk_ctl_event *)reply->events.items + i;
}

static bool is_asked(const struct kernel_listing *listing, const struct wmk_kentry *entry)
{
	const struct wmk_list *patterns = &asked(listing)->patterns;
	char name[WMK_NAME_MAX + 1];

	for (uint32_t i = 0; i < patterns->n; i++) {
		if (wmk_kentry_fits(entry, wmk_list_text(patterns, i)))
			return true;
		if (entry->call) {
			const struct wmk_kentry exit = exit_of(entry, name);

			if (wmk_kentry_fits(&exit, wmk_list_text(patterns, i)))
				return true;
		}
	}
	return patterns->n == 0;
}

/* Return an error for a pattern that matches no event; the message contains similar names. */
static int patterns_check(const struct kernel_listing *listing)
{
	const struct wmk_list *patterns = &asked(listing)->patterns;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < patterns->n; i++) {
		err = wmk_pattern_check(wmk_list_text(patterns, i));
		if (err == 0)
			err = wmk_kcatalog_check(listing->catalog, wmk_list_text(patterns, i));
	}
	return err;
}

/* ── events and fields ───────────────────────────────────────────────────────────────────────────────── */

/* If the module of an event was unloaded, or the format of an event is unknown, the event has no fields in the list. */
static int fields_add(const struct kernel_listing *listing, const struct wmk_kentry *entry, struct wmk_ctl_event *is)
{
	struct wmk_kevent *event;
	int err = wmk_kevent_load(listing->tracefs->dir, entry->system, entry->name, &event);

	if (err < 0) {
		wmk_error_clear();
		return err == -ENOMEM ? err : 0;
	}
	err = wmk_fields_describe(event->class, is, &listing->cmd->arena);
	wmk_kevent_free(event);
	return err;
}

static int event_add(struct kernel_listing *listing, const struct wmk_kentry *entry)
{
	struct wmk_ctl_kernel *reply = listing->cmd->reply;
	struct wmk_arena *arena = &listing->cmd->arena;
	struct wmk_ctl_event *is = wmk_arena_append(arena, &reply->events, sizeof(*is));
	char file[FILE_MAX], name[WMK_NAME_MAX + 1];
	int err = 0;

	if (!is)
		return -ENOMEM;
	listing->entries[reply->events.n - 1] = entry;
	snprintf(file, sizeof(file), "events/%s/%s", entry->system, entry->name);
	is->provider = wmk_arena_text(arena, entry->call ? CALL : entry->system);
	is->name = wmk_arena_text(arena, entry->call ? entry->call : entry->trace);
	is->file = wmk_arena_text(arena, file);
	is->level = WAYMARK_LEVEL_INFO;          /* the level of every kernel event */
	if (!is->provider || !is->name || !is->file)
		return -ENOMEM;
	if (asked(listing)->fields)
		err = fields_add(listing, entry, is);
	if (err == 0 && asked(listing)->fields && entry->call) {
		const struct wmk_kentry exit = exit_of(entry, name);

		err = fields_add(listing, &exit, is);
	}
	return err;
}

/* ── enabled ─────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_recorded(const struct wmk_session *session, const struct wmk_kentry *entry)
{
	char name[WMK_NAME_MAX + 1];

	if (wmk_session_kernel_records(session, entry))
		return true;
	if (!entry->call)
		return false;
	const struct wmk_kentry exit = exit_of(entry, name);

	return wmk_session_kernel_records(session, &exit);
}

static int mark_recorded(const struct kernel_listing *listing)
{
	const struct wmk_ctl_kernel *reply = listing->cmd->reply;
	struct wmk_session **all;
	int n = wmk_command_request_sessions(listing->cmd, false, NULL, &all);

	for (int i = 0; i < n; i++) {
		if (wmk_session_lock(all[i]) == 0) {
			for (uint32_t k = 0; k < reply->events.n; k++)
				event_at(listing, k)->enabled =
					event_at(listing, k)->enabled || is_recorded(all[i], listing->entries[k]);
			wmk_session_unlock(all[i]);
		} else {
			wmk_error_clear();       /* the session was destroyed after it was found */
		}
		wmk_session_put(all[i]);
	}
	if (n >= 0)
		free(all);
	return n < 0 ? n : 0;
}

static int list_events(struct kernel_listing *listing)
{
	int err = 0;

	for (size_t i = 0; i < wmk_kcatalog_size(listing->catalog) && err == 0; i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(listing->catalog, i);

		if (!entry->is_exit && !wmk_kentry_is_probe(entry) && is_asked(listing, entry))
			err = event_add(listing, entry);
	}
	return err < 0 ? err : mark_recorded(listing);
}

/* ── missing features ────────────────────────────────────────────────────────────────────────────────── */

/*
 * To find missing features, the function uses a tracefs instance with an empty session name. This tracefs instance
 * cannot belong to a channel, because session names are never empty. One caller at a time.
 */
static int lacks_find(const struct kernel_listing *listing, struct wmk_kmissing *lacks)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	static bool arguments_work;      /* the test of arguments, which takes longest, has succeeded before: skip it */
	struct wmk_tracing *tracing = listing->cmd->commands->tracing;
	const enum wmk_clock_kind clock = wmk_clock_default(tracing);
	char name[WMK_KINSTANCE_NAME];
	int err = wmk_kinstance_name(tracing->kernel_owner, "", "lacks", name);

	if (err < 0)
		return err;
	pthread_mutex_lock(&one_at_a_time);
	err = wmk_kmissing_find(listing->tracefs, name, clock, !arguments_work, lacks);
	arguments_work = arguments_work || (err == 0 && lacks->err[WMK_KFEATURE_ARGUMENTS] == 0);
	pthread_mutex_unlock(&one_at_a_time);
	return err;
}

static int list_lacks(const struct kernel_listing *listing)
{
	struct wmk_ctl_kernel *reply = listing->cmd->reply;
	struct wmk_kmissing lacks;
	char words[2 * WMK_KMISSING_TEXT];
	int err = lacks_find(listing, &lacks);

	for (unsigned i = 0; i < WMK_KFEATURES && err == 0; i++) {
		if (!wmk_kmissing_text(&lacks, (enum wmk_kfeature)i, words, sizeof(words)))
			continue;
		const char *copy = wmk_arena_text(&listing->cmd->arena, words);
		const char **at = copy ? wmk_arena_append(&listing->cmd->arena, &reply->lacks, sizeof(*at)) : NULL;

		if (at)
			*at = copy;
		else
			err = -ENOMEM;
	}
	return err;
}

/* ── the command ─────────────────────────────────────────────────────────────────────────────────────── */

int wmk_command_list_kernel(struct command_request *cmd)
{
	struct wmk_tracing *tracing = cmd->commands->tracing;
	struct wmk_ctl_kernel *reply = cmd->reply;
	struct kernel_listing listing = { .cmd = cmd };
	const char *clock = wmk_kinstance_clock(wmk_clock_default(tracing));
	struct wmk_tracefs *tracefs;
	struct wmk_kcatalog *catalog;
	int err = wmk_kernel_tracefs(tracing, &tracefs);

	if (err == 0)
		err = wmk_kcatalog_open(tracefs, &catalog);
	if (err < 0)
		return err;
	reply->clock = clock ? clock : "";
	listing.tracefs = tracefs;
	listing.catalog = catalog;
	listing.entries = calloc(wmk_kcatalog_size(catalog) + 1, sizeof(struct wmk_kentry *));
	err = listing.entries ? patterns_check(&listing)
			      : wmk_error(-ENOMEM, "no memory to list the kernel's events");
	if (err == 0)
		err = list_events(&listing);
	free(listing.entries);
	wmk_kcatalog_close(catalog);
	if (err == 0 && asked(&listing)->lacks)
		err = list_lacks(&listing);
	return err;
}
