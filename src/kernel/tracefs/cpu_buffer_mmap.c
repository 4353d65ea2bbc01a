/* SPDX-License-Identifier: MIT */
/*
 * cpu_buffer_mmap.c - a CPU's buffer mapped (Linux 6.10): all pages of it, and before them one that names the reader's.
 *
 * One page is always the reader's: the writer does not reuse it. A call, GET_READER, does one of two things. If
 * something is on the reader's page that it did not count as read, it counts all of that as read, up to reader.read,
 * and stays on the page. Otherwise it gives that page back, takes the oldest one instead, and counts what is on it. It
 * does that even if the writer is still filling it; the writer then goes on in the reader's page until that is full.
 *
 * So what is on the page is there as long as no call is made while all of it counts as read: what was not given yet
 * must be more than what the kernel knows of, or the call is not made. To know that without a call, the page's own
 * length is looked at. It is only a hint, as the call is what orders the memory; what is given ends at reader.read.
 *
 * A page that the writer has left is full: less than the smallest event has room (the rest is filled with padding), or
 * it is marked with a loss, which the call does when it takes such a page. A page of length 0 is none that the writer
 * is on: so it is at first, and after the buffer was emptied.
 *
 * reader.lost_events is of no use: the call has moved it to the page before it writes it down.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/tracefs/cpu_buffer_modes.h"

/* Of the kernel's interface for user space: the page before the others. Later kernels append to it. */
struct wmk_kmap_meta {
	uint32_t meta_page_size;           /* where the pages begin */
	uint32_t meta_struct_len;
	uint32_t page_size;
	uint32_t n_pages;                  /* the reader's included */
	struct {
		uint64_t lost_events;
		uint32_t id, read;
	} reader;
	uint64_t flags;
	uint64_t entries, overrun, read;
};

#define FLAGS (3u << 30)
#define PAGES_MAX (UINT64_C(1) << 40)  /* bytes of one CPU's buffer */

/* The second is what it was at first: it is also that of TCGETS, so it was changed. */
static const unsigned long get_reader[] = { _IO('R', 0x20), _IO('T', 0x1) };

static uint32_t data_room(const struct wmk_kcpu *buffer)
{
	return buffer->layout.page_size - buffer->layout.data_at;
}

static const uint8_t *reader_page(const struct wmk_kcpu *buffer)
{
	return buffer->pages + (size_t)buffer->id * buffer->layout.page_size;
}

/* Which page is the reader's, and how much of it counts as read. */
static int look(struct wmk_kcpu *buffer)
{
	const uint32_t id = __atomic_load_n(&buffer->meta->reader.id, __ATOMIC_ACQUIRE),
		       read = __atomic_load_n(&buffer->meta->reader.read, __ATOMIC_RELAXED);

	if (id >= buffer->n_pages || read > data_room(buffer))
		return wmk_error(-EIO, "the mapped buffer of CPU %u has page %u of %u, of it %u bytes of %u",
				 buffer->cpu, id, buffer->n_pages, read, data_room(buffer));
	/* One call takes one page at most, and that is never the one that was given back. */
	if (id != buffer->id) {
		buffer->given = 0;
		buffer->again = false;
	}
	buffer->id = id;
	buffer->taken = read;
	return 0;
}

static int take(struct wmk_kcpu *buffer)
{
	if (ioctl(buffer->fd, buffer->get_reader) < 0)
		return wmk_error(-errno, "cannot get a page of the mapped buffer of CPU %u", buffer->cpu);
	return look(buffer);
}

static void give(struct wmk_kcpu *buffer)
{
	buffer->part = (struct wmk_kpart){
		.bytes = reader_page(buffer),
		.size = buffer->layout.page_size,
		.from = buffer->given,
		.until = buffer->taken,
		.again = buffer->again,
	};
}

