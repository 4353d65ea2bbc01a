/* SPDX-License-Identifier: MIT */
/*
 * load.c - load sessions from files (see waymark/ctl.h). All files are read before the first request is sent. Then each
 * session is created by the requests that a user would send:
 *
 *     CREATE ─► TRACK for each kind with a tracker ─► for each channel: ENABLE_CHANNEL with contexts and rules,
 *                                                               then DISABLE_EVENT, DISABLE_CHANNEL
 *
 * A file may be written by hand, so the table and the daemon check its content like any other input.
 */
#include "ctl/connection.h"

#include "base/array.h"
#include "base/error.h"
#include "ctl/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".json"
#define FILES_MAX 4096u
#define SAME_SECOND_MAX 99u
#define SAME_SECOND_ROOM 4         /* bytes of "-99" */
#define WORDS (WMK_ERROR_DEPTH * WMK_ERROR_LEN)

struct loading {
	struct waymark_ctl *ctl;
	const struct waymark_ctl_load_options *options;
	struct waymark_ctl_result *result;
	struct wmk_ctl_files_reply *filed;         /* the object of `result` */
	struct wmk_arena arena;
	struct wmk_list sessions;            /* of struct wmk_ctl_session: read, not created yet */
};

/* ── read files ──────────────────────────────────────────────────────────────────────────────────────── */

static int text_read(int fd, char **text, size_t *len)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return wmk_error(-errno, "cannot get its type and size");
	if (!S_ISREG(st.st_mode))
		return wmk_error(-EINVAL, "not a regular file");
	if (st.st_size > WMK_JSON_MAX)
		return wmk_error(-EFBIG, "it has %lld bytes: at most %u are allowed", (long long)st.st_size,
				 WMK_JSON_MAX);
	size_t room = (size_t)st.st_size + 1;
	*text = malloc(room);
	*len = 0;
	if (!*text)
		return wmk_error(-ENOMEM, "no memory for %zu bytes", room);
	while (*len < room) {
		ssize_t n = read(fd, *text + *len, room - *len);

		if (n < 0 && errno != EINTR)
			return wmk_error(-errno, "cannot read it");
		if (n == 0)
			return 0;
		*len += n > 0 ? (size_t)n : 0;
	}
	return wmk_errorx(-EAGAIN, "another process is writing to it");
}

static int saved_read(struct loading *l, const char *text, size_t len)
{
	struct wmk_ctl_session *session;
	struct wmk_ctl_saved saved;
	int err = wmk_json_read(&wmk_ctl_saved_object, text, len, &saved, &l->arena);

	if (err < 0)
		return wmk_error_add(err, "not a saved session");
	if (saved.version != WMK_CTL_SAVED_VERSION)
		return wmk_error(-EINVAL, "it is a saved session of version %u: this library reads version %u",
				 saved.version, WMK_CTL_SAVED_VERSION);
	err = wmk_ctl_name_check(saved.session.name);
	if (err == 0 && l->options->session && *l->options->session &&
	    strcmp(saved.session.name, l->options->session) != 0)
		err = wmk_errorx(-ENOENT, "it contains session '%s', not '%s'", saved.session.name,
				 l->options->session);
	if (err < 0)
		return err;
	session = wmk_arena_append(&l->arena, &l->sessions, sizeof(*session));
	if (!session)
		return -ENOMEM;
	*session = saved.session;
	return 0;
}

/* Read one file. `shown`: its name in messages. */
static int file_read(struct loading *l, int fd, const char *shown)
{
	char *text = NULL;
	size_t len = 0;
	int err = fd < 0 ? wmk_error(-errno, "cannot open it") : text_read(fd, &text, &len);

	if (err == 0)
		err = saved_read(l, text, len);
	if (err == 0)
		err = wmk_ctl_files_add_text(l->result, &l->filed->files, shown);
	free(text);
	if (fd >= 0)
		close(fd);
	return err < 0 ? wmk_error_add(err, "cannot load %s", shown) : 0;
}

