/* SPDX-License-Identifier: MIT */
/*
 * save.c - save sessions as files (see waymark/ctl.h): the daemon's list without the counts, as JSON.
 *
 * A file is written under a temporary name and then renamed, so the file is complete or does not exist. If the name is
 * a link, the link is replaced instead of followed. Links to directories below $HOME are not followed, because $HOME
 * may belong to another user when root saves sessions.
 */
#include "ctl/connection.h"

#include "base/error.h"
#include "base/utf8.h"
#include "ctl/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".json"

static const struct wmk_member saved_members[] = {
	WMK_MEMBER(U32, wmk_ctl_saved, version),
	WMK_MEMBER(OBJECT, wmk_ctl_saved, session, wmk_ctl_session, wmk_ctl_session_object),
};
const struct wmk_object wmk_ctl_saved_object = WMK_OBJECT_OF("saved session", wmk_ctl_saved, saved_members);

/* ── find the destination ────────────────────────────────────────────────────────────────────────────── */

int wmk_ctl_name_check(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > WMK_CTL_NAME_MAX || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return wmk_error(-EINVAL, "invalid session name '%.40s'", name);
	for (const char *c = name; *c; c++)
		if (*c == '/' || (unsigned char)*c < 0x20 || *c == 0x7f)
			return wmk_error(-EINVAL, "invalid session name: '/' and control characters are not allowed");
	return 0;
}

static int dir_enter(int at, const char *name, bool make, int flags)
{
	if (make && mkdirat(at, name, 0700) != 0 && errno != EEXIST)
		return wmk_error(-errno, "cannot create the directory %s", name);
	int dir = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	return dir < 0 ? wmk_error(-errno, "cannot open the directory %s", name) : dir;
}

int wmk_ctl_sessions_dir(bool make, char *path, size_t size)
{
	static const char *const below[] = { ".waymark", "sessions" };
	char home[4096];
	int dir = wmk_ctl_home(home, sizeof(home));

	if (dir < 0)
		return dir;
	if (snprintf(path, size, "%s/.waymark/sessions", home) >= (int)size)
		return wmk_error(-ENAMETOOLONG, "the path of your home directory is too long");
	dir = dir_enter(AT_FDCWD, home, false, 0);
	for (unsigned i = 0; i < 2 && dir >= 0; i++) {
		int inner = dir_enter(dir, below[i], make, O_NOFOLLOW);

		close(dir);
		dir = inner;
	}
	return dir < 0 ? wmk_error_add(dir, "%s", path) : dir;
}

struct destination {
	int dir;
	char path[WMK_OBJECT_TEXT_MAX];  /* path of the directory */
	const char *file;                /* name of the file in the directory, if the caller gave a name */
};

static bool ends_in_json(const char *path)
{
	size_t len = strlen(path);

	return len > strlen(SUFFIX) && strcmp(path + len - strlen(SUFFIX), SUFFIX) == 0;
}

static int destination_open(struct destination *destination, const char *path)
{
	destination->file = NULL;
	if (!path || !*path) {
		destination->dir = wmk_ctl_sessions_dir(true, destination->path, sizeof(destination->path));
		return destination->dir < 0 ? destination->dir : 0;
	}
	if (strlen(path) >= sizeof(destination->path))
		return wmk_error(-ENAMETOOLONG, "the path to save to has more than %zu bytes",
				 sizeof(destination->path) - 1);
	strcpy(destination->path, path);
	if (ends_in_json(path)) {
		const char *slash = strrchr(path, '/');

		destination->file = slash ? slash + 1 : path;
		strcpy(destination->path, ".");
		if (slash)
			snprintf(destination->path, sizeof(destination->path), "%.*s",
				 slash == path ? 1 : (int)(slash - path), path);
	}
	destination->dir = dir_enter(AT_FDCWD, destination->path, !destination->file, 0);
	return destination->dir < 0 ? destination->dir : 0;
}

/* ── write the file ──────────────────────────────────────────────────────────────────────────────────── */

/* Create a file with an unused temporary name. Returns a descriptor, or -errno. */
static int temporary_open(int dir, char *name, size_t size)
{
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, size, ".waymark-%ld-%u.tmp", (long)getpid(), i);
		int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? wmk_error(-errno, "cannot create a file") : fd;
	}
	return wmk_errorx(-EEXIST, "too many temporary files (.waymark-*.tmp): remove them");
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return wmk_error(-errno, "cannot write the file");
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return fsync(fd) == 0 ? 0 : wmk_error(-errno, "cannot write the file");
}

static int rename_to(int dir, const char *temporary, const char *name, bool replace)
{
	if (replace)
		return renameat(dir, temporary, dir, name) == 0 ? 0 : wmk_error(-errno, "cannot replace the file");
	if (renameat2(dir, temporary, dir, name, RENAME_NOREPLACE) == 0)
		return 0;
	/* If the file system does not support RENAME_NOREPLACE, it may support hard links. */
	if ((errno == EINVAL || errno == ENOSYS) && linkat(dir, temporary, dir, name, 0) == 0) {
		unlinkat(dir, temporary, 0);
		return 0;
	}
	return wmk_error(-errno, errno == EEXIST ? "the file exists: save with 'replace' to overwrite it"
						 : "cannot name the file");
}

