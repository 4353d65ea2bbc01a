/* SPDX-License-Identifier: MIT */
/*
 * store.c - the directories of a trace, and its metadata file.
 *
 * Symbolic links on the path to the trace directory are followed only if a trusted user owns them (path.h). The trace
 * directory itself, and all files and directories below it, must not be symbolic links.
 */
#include "ctf/writer.h"
#include "store/followed.h"
#include "store/store_state.h"
#include "store/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/testpoint.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define IOV_MAX_OURS 8
#define METADATA_NEW ".metadata.new"

int wmk_store_default_path(const char *trace_dir, const char *home, const char *session, int64_t realtime_s,
			   char *path, size_t size)
{
	char stamp[32];
	struct tm tm;
	time_t seconds = (time_t)realtime_s;
	int len;

	if (!session[0] || strchr(session, '/') || strcmp(session, ".") == 0 || strcmp(session, "..") == 0)
		return wmk_error(-EINVAL, "'%s' is not a valid name of a directory", session);
	if ((!trace_dir || !trace_dir[0]) && (!home || !home[0]))
		return wmk_error(-ENOENT, "no directory for traces: neither WAYMARK_TRACE_DIR nor HOME is set");
	if (!localtime_r(&seconds, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm))
		return wmk_error(-EINVAL, "the time of the trace cannot be shown as a date");
	if (trace_dir && trace_dir[0])
		len = snprintf(path, size, "%s/%s-%s", trace_dir, session, stamp);
	else
		len = snprintf(path, size, "%s/waymark-traces/%s-%s", home, session, stamp);
	if (len < 0 || (size_t)len >= size)
		return wmk_error(-ENAMETOOLONG, "the path of the trace is too long");
	return 0;
}

int wmk_store_sub_uid(uid_t uid, char *sub, size_t size)
{
	int len = snprintf(sub, size, "ust/uid/%u/64-bit", (unsigned)uid);

	return len < 0 || (size_t)len >= size ? wmk_error(-ENAMETOOLONG, "the name of the directory is too long") : 0;
}

