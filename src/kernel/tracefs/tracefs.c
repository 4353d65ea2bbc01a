/* SPDX-License-Identifier: MIT */
/*
 * tracefs.c - the file system of the kernel's tracers: its location, its small files, its instances, and the reason
 * when it cannot be used.
 *
 * The search for tracefs tries, in this order: $WAYMARK_TRACEFS (for tests), /sys/kernel/tracing,
 * /sys/kernel/debug/tracing, any mount in /proc/self/mounts. If tracefs is not mounted, a process of root mounts it at
 * /sys/kernel/tracing.
 */
#include "kernel/tracefs/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "kernel/proc/procfs.h"

#define PLACE "/sys/kernel/tracing"
#define OLD_PLACE "/sys/kernel/debug/tracing"
#define READ_STEP 65536u
#define ERROR_LOG_MAX 65536u

#ifndef TRACEFS_MAGIC
#define TRACEFS_MAGIC 0x74726163
#endif

/* ── location ────────────────────────────────────────────────────────────────────────────────────────── */

/* 1: `path` is a tracefs; 0: it is another file system or does not exist; -EACCES. */
static int is_tracefs(const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : 0;
	return fs.f_type == TRACEFS_MAGIC;
}

/* Find a mount that is reachable, because another file system may have been mounted over a mount. */
static bool find_mounted(char *path, size_t size)
{
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char line[4096], where[256], type[64];
	bool found = false;

	while (mounts && !found && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %255s %63s", where, type) == 2 && strcmp(type, "tracefs") == 0 &&
		    strlen(where) < size && is_tracefs(where) == 1) {
			strcpy(path, where);
			found = true;
		}
	if (mounts)
		fclose(mounts);
	return found;
}

static bool kernel_has_tracefs(void)
{
	char known[8192];

	return wmk_kproc_read(AT_FDCWD, "/proc/filesystems", known, sizeof(known)) > 0 && strstr(known, "\ttracefs\n");
}

