/* SPDX-License-Identifier: MIT */
/*
 * clock_file.c - append sync points to the files .clock and .clock.relay of a trace (base/clock_point.h). A crash can
 * leave an incomplete point at the end of a file. The next point that is written overwrites the incomplete point.
 */
#include "store/store_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static int read_whole(int fd, uint8_t *bytes, size_t len, uint64_t at)
{
	return pread(fd, bytes, len, (off_t)at) == (ssize_t)len ? 0 : -EPROTO;
}

static bool is_same_clock(const struct wmk_clock_head *a, const struct wmk_clock_head *b)
{
	return strcmp(a->uuid, b->uuid) == 0 && strcmp(a->relay, b->relay) == 0;
}

/*
 * Find the end of the complete points, and the clock value of the last complete point. -ESTALE: the file has points of
 * another clock.
 */
static int find_end(struct wmk_store_clock *clock, const struct wmk_clock_head *head)
{
	uint8_t wanted[WMK_CLOCK_RELAY_HEAD], found[WMK_CLOCK_RELAY_HEAD], bytes[WMK_CLOCK_POINT_BYTES];
	const size_t len = wmk_clock_head_encode(head, wanted);
	struct wmk_clock_head same;
	struct wmk_clock_point last;
	struct stat st;

	if (fstat(clock->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size < len + WMK_CLOCK_POINT_BYTES)
		return 0;
	if (read_whole(clock->fd, found, len, 0) < 0 || wmk_clock_head_decode(found, len, &same) < 0 ||
	    !is_same_clock(&same, head))
		return -ESTALE;
	clock->len = (uint64_t)st.st_size - ((uint64_t)st.st_size - len) % WMK_CLOCK_POINT_BYTES;
	if (read_whole(clock->fd, bytes, sizeof(bytes), clock->len - sizeof(bytes)) < 0)
		return -EIO;
	wmk_clock_point_decode(bytes, &last);
	clock->last = last.value;
	return 0;
}

static int open_file(struct wmk_store *store, struct wmk_store_clock *clock, const struct wmk_clock_head *head)
{
	const char *name = head->relay[0] ? WMK_CLOCK_RELAY_FILE : WMK_CLOCK_FILE;
	int entered = wmk_file_identity_enter(store->identity), err;

	if (entered < 0)
		return entered;
	clock->fd = openat(store->dir, name, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0600);
	err = clock->fd < 0 ? -errno : find_end(clock, head);
	/* The relay's machine was restarted, so its clocks count from another start time. */
	if (err == -ESTALE && head->relay[0])
		err = ftruncate(clock->fd, 0) < 0 ? -errno : 0;
	wmk_file_identity_leave(entered);
	if (err < 0 && clock->fd >= 0) {
		close(clock->fd);
		clock->fd = -1;
	}
	return err;
}

/* Append one sync point. If the file is empty, first write the header of the file. */
static int append(struct wmk_store *store, struct wmk_store_clock *clock, const struct wmk_clock_head *head,
		  const struct wmk_clock_point *point)
{
	uint8_t bytes[WMK_CLOCK_RELAY_HEAD + WMK_CLOCK_POINT_BYTES];
	size_t len = 0;

	/*
	 * Clock values decrease if two threads append their points in the wrong order, or if the counter has restarted.
	 * The clock values in the file must always increase.
	 */
	if (clock->len && point->value <= clock->last)
		return 0;
	if (!clock->len)
		len = wmk_clock_head_encode(head, bytes);
	wmk_clock_point_encode(point, bytes + len);
	len += WMK_CLOCK_POINT_BYTES;
	const struct iovec iov = { .iov_base = bytes, .iov_len = len };
	const int err = wmk_store_write_whole(clock->fd, &iov, 1, clock->len);

	if (err < 0)
		return err;
	clock->len += len;
	clock->last = point->value;
	wmk_store_add_bytes(store, (int64_t)len);
	return 0;
}

int wmk_store_clock_point(struct wmk_store *store, const struct wmk_clock_head *head,
			  const struct wmk_clock_point *point)
{
	struct wmk_store_clock *clock = head->relay[0] ? &store->relay_clock : &store->clock;
	int err = 0;

	pthread_mutex_lock(&store->lock);
	if (clock->fd < 0)
		err = open_file(store, clock, head);
	if (err >= 0)
		err = append(store, clock, head, point);
	pthread_mutex_unlock(&store->lock);
	return err < 0 ? wmk_error(err, "cannot write the sync points of %.80s: %s", store->path, strerror(-err)) : 0;
}
