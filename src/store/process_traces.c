/* SPDX-License-Identifier: MIT */
/*
 * process_traces.c - lists and removes the traces of single processes (channels with buffers per process) in a
 * session's directory.
 *
 *     <trace>/ust/pid/<name>/64-bit/{metadata, streams, index/}
 */
#include "store/store_state.h"
#include "store/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/*
 * Open the directory that the components `names` select below `dir`, and close `dir`. Returns a descriptor or -errno.
 */
static int descend(int dir, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n && dir >= 0; i++) {
		int inner = openat(dir, names[i], DIR_FLAGS), err = inner < 0 ? -errno : 0;

		close(dir);
		dir = err < 0 ? err : inner;
	}
	return dir;
}

static int open_processes(const char *path)
{
	static const char *const names[] = { "ust", "pid" };

	return descend(wmk_path_open(path), names, 2);
}

struct visit {
	int (*one)(void *data, const char *name);
	void *data;
};

static int visit_directory(void *data, int at, const char *name)
{
	const struct visit *visit = data;
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
		return 0;
	return visit->one(visit->data, name);
}

int wmk_store_each_process(const char *path, int (*one)(void *data, const char *name), void *data)
{
	struct visit visit = { one, data };
	int err = wmk_store_each_entry(open_processes(path), visit_directory, &visit);

	return err == -ENOENT ? 0 : err;
}

/* Remove a regular file. Files of other types are kept, so the removal of their directory fails. */
static int remove_file(void *data, int at, const char *name)
{
	struct stat st;

	(void)data;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
		return 0;
	return unlinkat(at, name, 0) == 0 || errno == ENOENT ? 0 : -errno;
}

/* Remove the files of a directory, and then the directory. Returns 0 if the directory does not exist. */
static int remove_directory(int parent, const char *name)
{
	int dir = openat(parent, name, DIR_FLAGS);

	if (dir < 0)
		return errno == ENOENT ? 0 : -errno;
	int err = wmk_store_each_entry(dir, remove_file, NULL);
	return err == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 ? -errno : err;
}

/* index/ is inside the directory, so it is removed first. */
static int remove_trace(int at)
{
	int trace = openat(at, "64-bit", DIR_FLAGS), err = trace < 0 ? -errno : 0;

	if (err == -ENOENT)
		return 0;
	if (err == 0)
		err = remove_directory(trace, "index");
	if (trace >= 0)
		close(trace);
	return err == 0 ? remove_directory(at, "64-bit") : err;
}

int wmk_store_remove_process(const char *path, const char *name)
{
	int processes, at, err;

	if (!name[0] || strchr(name, '/') || name[0] == '.')
		return wmk_error(-EINVAL, "'%.240s' is not the name of a process's trace", name);
	processes = open_processes(path);
	at = processes < 0 ? processes : openat(processes, name, DIR_FLAGS);
	err = processes < 0 ? processes : at < 0 ? -errno : remove_trace(at);
	if (at >= 0 && processes >= 0)
		close(at);
	if (err == 0 && unlinkat(processes, name, AT_REMOVEDIR) != 0)
		err = -errno;
	if (processes >= 0)
		close(processes);
	return err < 0 && err != -ENOENT
		       ? wmk_error(err, "cannot remove the trace of process %.60s in %.80s", name, path)
		       : 0;
}
