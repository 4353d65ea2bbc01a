/* SPDX-License-Identifier: MIT */
/*
 * cpu_buffer.c - open the buffer of a CPU in the best supported mode, and return its new data part by part.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/proc/procfs.h"
#include "kernel/tracefs/cpu_buffer_modes.h"

static int open_beneath(int instance, const char *path, int flags)
{
	const int fd = openat(instance, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | flags);

	return fd >= 0 ? fd : wmk_error(-errno, "cannot open %s", path);
}

/* Read the page layout of this instance; other instances can have other sizes. */
static int read_layout(int instance, struct wmk_kpage_layout *layout)
{
	char text[1024];
	const long n = wmk_kproc_read(instance, "events/header_page", text, sizeof(text));

	return n < 0 ? wmk_error((int)n, "cannot read events/header_page")
		     : wmk_kpage_layout_parse(text, (size_t)n, layout);
}

/*
 * A CPU that was never online has files in tracefs, but no buffer. Only poll() reports that the buffer does not exist:
 * poll() returns POLLERR.
 */
static bool has_buffer(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, 0) <= 0 || !(polled.revents & POLLERR);
}

static int open_files(struct wmk_kcpu *buffer, int instance)
{
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", buffer->cpu);
	buffer->stats_fd = open_beneath(instance, path, 0);
	if (buffer->stats_fd < 0)
		return buffer->stats_fd;
	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", buffer->cpu);
	buffer->fd = open_beneath(instance, path, O_NONBLOCK);
	if (buffer->fd < 0)
		return buffer->fd;
	if (!has_buffer(buffer->fd))
		return wmk_errorx(-ENODEV, "CPU %u has no buffer: it has not been online since the tracefs instance "
					   "was created", buffer->cpu);
	/*
	 * The kernel allows several readers, and each reader would get a part of the records. The lock excludes other
	 * readers of Waymark. The kernel releases the lock when the process ends.
	 */
	if (flock(buffer->fd, LOCK_EX | LOCK_NB) < 0)
		return wmk_errorx(errno == EWOULDBLOCK ? -EBUSY : -errno,
				  "the buffer of CPU %u is in use: another process has locked %s", buffer->cpu,
				  path);
	return read_layout(instance, &buffer->layout);
}

static int open_mode(struct wmk_kcpu *buffer, enum wmk_kcpu_mode mode)
{
	int err = -ENOTSUP;

	for (enum wmk_kcpu_mode each = mode == WMK_KCPU_BEST ? WMK_KCPU_MAP : mode; err < 0 && each <= WMK_KCPU_READ;
	     each++) {
		wmk_error_clear();
		buffer->mode = each;
		err = each == WMK_KCPU_MAP ? wmk_kcpu_map_open(buffer) : wmk_kcpu_copy_open(buffer);
		/*
		 * -EBUSY: another process has mapped the buffer and gets the records, even if this process uses another
		 * mode.
		 */
		if (mode != WMK_KCPU_BEST || err == -EBUSY)
			break;
	}
	return err;
}

int wmk_kcpu_open(int instance, unsigned cpu, enum wmk_kcpu_mode mode, struct wmk_kcpu **buffer)
{
	struct wmk_kcpu *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory to read the buffer of CPU %u", cpu);
	made->cpu = cpu;
	made->fd = made->stats_fd = made->pipe[0] = made->pipe[1] = -1;
	err = open_files(made, instance);
	if (err == 0)
		err = open_mode(made, mode);
	if (err < 0) {
		wmk_kcpu_close(made);
		return wmk_error_add(err, "cannot read the kernel's records of CPU %u", cpu);
	}
	*buffer = made;
	return 0;
}

enum wmk_kcpu_mode wmk_kcpu_mode(const struct wmk_kcpu *buffer)
{
	return buffer->mode;
}

const struct wmk_kpage_layout *wmk_kcpu_layout(const struct wmk_kcpu *buffer)
{
	return &buffer->layout;
}

int wmk_kcpu_next(struct wmk_kcpu *buffer, bool flush, struct wmk_kpart *part)
{
	int got = 1;

	if (!buffer->held) {
		switch (buffer->mode) {
		case WMK_KCPU_MAP:
			got = wmk_kcpu_map_next(buffer, flush);
			break;
		case WMK_KCPU_SPLICE:
			got = wmk_kcpu_splice_next(buffer, flush);
			break;
		default:
			got = wmk_kcpu_read_next(buffer, flush);
		}
	}
	if (got == 1) {
		buffer->held = true;
		*part = buffer->part;
	}
	return got;
}

void wmk_kcpu_release(struct wmk_kcpu *buffer)
{
	if (!buffer->held)
		return;
	buffer->held = buffer->again = false;
	buffer->given = buffer->part.until;
}

int wmk_kcpu_again(const struct wmk_kcpu *buffer, struct wmk_kpart *part)
{
	if (buffer->mode != WMK_KCPU_MAP || !buffer->again)
		return 0;
	wmk_kcpu_map_again(buffer, part);
	return 1;
}

/*
 * The kernel empties the buffer when the file `trace`, the text form of the buffer, is opened with O_TRUNC. A part that
 * was returned and not released becomes invalid.
 */
int wmk_kcpu_empty(struct wmk_kcpu *buffer, int instance)
{
	char path[64];

	buffer->held = buffer->again = false;
	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace", buffer->cpu);
	const int fd = openat(instance, path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return wmk_error(-errno, "cannot empty %s", path);
	close(fd);
	return buffer->mode == WMK_KCPU_MAP ? wmk_kcpu_map_emptied(buffer) : wmk_kcpu_copy_emptied(buffer);
}

int wmk_kpart_open(const struct wmk_kcpu *buffer, const struct wmk_kpart *part, struct wmk_kpage *page)
{
	const int err = wmk_kpage_open(&buffer->layout, part->bytes, part->size, page);

	return err < 0 ? err : wmk_kpage_part(page, part->from, part->until);
}

bool wmk_kcpu_holds(const struct wmk_kcpu *buffer)
{
	return buffer->mode == WMK_KCPU_MAP ? buffer->taken > buffer->given : buffer->piped > 0;
}

int wmk_kcpu_fd(const struct wmk_kcpu *buffer)
{
	return buffer->fd;
}

void wmk_kcpu_close(struct wmk_kcpu *buffer)
{
	if (!buffer)
		return;
	wmk_kcpu_map_close(buffer);
	wmk_kcpu_copy_close(buffer);
	if (buffer->stats_fd >= 0)
		close(buffer->stats_fd);
	if (buffer->fd >= 0)
		close(buffer->fd);
	free(buffer);
}