static int entry_read(struct loading *l, int dir, const char *path, const char *name)
{
	char shown[WMK_OBJECT_TEXT_MAX + NAME_MAX + 2];

	snprintf(shown, sizeof(shown), "%s/%s", path, name);
	return file_read(l, openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), shown);
}

static int is_saved(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > strlen(SUFFIX) &&
	       strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX) == 0;
}

static int directory_read(struct loading *l, int dir, const char *path)
{
	char name[WMK_CTL_NAME_MAX + sizeof(SUFFIX)];
	struct dirent **entries;
	int err = 0;

	if (l->options->session && *l->options->session) {
		err = wmk_ctl_name_check(l->options->session);
		if (err < 0)
			return err;
		snprintf(name, sizeof(name), "%s" SUFFIX, l->options->session);
		return entry_read(l, dir, path, name);
	}
	int n = scandirat(dir, ".", &entries, is_saved, alphasort);
	if (n < 0)
		return wmk_error(-errno, "cannot read the directory %s", path);
	if (n == 0)
		err = wmk_errorx(-ENOENT, "no saved sessions in %s", path);
	if (n > (int)FILES_MAX)
		err = wmk_errorx(-E2BIG, "%s contains %d sessions: at most %u are allowed", path, n, FILES_MAX);
	for (int i = 0; i < n; i++) {
		if (err == 0)
			err = entry_read(l, dir, path, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int all_read(struct loading *l)
{
	char path[WMK_OBJECT_TEXT_MAX];
	const char *named = l->options->path;
	struct stat st;
	int fd;

	if (!named || !*named) {
		fd = wmk_ctl_sessions_dir(false, path, sizeof(path));
	} else {
		if (strlen(named) >= sizeof(path))
			return wmk_error(-ENAMETOOLONG, "the path to load from has more than %zu bytes",
					 sizeof(path) - 1);
		strcpy(path, named);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0 || fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode))
			return file_read(l, fd, path);
	}
	if (fd < 0)
		return fd;
	int err = directory_read(l, fd, path);
	close(fd);
	return err;
}

/* ── check what may have changed ─────────────────────────────────────────────────────────────────────── */

/* Return the start time of a process in clock ticks since boot; 0 if the process has ended or is hidden. */
static uint64_t start_time_of(uint64_t pid)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	/* field 2 may contain anything; field 22 is the 20th after it */
	const char *at = strrchr(text, ')');
	for (unsigned field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/*
 * Check that the process of a channel still exists. The process may have ended, and another process may have the same
 * pid.
 */
static int process_check(struct wmk_ctl_channel *channel)
{
	struct wmk_ctl_domain *d = &channel->domain;

	if ((d->kind == WMK_DOMAIN_PID || d->kind == WMK_DOMAIN_KERNEL) && d->start_time &&
	    start_time_of(d->pid) != d->start_time)
		return wmk_error(-ESRCH, "process %llu of channel '%s' has ended",
				 (unsigned long long)d->pid, channel->name);
	d->start_time = 0;
	return 0;
}

static bool is_not_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool any = false;

	if (!dir)
		return errno != ENOENT;
	while (!any && (entry = readdir(dir)) != NULL)
		any = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return any;
}

/* ── create sessions ─────────────────────────────────────────────────────────────────────────────────── */

static int send_request(struct loading *l, uint16_t type, const void *request)
{
	struct waymark_ctl_result *answer;
	int err = wmk_ctl_request(l->ctl, type, request, &answer);

	if (err == 0)
		err = wmk_ctl_files_add_outcome(l->result, answer);
	waymark_ctl_result_free(answer);
	return err;
}

static int make_trackers(struct loading *l, const struct wmk_ctl_session *s)
{
	const struct {
		bool narrowed;
		const struct wmk_list *ids;
	} kinds[] = {
		[WMK_TRACK_PID] = { s->trackers.pid, &s->trackers.pids },
		[WMK_TRACK_UID] = { s->trackers.uid, &s->trackers.uids },
		[WMK_TRACK_GID] = { s->trackers.gid, &s->trackers.gids },
		[WMK_TRACK_KERNEL_PID] = { s->trackers.kernel_pid, &s->trackers.kernel_pids },
	};
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < WMK_ARRAY_LEN(kinds); i++) {
		const struct wmk_ctl_track request = {
			.session = s->name, .kind = i, .all = kinds[i].ids->n == 0, .ids = *kinds[i].ids,
		};

		if (kinds[i].narrowed)       /* an empty list: remove all */
			err = send_request(l, kinds[i].ids->n ? WMK_CTL_TRACK : WMK_CTL_UNTRACK, &request);
	}
	return err;
}