int wmk_store_each_entry(int dir, int (*one)(void *data, int at, const char *name), void *data)
{
	DIR *entries = dir < 0 ? NULL : fdopendir(dir);
	const struct dirent *entry;
	int err = dir < 0 ? dir : entries ? 0 : -errno;

	if (!entries && dir >= 0)
		close(dir);
	while (err == 0 && entries && (entry = readdir(entries)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			err = one(data, dir, entry->d_name);
	if (entries)
		closedir(entries);
	return err;
}

static int not_empty(void *data, int at, const char *name)
{
	(void)data;
	(void)at;
	(void)name;
	return -ENOTEMPTY;
}

static int check_empty(int dir)
{
	int fd = openat(dir, ".", DIR_FLAGS);

	return wmk_store_each_entry(fd < 0 ? -errno : fd, not_empty, NULL);
}

/* Open the directory of the trace, and create it if necessary. -ENOTEMPTY: it has entries. */
static int make_top(const char *path)
{
	int start = wmk_path_start(path),
	    dir = start < 0 ? start : wmk_path_walk(start, path, WMK_PATH_MAKE | WMK_PATH_FOLLOW), err;

	if (dir < 0)
		return dir;
	err = check_empty(dir);
	if (err < 0) {
		close(dir);
		return err;
	}
	return dir;
}

static int directory_error(int err, const char *path)
{
	switch (err) {
	case -ENOTEMPTY:
		return wmk_error(err, "%.240s is not empty (name a directory that is absent or empty)", path);
	case -ENOTDIR:
	case -ELOOP:
		return wmk_error(err, "%.240s is not a directory, or is a link", path);
	case -EMLINK:
		return wmk_error(-EACCES,
				 "the path to %.200s has a link that another user owns and could redirect (name the "
				 "directory itself)",
				 path);
	default:
		return wmk_error(err, "cannot create or open trace directory %.80s: %s", path, strerror(-err));
	}
}

int wmk_store_check_path(const char *path)
{
	int fd = open(path, DIR_FLAGS);
	int err = wmk_store_each_entry(fd < 0 ? -errno : fd, not_empty, NULL);

	return err == 0 || err == -ENOENT ? 0 : directory_error(err, path);
}

int wmk_store_make_directory(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int start = wmk_path_start(path), parent, err;
	char *above;

	/*
	 * Append "." to the parent's path, because wmk_path_walk() does not follow a link in the last component and the
	 * parent may be a link. The new directory itself must not be a symbolic link.
	 */
	if (asprintf(&above, "%.*s.", (int)(name - path), path) < 0)
		above = NULL;
	if (!above || start < 0) {
		err = !above ? -ENOMEM : start;
		if (start >= 0)
			close(start);
		free(above);
		return directory_error(err, path);
	}
	parent = wmk_path_walk(start, above, WMK_PATH_MAKE | WMK_PATH_FOLLOW);
	free(above);
	if (parent < 0)
		return directory_error(parent, path);
	err = mkdirat(parent, name, 0700) < 0 ? -errno : 0;
	close(parent);
	return err < 0 ? directory_error(err, path) : 0;
}

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

/* The way in which the trace is opened. Each value stands for a function in store.h. */
enum expect { CREATE, ADD, TAKE_OVER, OPEN };

/* The writer of a trace holds a lock on the metadata until its process ends. -EAGAIN: another writer has it. */
static int lock_metadata(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

static int is_more_than_metadata(void *data, int at, const char *name)
{
	(void)data;
	(void)at;
	return strcmp(name, "metadata") == 0 || strcmp(name, METADATA_NEW) == 0 || strcmp(name, WMK_STORE_LIVE) == 0 ||
	       strcmp(name, WMK_CLOCK_FILE) == 0 || strcmp(name, WMK_CLOCK_RELAY_FILE) == 0 ||
			       strcmp(name, ".chunk") == 0 || strcmp(name, "index") == 0
		       ? 0
		       : -ENOTEMPTY;
}

/* Return 0 if no stream was created, or else -ENOTEMPTY or another -errno. */
static int check_unused(const struct wmk_store *store)
{
	int fd = openat(store->dir, ".", DIR_FLAGS),
	    err = wmk_store_each_entry(fd < 0 ? -errno : fd, is_more_than_metadata, NULL);

	return err < 0 ? err : check_empty(store->index_dir);
}

/*
 * Take over the metadata of a writer that crashed before it created the first stream. The metadata file must belong to
 * this user and must not be locked, and no stream may exist. Truncates the file. -EEXIST: one of these conditions does
 * not hold.
 */
static int adopt_metadata(const struct wmk_store *store, const struct stat *st)
{
	const uid_t uid = wmk_file_identity_uid(store->identity);
	struct stat dir, now;

	if (st->st_uid != uid || st->st_nlink != 1 || fstat(store->dir, &dir) < 0 || dir.st_uid != uid)
		return -EEXIST;
	if (lock_metadata(store->metadata) < 0)
		return -EEXIST;
	/*
	 * Check the file only after locking it. Before the lock was taken, another writer may have replaced the
	 * metadata file, and so released its lock on the old file.
	 */
	if (fstatat(store->dir, "metadata", &now, AT_SYMLINK_NOFOLLOW) < 0 || now.st_ino != st->st_ino ||
	    now.st_dev != st->st_dev || check_unused(store) < 0)
		return -EEXIST;
	return ftruncate(store->metadata, 0) < 0 ? -errno : 0;
}

static int open_metadata(struct wmk_store *store, enum expect how)
{
	const bool fresh = how == CREATE || how == ADD;
	struct stat st;
	int err;

	/* O_NONBLOCK: another user who owns the directory could put a FIFO there, and the open would block */
	store->metadata = openat(store->dir, "metadata",
				 O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | (fresh ? O_CREAT | O_EXCL : 0), 0600);
	if (store->metadata < 0 || fstat(store->metadata, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (how == TAKE_OVER)
		return adopt_metadata(store, &st);
	err = lock_metadata(store->metadata);
	/*
	 * Another process has taken the file over before this process could lock the file. On a file system without
	 * locks, no process can take over metadata.
	 */
	if (fresh && err == -EAGAIN)
		return -EEXIST;
	store->metadata_len = (uint64_t)st.st_size;
	atomic_store_explicit(&store->bytes, (uint64_t)st.st_size, memory_order_relaxed);
	return 0;
}

/*
 * While the file .live exists, readers that follow the trace wait for a further writer after this writer has ended. If
 * the file .live does not exist, readers stop when the writer releases its lock on the metadata.
 */
static void live_begin(struct wmk_store *store)
{
	int fd = openat(store->dir, WMK_STORE_LIVE, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0600);

	/* The low-water time that a crashed writer has left may be later than the first records of this writer. */
	if (fd >= 0 && ftruncate(fd, 0) < 0) {
		close(fd);
		fd = -1;
	}
	store->live = fd;
}

static void live_end(struct wmk_store *store)
{
	const int entered = store->live >= 0 ? wmk_file_identity_enter(store->identity) : 0;

	if (entered < 0)
		wmk_error_clear();
	else if (store->live >= 0)
		unlinkat(store->dir, WMK_STORE_LIVE, 0);
	if (store->live >= 0)
		close(store->live);
	store->live = -1;
	wmk_file_identity_leave(entered);
}

static int open_below(const char *path, const char *sub)
{
	int top = wmk_path_open(path);

	return top < 0 ? top : wmk_path_walk(top, sub, 0);
}

/*
 * Remove the empty directories of `sub`, from the innermost directory outwards. If metadata exists, another writer uses
 * the directories, so the function removes nothing.
 */
static void remove_empty(const char *path, const char *sub)
{
	char *left = NULL, *slash;
	int at = open_below(path, sub);
	struct stat st;
	const bool unclaimed =
		at == -ENOENT || (at >= 0 && fstatat(at, "metadata", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);

	if (at >= 0)
		close(at);
	if (!unclaimed || asprintf(&left, "/%s/index", sub) < 0)
		return;
	while ((slash = strrchr(left, '/')) != NULL) {
		*slash = '\0';
		at = open_below(path, left);
		if (at < 0)
			continue;
		unlinkat(at, slash + 1, AT_REMOVEDIR);
		close(at);
	}
	free(left);
}

static struct wmk_store *store_new(const char *path, const char *sub, enum expect how)
{
	struct wmk_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	pthread_mutex_init(&store->lock, NULL);
	store->dir = store->index_dir = store->metadata = store->live = -1;
	store->clock.fd = store->relay_clock.fd = -1;
	store->identity = wmk_file_identity_ref();
	store->path = strdup(path);
	store->sub = how != OPEN ? strdup(sub) : NULL;
	if (store->path && (store->sub || how == OPEN))
		return store;
	wmk_store_close(store);
	return NULL;
}

static int open_store(const char *path, const char *sub, enum expect how, struct wmk_store **result)
{
	struct wmk_store *store = store_new(path, sub, how);
	int top, err;

	if (!store)
		return wmk_error(-ENOMEM, "no memory for trace directory %.80s", path);
	top = !path[0] ? -ENOENT : how == CREATE ? make_top(path) : wmk_path_open(path);
	if (top < 0) {
		wmk_store_close(store);
		return directory_error(top, path);
	}
	store->dir = wmk_path_walk(top, sub, WMK_PATH_MAKE);
	if (store->dir >= 0)
		store->index_dir = wmk_path_enter(store->dir, "index", WMK_PATH_MAKE);
	err = store->dir < 0 ? store->dir : store->index_dir < 0 ? store->index_dir : open_metadata(store, how);
	if (err == 0) {
		live_begin(store);
		*result = store;
		return 0;
	}
	/*
	 * Close the store before remove_empty(), because remove_empty() needs descriptors. The failure may have been
	 * caused by a lack of descriptors.
	 */
	wmk_store_close(store);
	if (how != OPEN)
		remove_empty(path, sub);
	return wmk_error(err, "cannot %s %.80s/%.40s: %s", how != OPEN ? "create" : "open", path, sub, strerror(-err));
}

int wmk_store_create(const char *path, const char *sub, struct wmk_store **store)
{
	return open_store(path, sub, CREATE, store);
}

int wmk_store_add(const char *path, const char *sub, struct wmk_store **store)
{
	return open_store(path, sub, ADD, store);
}

int wmk_store_take_over(const char *path, const char *sub, struct wmk_store **store)
{
	return open_store(path, sub, TAKE_OVER, store);
}

int wmk_store_open(const char *path, const char *sub, struct wmk_store **store)
{
	return open_store(path, sub, OPEN, store);
}

void wmk_store_close(struct wmk_store *store)
{
	const int fds[] = { store->clock.fd, store->relay_clock.fd, store->metadata, store->index_dir, store->dir };

	live_end(store);
	for (size_t i = 0; i < WMK_ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	pthread_mutex_destroy(&store->lock);
	wmk_file_identity_unref(store->identity);
	free(store->path);
	free(store->sub);
	free(store);
}

void wmk_store_discard(struct wmk_store *store)
{
	live_end(store);
	int entered = wmk_file_identity_enter(store->identity);

	if (entered < 0)
		wmk_error_clear();
	else if (store->sub && store->metadata_len == 0 && check_unused(store) == 0 &&
		 unlinkat(store->dir, "metadata", 0) == 0) {
		unlinkat(store->dir, WMK_CLOCK_FILE, 0);
		unlinkat(store->dir, WMK_CLOCK_RELAY_FILE, 0);
		unlinkat(store->dir, ".chunk", 0);
		remove_empty(store->path, store->sub);
	}
	wmk_file_identity_leave(entered);
	wmk_store_close(store);
}

const char *wmk_store_path(const struct wmk_store *store)
{
	return store->path;
}

/* Remove `done` bytes from the front of the iovec array. */
static void advance(struct iovec **iov, int *n, size_t done)
{
	while (*n && done >= (*iov)->iov_len) {
		done -= (*iov)->iov_len;
		(*iov)++;
		(*n)--;
	}
	if (*n) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + done;
		(*iov)->iov_len -= done;
	}
}

int wmk_store_write_whole(int fd, const struct iovec *iov, int n, uint64_t offset)
{
	struct iovec copy[IOV_MAX_OURS], *rest = copy;
	uint64_t at = offset;
	ssize_t done;
	int err;

	if (n > IOV_MAX_OURS)
		return -EINVAL;
	memcpy(copy, iov, (size_t)n * sizeof(*iov));
	advance(&rest, &n, 0);
	while (n) {
		done = pwritev(fd, rest, n, (off_t)at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			err = done < 0 ? -errno : -ENOSPC;
			/*
			 * If ftruncate() also fails, the next write overwrites the incomplete end of the file. A later
			 * process truncates the incomplete end when it opens the file.
			 */
			if (ftruncate(fd, (off_t)offset) < 0)
				(void)0;
			return err;
		}
		at += (uint64_t)done;
		advance(&rest, &n, (size_t)done);
	}
	return 0;
}

int wmk_store_metadata(struct wmk_store *store, const char *text, size_t len)
{
	const struct iovec iov = { .iov_base = (void *)(uintptr_t)text, .iov_len = len };
	int err;

	pthread_mutex_lock(&store->lock);
	err = wmk_store_write_whole(store->metadata, &iov, 1, store->metadata_len);
	if (err >= 0) {
		store->metadata_len += len;
		wmk_store_add_bytes(store, (int64_t)len);
	}
	pthread_mutex_unlock(&store->lock);
	if (err < 0)
		return wmk_error(err, "cannot write the metadata of %.80s: %s", store->path, strerror(-err));
	return 0;
}

/*
 * Write with one system call. A test build writes the first half of the text separately, so that a test can kill the
 * process between the two writes.
 */
static int write_declaration(struct wmk_store *store, const char *text, size_t len, uint64_t offset)
{
	const struct iovec iov = { .iov_base = (void *)(uintptr_t)text, .iov_len = len };
#ifdef WMK_TESTPOINTS
	const struct iovec half = { .iov_base = (void *)(uintptr_t)text, .iov_len = len / 2 };

	if (wmk_store_write_whole(store->metadata, &half, 1, offset) >= 0)
		WMK_TESTPOINT(metadata_torn);
#endif
	return wmk_store_write_whole(store->metadata, &iov, 1, offset);
}

int wmk_store_metadata_at(struct wmk_store *store, uint64_t offset, const char *text, size_t len)
{
	int err = 0;

	pthread_mutex_lock(&store->lock);
	const uint64_t before = store->metadata_len;

	if (offset > before) {
		err = -ESTALE;
	} else if (len > before - offset) {
		store->metadata_len = offset;
		err = write_declaration(store, text, len, offset);
		if (err >= 0)
			store->metadata_len += len;
		wmk_store_add_bytes(store, (int64_t)(store->metadata_len - before));
	}
	pthread_mutex_unlock(&store->lock);
	if (err == -ESTALE)
		return wmk_error(err, "the metadata of %.80s has %llu bytes, less than the %llu written before",
				 store->path, (unsigned long long)before, (unsigned long long)offset);
	return err < 0 ? wmk_error(err, "cannot write the metadata of %.80s: %s", store->path, strerror(-err)) : 0;
}

int wmk_store_comment(struct wmk_store *store, const char *words)
{
	struct wmk_ctf_text_buffer text = { 0 };
	char first = 0;
	int fd = openat(store->dir, "metadata", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int err = fd < 0 || pread(fd, &first, 1, 0) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (err >= 0 && first != '\x1e')         /* a record separator: the file is a sequence of JSON texts */
		err = wmk_ctf_comment_text(&text, words);
	if (err >= 0 && text.len)
		err = wmk_store_metadata(store, text.text, text.len);
	wmk_ctf_text_free(&text);
	return err;
}

/* Write a complete new file, and then rename it to the name of the metadata file. Returns its descriptor or -errno. */
static int write_new_metadata(const struct wmk_store *store, const struct iovec *iov)
{
	unlinkat(store->dir, METADATA_NEW, 0);   /* left by a crash */
	int fd = openat(store->dir, METADATA_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : wmk_store_write_whole(fd, iov, 1, 0);

	/*
	 * Lock the new file before it is renamed, so that no other process can take the file over. Errors of the lock
	 * are ignored, because some file systems do not support locks.
	 */
	if (err == 0)
		(void)lock_metadata(fd);
	WMK_TESTPOINT(metadata_before_rename);
	if (err == 0 && renameat(store->dir, METADATA_NEW, store->dir, "metadata") != 0)
		err = -errno;
	if (err < 0 && fd >= 0) {
		unlinkat(store->dir, METADATA_NEW, 0);
		close(fd);
	}
	return err < 0 ? err : fd;
}

int wmk_store_metadata_replace(struct wmk_store *store, const char *text, size_t len)
{
	const struct iovec iov = { .iov_base = (void *)(uintptr_t)text, .iov_len = len };

	int entered = wmk_file_identity_enter(store->identity);
	if (entered < 0)
		return entered;
	pthread_mutex_lock(&store->lock);
	int fd = write_new_metadata(store, &iov);
	if (fd >= 0) {
		close(store->metadata);
		store->metadata = fd;
		wmk_store_add_bytes(store, (int64_t)(len - store->metadata_len));
		store->metadata_len = len;
	}
	pthread_mutex_unlock(&store->lock);
	wmk_file_identity_leave(entered);
	return fd < 0 ? wmk_error(fd, "cannot replace the metadata of %.80s: %s", store->path, strerror(-fd)) : 0;
}