static int file_write(int dir, const char *name, const char *text, bool replace)
{
	char temporary[64];
	int fd = temporary_open(dir, temporary, sizeof(temporary));

	if (fd < 0)
		return fd;
	int err = write_all(fd, text, strlen(text));
	if (close(fd) != 0 && err == 0)
		err = wmk_error(-errno, "cannot write the file");
	if (err == 0)
		err = rename_to(dir, temporary, name, replace);
	if (err < 0)
		unlinkat(dir, temporary, 0);
	else
		/*
		 * If fsync() fails, a power failure may remove the name of the file, but the content of the file is
		 * complete.
		 */
		fsync(dir);
	return err;
}

/* ── save sessions ───────────────────────────────────────────────────────────────────────────────────── */

/* Remove everything but the configuration. */
static void drop_counts(struct wmk_ctl_session *s)
{
	struct wmk_ctl_channel *channels = s->channels.items;

	s->uid = s->gid = s->created = 0;
	s->active = s->started = s->full = s->stopping = false;
	memset(&s->counts, 0, sizeof(s->counts));
	for (uint32_t i = 0; i < s->channels.n; i++) {
		struct wmk_ctl_rule *rules = channels[i].rules.items;

		memset(&channels[i].counts, 0, sizeof(channels[i].counts));
		channels[i].memory = 0;
		channels[i].calls_by = 0;        /* decided again after loading */
		channels[i].calls_why = NULL;
		for (uint32_t j = 0; j < channels[i].rules.n; j++)
			rules[j].matched = 0;
	}
}

static int session_save(const struct wmk_ctl_session *session, const struct destination *destination, bool replace,
			struct waymark_ctl_result *result)
{
	struct wmk_ctl_files_reply *filed = result->object;
	struct wmk_ctl_saved saved = { .version = WMK_CTL_SAVED_VERSION };
	struct wmk_arena arena = { 0 };
	char name[WMK_CTL_NAME_MAX + sizeof(SUFFIX)], path[WMK_OBJECT_TEXT_MAX + sizeof(name) + 1],
		words[WMK_CTL_NAME_MAX + 120];
	char *text = NULL;
	int err = wmk_ctl_name_check(session->name);

	if (err < 0)
		return err;
	snprintf(name, sizeof(name), "%s" SUFFIX, session->name);
	snprintf(path, sizeof(path), "%s/%s", destination->path, destination->file ? destination->file : name);
	err = wmk_object_copy(&wmk_ctl_session_object, session, &saved.session, &arena);
	if (err == 0 && !wmk_utf8_is(saved.session.path)) {
		snprintf(words, sizeof(words),
			 "the path of session '%s' is not UTF-8 and is not saved: after loading, the session uses the "
			 "default trace directory",
			 session->name);
		saved.session.path = "";
		err = wmk_ctl_files_add_text(result, &filed->warnings, words);
	}
	if (err == 0) {
		drop_counts(&saved.session);
		err = wmk_json_text(&wmk_ctl_saved_object, &saved, WMK_JSON_SPARSE, &text);
	}
	if (err == 0)
		err = file_write(destination->dir, destination->file ? destination->file : name, text, replace);
	if (err == 0)
		err = wmk_ctl_files_add_text(result, &filed->files, path);
	if (err == 0) {
		struct wmk_ctl_session *to = wmk_arena_append(&result->objects, &filed->sessions, sizeof(*to));

		err = to ? wmk_object_copy(&wmk_ctl_session_object, session, to, &result->objects) : -ENOMEM;
	}
	free(text);
	wmk_arena_free(&arena);
	return err < 0 ? wmk_error_add(err, "cannot save session '%s' as %s", session->name, path) : 0;
}

static int save_all(const struct wmk_list *sessions, const struct waymark_ctl_save_options *o,
		    struct waymark_ctl_result *result)
{
	const struct wmk_ctl_session *session = sessions->items;
	struct destination destination;
	int err = destination_open(&destination, o->path);

	if (err < 0)
		return err;
	if (destination.file && sessions->n != 1)
		err = wmk_error(-EINVAL, "cannot save %u sessions to the single file %s: name one session, or a "
					 "directory",
				sessions->n, o->path);
	for (uint32_t i = 0; err == 0 && i < sessions->n; i++)
		err = session_save(&session[i], &destination, o->replace, result);
	close(destination.dir);
	return err;
}

int waymark_ctl_save(struct waymark_ctl *ctl, const struct waymark_ctl_save_options *given,
		     struct waymark_ctl_result **out)
{
	struct waymark_ctl_result *listed = NULL, *result = NULL;
	struct waymark_ctl_save_options o;

	int err = WMK_CTL_OPTIONS(&o, given, "save", out);
	if (err == 0)
		err = waymark_ctl_list_sessions(ctl, o.session, &listed);
	if (err == 0 && listed->n_sessions == 0)
		err = wmk_errorx(-ENOENT, "there is no session to save");
	if (err == 0 && !(result = wmk_ctl_result_new(&wmk_ctl_files_reply_object)))
		err = -ENOMEM;
	if (err == 0)
		err = save_all(&((struct wmk_ctl_sessions *)listed->object)->sessions, &o, result);
	if (err == 0)
		err = wmk_ctl_result_finish(result);
	waymark_ctl_result_free(listed);
	if (err == 0 && out)
		*out = result;
	else
		waymark_ctl_result_free(result);
	return err;
}