/*
 * Collect the patterns of disabled rules. A pattern is skipped if an enabled rule of the channel has the same pattern.
 * No request can disable only one of two rules with the same pattern.
 */
static int find_disabled(struct loading *l, const struct wmk_ctl_channel *c, struct wmk_list *patterns)
{
	const struct wmk_ctl_rule *rules = c->rules.items;
	char words[WMK_CTL_PATTERN_MAX + 200];
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < c->rules.n; i++) {
		bool twin = false;

		for (uint32_t j = 0; !rules[i].enabled && j < c->rules.n; j++)
			twin |= rules[j].enabled && strcmp(rules[i].pattern, rules[j].pattern) == 0;
		if (rules[i].enabled)
			continue;
		if (twin) {
			snprintf(words, sizeof(words),
				 "only some event rules of the pattern '%s' were disabled: loading enables all of "
				 "them",
				 rules[i].pattern);
			err = wmk_ctl_files_add_text(l->result, &l->filed->warnings, words);
			continue;
		}
		const char **pattern = wmk_arena_append(&l->arena, patterns, sizeof(*pattern));
		if (!pattern)
			return -ENOMEM;
		*pattern = rules[i].pattern;
	}
	return err;
}

static int make_channel(struct loading *l, const char *session, struct wmk_ctl_channel *c)
{
	struct wmk_ctl_enable_channel enable = { session, *c };
	struct wmk_ctl_disable_event events = { session, c->name, c->domain, { 0 } };
	const struct wmk_ctl_disable_channel disable = { session, c->name, c->domain };
	struct wmk_ctl_rule *rules = c->rules.items;
	int err = find_disabled(l, c, &events.patterns);

	for (uint32_t i = 0; i < c->rules.n; i++)
		rules[i].enabled = true;
	enable.channel.enabled = true;
	if (err == 0)
		err = send_request(l, WMK_CTL_ENABLE_CHANNEL, &enable);
	if (err == 0 && events.patterns.n)
		err = send_request(l, WMK_CTL_DISABLE_EVENT, &events);
	if (err == 0 && !c->enabled)
		err = send_request(l, WMK_CTL_DISABLE_CHANNEL, &disable);
	return err < 0 ? wmk_error_add(err, "cannot create channel '%s'", c->name) : 0;
}

static int make_complete(struct loading *l, struct wmk_ctl_session *s)
{
	const struct wmk_ctl_snapshot_output none = { .session = s->name, .remove = true };
	struct wmk_ctl_channel *channels = s->channels.items;
	int err = make_trackers(l, s);

	/* the session daemon sets an output for each new flight recorder */
	if (err == 0 && s->settings.snapshot && !*s->settings.snapshot_path)
		err = send_request(l, WMK_CTL_SNAPSHOT_OUTPUT, &none);
	for (uint32_t i = 0; err == 0 && i < s->channels.n; i++)
		err = make_channel(l, s->name, &channels[i]);
	return err;
}

