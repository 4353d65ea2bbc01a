/* SPDX-License-Identifier: MIT */
/* spool.c - files of a trace in a spool (see spool.h). */
#include "store/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "store/path.h"
#include "store/store_state.h"

#define BOOT_ID 64

static int write_at_end(int dir, const char *name, int flags, const void *bytes, size_t len)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0600), err;

	if (fd < 0)
		return -errno;
	const ssize_t n = write(fd, bytes, len);

	err = n < 0 ? -errno : (size_t)n < len ? -ENOSPC : 0;
	close(fd);
	return err;
}

int wmk_store_spool_uuid(struct wmk_store *store, const uint8_t uuid[16])
{
	int entered = wmk_file_identity_enter(store->identity);
	int err = entered < 0 ? entered : write_at_end(store->dir, WMK_SPOOL_UUID, O_TRUNC, uuid, 16);

	wmk_file_identity_leave(entered);
	return err < 0 ? wmk_error(err, "cannot write the UUID of the trace in %.240s: %s", store->path,
				   strerror(-err))
		       : 0;
}

int wmk_store_spool_cleared(struct wmk_store *store, const char *stream, bool removed)
{
	char line[WMK_STORE_STREAM_NAME_MAX + 2];
	int entered = wmk_file_identity_enter(store->identity), err = entered < 0 ? entered : 0;

	uint64_t first;

	snprintf(line, sizeof(line), "%.*s\n", (int)WMK_STORE_STREAM_NAME_MAX, stream);
	if (err >= 0 && !removed && wmk_store_file_numbers(store->dir, stream, &first) == 0) {
		wmk_file_identity_leave(entered);
		return 0;
	}
	if (err >= 0)
		err = write_at_end(store->dir, WMK_SPOOL_CLEARED, O_APPEND, line, strlen(line));
	wmk_file_identity_leave(entered);
	return err < 0 ? wmk_error(err, "cannot record that stream %.100s in %.100s was cleared: %s", stream,
				   store->path, strerror(-err))
		       : 1;
}

int wmk_store_spool_directory(const char *path)
{
	return wmk_path_open(path);
}

/* The identifier of the current boot of the machine. "": unknown. */
static void boot_id(char id[BOOT_ID])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : read(fd, id, BOOT_ID - 1);

	if (fd >= 0)
		close(fd);
	id[n > 0 ? n : 0] = '\0';
	id[strcspn(id, "\n")] = '\0';
}

int wmk_store_spool_begin(int directory, const char *url, bool kernel)
{
	struct flock side = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = kernel, .l_len = 1 };
	char boot[BOOT_ID], *text = NULL;
	int fd = openat(directory, WMK_SPOOL_RELAY, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : 0, len;

	if (err == 0 && fcntl(fd, F_OFD_SETLK, &side) < 0)
		err = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	boot_id(boot);
	len = err == 0 ? asprintf(&text, "%s\n%s\n", url, boot) : 0;
	if (err == 0 && (len < 0 || pwrite(fd, text, (size_t)len, 0) != len))
		err = -EIO;
	if (len > 0)
		free(text);
	if (err < 0 && fd >= 0)
		close(fd);
	return err < 0 ? wmk_error(err, "cannot lock the spool for a sender: %s", strerror(-err)) : fd;
}

int wmk_store_spool_note_end(int directory, bool ended)
{
	int err = !ended && unlinkat(directory, WMK_SPOOL_ENDED, 0) < 0 && errno != ENOENT ? -errno : 0;

	if (ended)
		err = write_at_end(directory, WMK_SPOOL_ENDED, 0, "", 0);
	return err < 0 ? wmk_error(err, "cannot write the spool: %s", strerror(-err)) : 0;
}

/*
 * A sender first removes WMK_SPOOL_RELAY, and then WMK_SPOOL_ENDED. After note_end_beside_sender() has returned, a
 * spool without WMK_SPOOL_RELAY therefore also has no WMK_SPOOL_ENDED.
 */
static int note_end_beside_sender(int directory, const char *path)
{
	struct stat st;
	int err = fstatat(directory, WMK_SPOOL_RELAY, &st, AT_SYMLINK_NOFOLLOW) < 0
			  ? 0
			  : wmk_store_spool_note_end(directory, true);

	if (err == 0 && fstatat(directory, WMK_SPOOL_RELAY, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		unlinkat(directory, WMK_SPOOL_ENDED, 0);
		rmdir(path);
	}
	return err;
}

int wmk_store_spool_end(const char *path, uid_t uid, gid_t gid)
{
	int err = wmk_store_identity_begin(uid, gid), dir = err < 0 ? -1 : wmk_path_open(path);

	if (dir >= 0) {
		err = note_end_beside_sender(dir, path);
		close(dir);
	} else if (err == 0 && dir != -ENOENT) {
		err = wmk_error(dir, "cannot open the spool %.240s: %s", path, strerror(-dir));
	}
	wmk_store_identity_end();
	return err < 0 ? err : 0;
}

bool wmk_store_spool_is_left(int directory, char *url, size_t size)
{
	int fd = openat(directory, WMK_SPOOL_RELAY, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	char text[1024], boot[BOOT_ID], *end;
	const ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	struct stat st;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	end = strchr(text, '\n');
	if (!end || (size_t)(end - text) >= size)
		return false;
	memcpy(url, text, (size_t)(end - text));
	url[end - text] = '\0';
	boot_id(boot);
	return fstatat(directory, WMK_SPOOL_ENDED, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       strncmp(end + 1, boot, strlen(boot)) != 0;
}

void wmk_store_spool_remove(const char *path)
{
	rmdir(path);
}