int wmk_kcpu_map_next(struct wmk_kcpu *buffer, bool flush)
{
	/* The next page, its rest if the writer left it since then, and it is given: no more turns than these. */
	for (unsigned round = 0; round < 3; round++) {
		const uint32_t word = __atomic_load_n((const uint32_t *)(const void *)(reader_page(buffer) +
										       buffer->layout.commit_at),
						      __ATOMIC_ACQUIRE);
		const uint32_t len = word & ~FLAGS;
		const bool full = (word & FLAGS) || len + WMK_KPAGE_EVENT_MIN > data_room(buffer);
		int err;

		if (len && !full && !flush)
			return 0;
		if (buffer->taken > buffer->given && (len == buffer->taken || (flush && round > 0))) {
			give(buffer);
			return 1;
		}
		err = take(buffer);
		if (err < 0)
			return err;
		/* Less: the buffer was emptied, and what comes is on another page. */
		if (buffer->taken <= buffer->given)
			return 0;
	}
	return 0;
}

void wmk_kcpu_map_again(const struct wmk_kcpu *buffer, struct wmk_kpart *part)
{
	*part = (struct wmk_kpart){ .bytes = reader_page(buffer), .size = buffer->layout.page_size, .until = buffer->taken, .again = true };
}

int wmk_kcpu_map_emptied(struct wmk_kcpu *buffer)
{
	buffer->given = 0;
	return look(buffer);
}

/* Which number the request has: a buffer that nobody has mapped knows it, and says that it is not mapped. */
static int probe(struct wmk_kcpu *buffer)
{
	for (size_t i = 0; i < sizeof(get_reader) / sizeof(*get_reader); i++) {
		buffer->get_reader = get_reader[i];
		if (ioctl(buffer->fd, buffer->get_reader) == 0)
			return wmk_error_said(-EBUSY, "the buffer of CPU %u is mapped by somebody else", buffer->cpu);
		if (errno == ENODEV)
			return 0;
	}
	return wmk_error_said(-ENOTSUP, "this kernel cannot map the buffers of its tracer (Linux 6.10 can)");
}

/* The sizes do not change as long as it is mapped. */
static int map(struct wmk_kcpu *buffer)
{
	const struct wmk_kmap_meta *meta;
	void *pages;

	buffer->meta_bytes = (size_t)sysconf(_SC_PAGESIZE);
	meta = mmap(NULL, buffer->meta_bytes, PROT_READ, MAP_SHARED, buffer->fd, 0);
	if (meta == MAP_FAILED)
		return wmk_error(-ENOTSUP, "cannot map the buffer of CPU %u: %s", buffer->cpu, strerror(errno));
	buffer->meta = meta;
	if (meta->meta_struct_len < sizeof(*meta) || meta->page_size != buffer->layout.page_size || meta->n_pages < 2 ||
	    (uint64_t)meta->n_pages * meta->page_size > PAGES_MAX || meta->meta_page_size < buffer->meta_bytes ||
	    meta->meta_page_size % buffer->meta_bytes)
		return wmk_error(-ENOTSUP, "the mapped buffer of CPU %u is of a kind that is not known", buffer->cpu);
	buffer->n_pages = meta->n_pages;
	buffer->pages_bytes = (size_t)buffer->n_pages * buffer->layout.page_size;
	pages = mmap(NULL, buffer->pages_bytes, PROT_READ, MAP_SHARED, buffer->fd, meta->meta_page_size);
	if (pages == MAP_FAILED)
		return wmk_error(-ENOTSUP, "cannot map %zu bytes of the buffer of CPU %u: %s", buffer->pages_bytes,
				 buffer->cpu, strerror(errno));
	buffer->pages = pages;
	return 0;
}

int wmk_kcpu_map_open(struct wmk_kcpu *buffer)
{
	int err = probe(buffer);

	if (err < 0)
		return err;
	err = map(buffer);
	if (err == 0)
		err = look(buffer);
	if (err < 0)
		wmk_kcpu_map_close(buffer);
	else
		buffer->again = buffer->taken > 0;
	return err;
}

void wmk_kcpu_map_close(struct wmk_kcpu *buffer)
{
	if (buffer->pages)
		munmap((void *)(uintptr_t)buffer->pages, buffer->pages_bytes);
	if (buffer->meta)
		munmap((void *)(uintptr_t)buffer->meta, buffer->meta_bytes);
	buffer->pages = NULL;
	buffer->meta = NULL;
}