/* Replace the last component of the path by the session name and the current time. */
static int path_date(struct loading *l, struct wmk_ctl_session *s)
{
	const char *slash = strrchr(s->path, '/');
	char path[WMK_OBJECT_TEXT_MAX + 1], date[32];
	const time_t now = time(NULL);
	struct tm tm;
	int len;

	localtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	len = snprintf(path, sizeof(path), "%.*s/%s-%s", slash ? (int)(slash - s->path) : 0, s->path, s->name, date);
	if (len + SAME_SECOND_ROOM > (int)sizeof(path))
		return wmk_error(-ENAMETOOLONG, "the path of the trace is too long");
	for (unsigned i = 2; is_not_empty(path) && i <= SAME_SECOND_MAX; i++)
		snprintf(path + len, sizeof(path) - (size_t)len, "-%u", i);
	s->path = wmk_arena_text(&l->arena, path);
	return s->path ? 0 : -ENOMEM;
}

static int path_choose(struct loading *l, struct wmk_ctl_session *s)
{
	char words[WMK_OBJECT_TEXT_MAX + 200];

	if (l->options->output)
		s->path = l->options->output;
	if (l->options->default_output || (*s->settings.url && !l->options->output))
		s->path = "";    /* a new session with a relay also has a new spool */
	if (*s->path && l->options->dated_output)
		return path_date(l, s);
	if (!*s->path || l->options->output || !is_not_empty(s->path))
		return 0;
	snprintf(words, sizeof(words), "%s contains a trace: session '%s' uses the default trace directory", s->path,
		 s->name);
	s->path = "";
	return wmk_ctl_files_add_text(l->result, &l->filed->warnings, words);
}

/*
 * Build the create request for the session `s`. The new directory for rings is created in the parent of the saved
 * directory. The path of this parent directory is stored in `shm`.
 */
static struct wmk_ctl_create request_of(const struct wmk_ctl_session *s, const char *home,
					char shm[WMK_OBJECT_TEXT_MAX + 1])
{
	const char *path = s->settings.shm_path, *slash = strrchr(path, '/');
	struct wmk_ctl_create request = { .name = s->name, .path = s->path, .home = home, .settings = s->settings };

	snprintf(shm, WMK_OBJECT_TEXT_MAX + 1, "%.*s", !slash ? 0 : slash == path ? 1 : (int)(slash - path), path);
	request.settings.shm_path = shm;
	return request;
}

static void destroy_quietly(struct loading *l, const char *name)
{
	const struct wmk_ctl_session_name which = { .session = name };

	wmk_ctl_request(l->ctl, WMK_CTL_DESTROY, &which, NULL);
}

/*
 * Check that the whole session can be created: create the session under another name, then destroy it. This trial
 * session does not record, so no directory is created.
 */
static int try_complete(struct loading *l, const struct wmk_ctl_session *s, const char *home)
{
	struct loading trial = { .ctl = l->ctl,
				 .options = l->options,
				 .result = wmk_ctl_result_new(&wmk_ctl_files_reply_object) };
	char name[WMK_CTL_NAME_MAX + 1], words[WORDS], shm[WMK_OBJECT_TEXT_MAX + 1];
	struct wmk_ctl_session copy;
	int err = trial.result ? wmk_object_copy(&wmk_ctl_session_object, s, &copy, &trial.arena) : -ENOMEM;

	if (err == 0) {
		trial.filed = trial.result->object;
		snprintf(name, sizeof(name), "loading-%d", (int)getpid());
		copy.name = name;
		struct wmk_ctl_create request = request_of(&copy, home, shm);

		request.path = "";
		err = send_request(&trial, WMK_CTL_CREATE, &request);
	}
	if (err == 0) {
		err = make_complete(&trial, &copy);
		waymark_ctl_error_text(words, sizeof(words));
		destroy_quietly(l, name);
		if (err < 0)
			wmk_ctl_error_chain(err, words);
	}
	waymark_ctl_result_free(trial.result);
	wmk_arena_free(&trial.arena);
	return err < 0 ? wmk_error_add(err, "cannot create the session of the file; the existing session '%s' is kept",
				       s->name)
		       : 0;
}

/*
 * Create the session. If another session has the name, and no other error prevents the creation, replace the other
 * session. The daemon returns -EEXIST only for a session of the same owner, so sessions of other users are never
 * destroyed.
 */
