/* SPDX-License-Identifier: MIT */
/*
 * catalog.c - the kernel's list of events (available_events) with their names in traces (see catalog.h).
 */
#include "kernel/event/catalog.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/event/event_names.h"

#define CALL "syscall:"

struct wmk_kcatalog {
	char *text;                      /* content of the file, split in place; the names point into it */
	char *traces;                    /* buffer of the names in traces, one after the other */
	struct wmk_kentry *entries;
	size_t n;
};

/* Returns an upper bound of the number of events: the file has a line "system:name" for each event. */
static size_t lines_of(char *text)
{
	size_t n = 0;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		n++;
	return n + 1;
}

static int by_trace(const void *a, const void *b)
{
	const struct wmk_kentry *x = a, *y = b;
	int order = strcmp(x->trace, y->trace);

	return order ? order : strcmp(x->system, y->system);
}

/* Returns false if the event's name in traces is too long. */
static bool entry_fill(struct wmk_kentry *entry, char *trace)
{
	entry->trace = trace;
	if (!wmk_kname_event(entry->system, entry->name, trace))
		return false;
	if (strcmp(entry->system, "syscalls") == 0 && strncmp(entry->name, "sys_enter_", 10) == 0) {
		entry->call = entry->name + 10;
	} else if (strcmp(entry->system, "syscalls") == 0 && strncmp(entry->name, "sys_exit_", 9) == 0) {
		entry->call = entry->name + 9;
		entry->is_exit = true;
	}
	return true;
}

static int entries_fill(struct wmk_kcatalog *catalog)
{
	const size_t lines = lines_of(catalog->text);
	char *line, *rest = catalog->text, *at;

	catalog->entries = calloc(lines, sizeof(*catalog->entries));
	/* an upper bound suffices: pages that are never written take no memory */
	catalog->traces = at = malloc(lines * (WMK_NAME_MAX + 1));
	if (!catalog->entries || !catalog->traces)
		return wmk_error(-ENOMEM, "no memory for the list of the kernel's events");
	while ((line = strsep(&rest, "\n"))) {
		char *colon = strchr(line, ':');
		struct wmk_kentry *entry = &catalog->entries[catalog->n];

		if (!colon || colon == line || !colon[1])
			continue;
		*colon = '\0';
		*entry = (struct wmk_kentry){ .system = line, .name = colon + 1 };
		if (!entry_fill(entry, at))
			continue;
		at += strlen(at) + 1;
		catalog->n++;
	}
	qsort(catalog->entries, catalog->n, sizeof(*catalog->entries), by_trace);
	return 0;
}

int wmk_kcatalog_open(const struct wmk_tracefs *tracefs, struct wmk_kcatalog **result)
{
	struct wmk_kcatalog *catalog = calloc(1, sizeof(*catalog));
	size_t len;
	int err;

	if (!catalog)
		return wmk_error(-ENOMEM, "no memory for the list of the kernel's events");
	err = wmk_tracefs_read(tracefs->dir, "available_events", &catalog->text, &len);
	if (err == 0)
		err = entries_fill(catalog);
	if (err < 0) {
		wmk_kcatalog_close(catalog);
		return wmk_error_add(err, "cannot list the kernel's events");
	}
	*result = catalog;
	return 0;
}

void wmk_kcatalog_close(struct wmk_kcatalog *catalog)
{
	if (!catalog)
		return;
	free(catalog->entries);
	free(catalog->traces);
	free(catalog->text);
	free(catalog);
}

size_t wmk_kcatalog_size(const struct wmk_kcatalog *catalog)
{
	return catalog->n;
}

const struct wmk_kentry *wmk_kcatalog_at(const struct wmk_kcatalog *catalog, size_t i)
{
	return &catalog->entries[i];
}

/* ── patterns ────────────────────────────────────────────────────────────────────────────────────────── */

bool wmk_kentry_fits(const struct wmk_kentry *entry, const char *pattern)
{
	if (strncmp(pattern, CALL, strlen(CALL)) == 0)
		return entry->call && fnmatch(pattern + strlen(CALL), entry->call, 0) == 0;
	return wmk_kname_matches(pattern, entry->system, entry->name);
}

size_t wmk_kcatalog_count(const struct wmk_kcatalog *catalog, const char *pattern)
{
	size_t n = 0;

	for (size_t i = 0; i < catalog->n; i++)
		n += wmk_kentry_fits(&catalog->entries[i], pattern);
	return n;
}

static bool has_calls(const struct wmk_kcatalog *catalog)
{
	for (size_t i = 0; i < catalog->n; i++)
		if (catalog->entries[i].call)
			return true;
	return false;
}

int wmk_kcatalog_check(const struct wmk_kcatalog *catalog, const char *pattern)
{
	const bool call = strncmp(pattern, CALL, strlen(CALL)) == 0;
	const char *colon = strchr(pattern, ':'), *word = colon ? colon + 1 : pattern;
	struct wmk_nearest near;
	char names[120];

	if (wmk_kcatalog_count(catalog, pattern))
		return 0;
	if (call && !has_calls(catalog))
		return wmk_errorx(-ENOENT, "this kernel has no system call events: it is built without "
					   "CONFIG_FTRACE_SYSCALLS");
	wmk_nearest_init(&near, word);
	for (size_t i = 0; i < catalog->n; i++)
		wmk_nearest_offer(&near, call ? catalog->entries[i].call ? catalog->entries[i].call : ""
					      : catalog->entries[i].trace);
	wmk_nearest_text(&near, names, sizeof(names));
	return wmk_errorx(-ENOENT, "this kernel has no %s \"%.40s\"%s%s", call ? "system call" : "event",
			  call ? word : pattern,
			  names[0] ? "; did you mean: " : " (waymark list -k lists them)", names);
}
