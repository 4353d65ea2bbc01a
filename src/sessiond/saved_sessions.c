/* SPDX-License-Identifier: MIT */
/*
 * saved_sessions.c - load and start saved sessions (see saved_sessions.h).
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <waymark/ctl.h>

#include "base/error.h"
#include "sessiond/saved_sessions.h"

struct log {
	void (*say)(void *data, const char *words);
	void *data;
};

static void __attribute__((format(printf, 2, 3))) say(const struct log *log, const char *format, ...)
{
	char words[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	log->say(log->data, words);
}

static int is_saved(const struct dirent *entry)
{
	const size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

static void say_error(const struct log *log, const char *what, const char *name)
{
	char words[700];

	say(log, "%s %.250s: %s", what, name, waymark_ctl_error_text(words, sizeof(words)));
}

/* Start the sessions that were loaded from a file. */
static void start(struct waymark_ctl *ctl, const struct waymark_ctl_result *loaded, const struct log *log)
{
	const struct waymark_ctl_session_info *const *sessions;
	const unsigned n = waymark_ctl_result_sessions(loaded, &sessions);

	for (unsigned i = 0; i < n; i++) {
		if (waymark_ctl_start(ctl, sessions[i]->name, NULL) < 0)
			say_error(log, "cannot start the saved session", sessions[i]->name);
		else
			say(log, "session %.200s is loaded and started", sessions[i]->name);
	}
}

static void load(struct waymark_ctl *ctl, const char *path, const struct log *log)
{
	const struct waymark_ctl_load_options options = { .size = sizeof(options), .path = path, .dated_output = true };
	struct waymark_ctl_result *loaded;
	const char *const *warnings;
	const int err = waymark_ctl_load(ctl, &options, &loaded);

	/* If the earlier daemon had a session with this name, that session is kept. */
	if (err == -EEXIST)
		return;
	if (err < 0) {
		say_error(log, "cannot load the saved session", path);
		return;
	}
	for (unsigned i = 0, n = waymark_ctl_result_warnings(loaded, &warnings); i < n; i++)
		say(log, "%.900s", warnings[i]);
	start(ctl, loaded, log);
	waymark_ctl_result_free(loaded);
}

void wmk_saved_sessions_load(const char *path, const char *rundir, void (*say_)(void *data, const char *words),
			     void *data)
{
	const struct waymark_ctl_connect_options options = { .size = sizeof(options),
							     .rundir = rundir,
							     .start = WAYMARK_CTL_START_NEVER };
	const struct log log = { say_, data };
	struct dirent **entries = NULL;
	struct waymark_ctl *ctl = NULL;
	char file[PATH_MAX];
	const int n = scandir(path, &entries, is_saved, alphasort);

	if (n < 0 && errno != ENOENT)
		say(&log, "cannot read the directory of saved sessions %.250s: %s", path, strerror(errno));
	if (n > 0 && waymark_ctl_connect(&options, &ctl) < 0)
		say_error(&log, "cannot load the saved sessions in", path);
	for (int i = 0; i < n; i++) {
		if (ctl && (size_t)snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name) < sizeof(file))
			load(ctl, file, &log);
		free(entries[i]);
	}
	free(entries);
	waymark_ctl_close(ctl);
	wmk_error_clear();
}