static int create(struct loading *l, struct wmk_ctl_session *s, const char *home)
{
	const struct wmk_ctl_session_name old = { .session = s->name };
	char shm[WMK_OBJECT_TEXT_MAX + 1];

	for (bool replaced = false;; replaced = true) {
		int err = path_choose(l, s);
		if (err < 0)
			return err;
		const struct wmk_ctl_create request = request_of(s, home, shm);

		err = send_request(l, WMK_CTL_CREATE, &request);
		if (err != -EEXIST || !l->options->replace || replaced)
			return err;
		err = try_complete(l, s, home);
		if (err < 0)
			return err;
		err = send_request(l, WMK_CTL_DESTROY, &old);
		if (err < 0 && err != -ENOENT)           /* ENOENT: another client destroyed it first */
			return err;
	}
}

static int add_made(struct loading *l, const char *name)
{
	struct waymark_ctl_result *listed;
	int err = waymark_ctl_list_sessions(l->ctl, name, &listed);

	if (err < 0)
		return err;
	const struct wmk_list *sessions = &((const struct wmk_ctl_sessions *)listed->object)->sessions;
	for (uint32_t i = 0; err == 0 && i < sessions->n; i++) {
		struct wmk_ctl_session *to = wmk_arena_append(&l->result->objects, &l->filed->sessions, sizeof(*to));

		err = to ? wmk_object_copy(&wmk_ctl_session_object, (const struct wmk_ctl_session *)sessions->items + i,
					   to, &l->result->objects)
			 : -ENOMEM;
	}
	waymark_ctl_result_free(listed);
	return err;
}

static int make_session(struct loading *l, struct wmk_ctl_session *s)
{
	struct wmk_ctl_channel *channels = s->channels.items;
	char home[WMK_OBJECT_TEXT_MAX + 1], words[WORDS];
	int err = wmk_ctl_home(home, sizeof(home));

	if (l->options->name)
		s->name = l->options->name;
	for (uint32_t i = 0; err == 0 && i < s->channels.n; i++)
		err = process_check(&channels[i]);
	if (err == 0)
		err = create(l, s, home);
	if (err < 0)
		return err;
	err = make_complete(l, s);
	if (err == 0)
		return add_made(l, s->name);
	/* Destroy the incomplete session, but return the first error to the caller. */
	waymark_ctl_error_text(words, sizeof(words));
	destroy_quietly(l, s->name);
	return wmk_ctl_error_chain(err, words);
}

static int load(struct loading *l)
{
	int err = all_read(l);
	struct wmk_ctl_session *sessions = l->sessions.items;

	if (err == 0 && l->sessions.n != 1 && (l->options->name || l->options->output))
		err = wmk_error(-EINVAL, "load: cannot apply one name or path to %u sessions: name one session",
				l->sessions.n);
	for (uint32_t i = 0; err == 0 && i < l->sessions.n; i++) {
		err = make_session(l, &sessions[i]);
		if (err < 0)
			wmk_error_add(err, "cannot load session '%s'", sessions[i].name);
	}
	return err;
}

int waymark_ctl_load(struct waymark_ctl *ctl, const struct waymark_ctl_load_options *given,
		     struct waymark_ctl_result **out)
{
	struct waymark_ctl_load_options o;
	struct loading l = { .ctl = ctl, .options = &o };

	int err = WMK_CTL_OPTIONS(&o, given, "load", out);
	if (err == 0 && (o.output != NULL) + o.default_output + o.dated_output > 1)
		err = wmk_error(-EINVAL, "load: several paths for the trace are given");
	if (err < 0)
		return err;
	l.result = wmk_ctl_result_new(&wmk_ctl_files_reply_object);
	if (!l.result)
		return -ENOMEM;
	l.filed = l.result->object;
	err = load(&l);
	if (err == 0)
		err = wmk_ctl_result_finish(l.result);
	wmk_arena_free(&l.arena);
	if (err == 0 && out)
		*out = l.result;
	else
		waymark_ctl_result_free(l.result);
	return err;
}