/* tracefs is not mounted: report the reason, or mount tracefs. */
static int mount_it(char *path, size_t size)
{
	struct statfs fs;

	if (!kernel_has_tracefs())
		return wmk_errorx(-ENOSYS, "this kernel cannot trace: it is built without CONFIG_TRACING");
	if (geteuid() != 0)
		return wmk_errorx(-EACCES, "tracing the kernel needs root: run Waymark as root, or as a member of the "
					   "group 'tracing' while root's waymark-sessiond runs");
	if (statfs(PLACE, &fs) < 0)
		return wmk_errorx(-ENOENT, "tracefs is not accessible: " PLACE " does not exist (in a "
					   "container, mount that directory of the host)");
	if (fs.f_type != SYSFS_MAGIC)
		return wmk_errorx(-ENOENT,
				  "tracefs is not accessible: another file system is mounted at " PLACE
				  " (in a container, mount that directory of the host)");
	if (mount("tracefs", PLACE, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return wmk_error(-errno,
				 "tracefs is not mounted, and mounting it at " PLACE
				 " failed (containers do not allow it; on the host: mount -t tracefs tracefs " PLACE
				 ")");
	snprintf(path, size, "%s", PLACE);
	return 0;
}

static bool find_there(char *path, size_t size)
{
	static const char *const places[] = { PLACE, OLD_PLACE };

	for (unsigned i = 0; i < WMK_ARRAY_LEN(places); i++)
		if (is_tracefs(places[i]) == 1) {
			snprintf(path, size, "%s", places[i]);
			return true;
		}
	return find_mounted(path, size);
}

bool wmk_tracefs_is_mounted(void)
{
	char path[256];

	return find_there(path, sizeof(path));
}

static int find(char *path, size_t size)
{
	const char *given = secure_getenv("WAYMARK_TRACEFS");

	if (given && *given) {
		if (snprintf(path, size, "%s", given) >= (int)size)
			return wmk_error(-ENAMETOOLONG, "WAYMARK_TRACEFS is longer than %zu bytes", size - 1);
		return is_tracefs(path) == 1
			       ? 0
			       : wmk_errorx(-ENOENT,
					    "no tracefs is mounted at %.80s (the value of WAYMARK_TRACEFS)", path);
	}
	return find_there(path, size) ? 0 : mount_it(path, size);
}

/* Check that this process can list and change the directory `instances` of tracefs. */
static int usable(const struct wmk_tracefs *tracefs)
{
	int fd = openat(tracefs->dir, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return wmk_errorx(-ENOSYS,
				  "%s has no instances: the kernel's tracers are off (locked down, or built "
				  "without CONFIG_TRACING)",
				  tracefs->path);
	if (fd < 0)
		return geteuid() ? wmk_errorx(-EACCES,
					      "tracing the kernel needs root: %s is not accessible to user %u (members "
					      "of the group 'tracing' can use root's waymark-sessiond)",
					      tracefs->path, (unsigned)geteuid())
				 : wmk_error(-errno,
					     "%s cannot be used: the kernel is locked down, or this is a container",
					     tracefs->path);
	close(fd);
	if (faccessat(tracefs->dir, "instances", W_OK, AT_EACCESS) < 0) {
		if (errno == EROFS)
			return wmk_errorx(-EROFS, "%s is mounted read-only (mount -o remount,rw %s)", tracefs->path,
					  tracefs->path);
		return wmk_errorx(-errno, "cannot write to %s: tracing the kernel needs root", tracefs->path);
	}
	return 0;
}

int wmk_tracefs_open(const char *path, struct wmk_tracefs **result)
{
	struct wmk_tracefs *tracefs = calloc(1, sizeof(*tracefs));
	int err = 0;

	if (!tracefs)
		return wmk_error(-ENOMEM, "no memory for the kernel's tracers");
	tracefs->dir = -1;
	if (path && snprintf(tracefs->path, sizeof(tracefs->path), "%s", path) >= (int)sizeof(tracefs->path))
		err = wmk_error(-ENAMETOOLONG, "a path of tracefs is longer than %zu bytes", sizeof(tracefs->path) - 1);
	else if (!path)
		err = find(tracefs->path, sizeof(tracefs->path));
	if (err == 0) {
		tracefs->dir = open(tracefs->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = tracefs->dir < 0 ? wmk_error(-errno, "cannot open %s", tracefs->path) : usable(tracefs);
	}
	if (err < 0) {
		wmk_tracefs_close(tracefs);
		return err;
	}
	*result = tracefs;
	return 0;
}

void wmk_tracefs_close(struct wmk_tracefs *tracefs)
{
	if (!tracefs)
		return;
	if (tracefs->dir >= 0)
		close(tracefs->dir);
	free(tracefs);
}

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

static int read_all(int fd, const char *file, char **text, size_t *len)
{
	size_t cap = 0, n = 0;
	char *all = NULL;

	for (;;) {
		if (cap - n < READ_STEP + 1) {
			char *more = realloc(all, cap = cap ? 2 * cap : 2 * READ_STEP);

			if (!more) {
				free(all);
				return wmk_error(-ENOMEM, "no memory to read %s", file);
			}
			all = more;
		}
		ssize_t got = read(fd, all + n, cap - n - 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			int err = got < 0 ? wmk_error(-errno, "cannot read tracefs file %s", file) : 0;

			if (err < 0)
				free(all);
			else
				all[n] = '\0';
			*text = err < 0 ? NULL : all;
			*len = n;
			return err;
		}
		n += (size_t)got;
		if (n > WMK_TRACEFS_FILE_MAX) {
			free(all);
			return wmk_error(-EFBIG, "tracefs file %s has more than %u bytes", file, WMK_TRACEFS_FILE_MAX);
		}
	}
}

int wmk_tracefs_read(int dir, const char *file, char **text, size_t *len)
{
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return wmk_error(-errno, "cannot open tracefs file %s", file);
	int err = read_all(fd, file, text, len);

	close(fd);
	return err;
}

int wmk_tracefs_write(int dir, const char *file, const char *text, bool append)
{
	const size_t len = strlen(text);
	int fd = openat(dir, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (append ? O_APPEND : O_TRUNC)), err = 0;

	if (fd < 0)
		return wmk_error(-errno, "cannot open tracefs file %s for writing", file);
	ssize_t put;

	do {
		put = write(fd, text, len);
	} while (put < 0 && errno == EINTR);
	if (put < 0)
		err = wmk_error(-errno, "the kernel rejects '%.60s' for %s", text, file);
	else if ((size_t)put != len)
		err = wmk_error(-EIO, "the kernel accepted only %zd of %zu bytes for %s", put, len, file);
	/* For some files, close() reports the error of a deferred write. */
	if (close(fd) < 0 && err == 0)
		err = wmk_error(-errno, "the kernel rejects '%.60s' for %s", text, file);
	return err;
}

int wmk_tracefs_read_number(int dir, const char *file, uint64_t *number)
{
	char *text, *end;
	size_t len;
	int err = wmk_tracefs_read(dir, file, &text, &len);

	if (err < 0)
		return err;
	errno = 0;
	*number = strtoull(text, &end, 10);
	if (end == text || errno)
		err = wmk_error(-EPROTO, "tracefs file %s does not contain a number: %.40s", file, text);
	free(text);
	return err;
}

int wmk_tracefs_write_number(int dir, const char *file, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return wmk_tracefs_write(dir, file, text, false);
}

bool wmk_tracefs_has(int dir, const char *file)
{
	return faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * An entry of error_log has "[ 12.3] where: error: message", a line " Command: ...", and a line with '^' at the place
 * of the error. The last entry belongs to the write that has just failed.
 */
void wmk_tracefs_last_error(int dir, char *words, size_t size)
{
	char *text, *last = NULL;
	size_t len;

	words[0] = '\0';
	if (wmk_tracefs_read(dir, "error_log", &text, &len) < 0) {
		wmk_error_clear();
		return;
	}
	if (len > ERROR_LOG_MAX)
		memmove(text, text + len - ERROR_LOG_MAX, ERROR_LOG_MAX + 1);
	for (char *at = strstr(text, ": error: "); at; at = strstr(at + 1, ": error: "))
		last = at + strlen(": error: ");
	if (last)
		snprintf(words, size, "%.*s", (int)strcspn(last, "\n"), last);
	free(text);
}

/* ── instances ───────────────────────────────────────────────────────────────────────────────────────── */

static int instance_path(const char *name, char *path, size_t size)
{
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > 255 ||
	    snprintf(path, size, "instances/%s", name) >= (int)size)
		return wmk_error(-EINVAL, "'%.80s' is not a valid name of a tracefs instance", name);
	return 0;
}

int wmk_tracefs_instance_open(const struct wmk_tracefs *tracefs, const char *name, int *instance)
{
	char path[300];
	int err = instance_path(name, path, sizeof(path));

	if (err < 0)
		return err;
	*instance = openat(tracefs->dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *instance < 0 ? wmk_error(-errno, "cannot open tracefs instance %.80s", name) : 0;
}

int wmk_tracefs_instance_make(const struct wmk_tracefs *tracefs, const char *name, int *instance)
{
	char path[300];
	int err = instance_path(name, path, sizeof(path));

	if (err < 0)
		return err;
	if (mkdirat(tracefs->dir, path, 0700) < 0)
		return wmk_error(-errno,
				 errno == ENOMEM
					 ? "the kernel has no memory for another tracefs instance (%.80s)"
					 : "cannot create tracefs instance %.80s",
				 name);
	err = wmk_tracefs_instance_open(tracefs, name, instance);
	if (err < 0)
		unlinkat(tracefs->dir, path, AT_REMOVEDIR);
	return err;
}

int wmk_tracefs_instance_remove(const struct wmk_tracefs *tracefs, const char *name)
{
	char path[300];
	int err = instance_path(name, path, sizeof(path));

	if (err < 0)
		return err;
	if (unlinkat(tracefs->dir, path, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return wmk_error(-errno,
			 errno == EBUSY ? "tracefs instance %.80s is in use: a process has one of its files open"
					: "cannot remove tracefs instance %.80s",
			 name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_directory(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && entry->d_type == DT_DIR;
}

int wmk_tracefs_each(int dir, const char *file, int (*one)(void *data, const char *name), void *data)
{
	const int fd = openat(dir, file, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct dirent **entries;
	const int n = fd < 0 ? -1 : scandirat(fd, ".", &entries, is_directory, by_name);
	int ret = n < 0 ? wmk_error(-errno, "cannot list tracefs directory %s", file) : 0;

	for (int i = 0; i < n; i++) {
		if (ret == 0)
			ret = one(data, entries[i]->d_name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	if (fd >= 0)
		close(fd);
	return ret;
}
