/* SPDX-License-Identifier: MIT */
/*
 * cpu_buffer_mmap.c - the mapped buffer of a CPU (Linux 6.10): all its pages, after a meta page that names the reader
 * page.
 *
 * The writer does not reuse the reader page. The ioctl GET_READER does one of two things. If the reader page has data
 * that does not count as read yet, GET_READER counts all data of the page as read, and keeps the page. reader.read is
 * then the end of the counted data. If all data of the reader page counts as read, GET_READER returns the page to the
 * writer. GET_READER then makes the oldest page the reader page, and counts the data of the new reader page. The writer
 * may still be filling the oldest page: the writer then continues in the reader page until the page is full.
 *
 * An ioctl therefore makes the data of the page invalid only if all data of the page counts as read. This file calls
 * the ioctl GET_READER in two cases: all data that counts as read was released, or the page has more data than the
 * kernel has counted as read. The length field of the page shows without an ioctl whether the page has more data than
 * the kernel has counted. The length field is only a hint, because only the ioctl orders the memory accesses. The
 * function returns data up to reader.read.
 *
 * A page that the writer has left is full. The free space of a full page is smaller than the smallest event (the rest
 * is padding), or the page has the flags of a loss. If records were lost before a page, GET_READER sets the flags of a
 * loss in the page when the page becomes the reader page. A page has the length 0 at first, and after the buffer was
 * emptied. If the reader page has the length 0, the writer fills another page.
 *
 * reader.lost_events is not used: the ioctl moves the count into the page before it sets this field.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "kernel/tracefs/cpu_buffer_modes.h"

/* The kernel maps a meta page before the data pages. Later kernels append fields. */
struct wmk_kmap_meta {
	uint32_t meta_page_size;           /* offset of the first page */
	uint32_t meta_struct_len;
	uint32_t page_size;
	uint32_t n_pages;                  /* with the reader page */
	struct {
		uint64_t lost_events;
		uint32_t id, read;
	} reader;
	uint64_t flags;
	uint64_t entries, overrun, read;
};

#define FLAGS (3u << 30)
#define PAGES_MAX (UINT64_C(1) << 40)  /* upper limit of bytes in one CPU's buffer */

/*
 * The second number in this array is the original number of the ioctl GET_READER. The original number conflicts with
 * TCGETS, so later kernels use the first number.
 */
static const unsigned long get_reader[] = { _IO('R', 0x20), _IO('T', 0x1) };

static uint32_t data_room(const struct wmk_kcpu *buffer)
{
	return buffer->layout.page_size - buffer->layout.data_at;
}

static const uint8_t *reader_page(const struct wmk_kcpu *buffer)
{
	return buffer->pages + (size_t)buffer->id * buffer->layout.page_size;
}

/* Update the index of the reader page, and the number of its bytes that count as read. */
static int look(struct wmk_kcpu *buffer)
{
	const uint32_t id = __atomic_load_n(&buffer->meta->reader.id, __ATOMIC_ACQUIRE),
		       read = __atomic_load_n(&buffer->meta->reader.read, __ATOMIC_RELAXED);

	if (id >= buffer->n_pages || read > data_room(buffer))
		return wmk_error(-EIO,
				 "the mapped buffer of CPU %u has invalid positions: page %u of %u, byte %u of %u",
				 buffer->cpu, id, buffer->n_pages, read, data_room(buffer));
	/*
	 * One ioctl takes at most one page, and never the page that it returns to the writer. A new reader page
	 * therefore has another id.
	 */
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
	/*
	 * Three rounds suffice. The first iteration takes the next page. If the writer has left this page in the
	 * meantime, the second iteration takes the rest of the page. The third iteration returns the data.
	 */
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
		/* The page has no new data, because the buffer was emptied and new data goes to another page. */
		if (buffer->taken <= buffer->given)
			return 0;
	}
	return 0;
}

void wmk_kcpu_map_again(const struct wmk_kcpu *buffer, struct wmk_kpart *part)
{
	*part = (struct wmk_kpart){ .bytes = reader_page(buffer), .size = buffer->layout.page_size,
				    .until = buffer->taken, .again = true };
}

int wmk_kcpu_map_emptied(struct wmk_kcpu *buffer)
{
	buffer->given = 0;
	return look(buffer);
}

/*
 * Find the number of the ioctl. If the buffer is not mapped, an ioctl with the number that the kernel supports fails
 * with ENODEV.
 */
static int probe(struct wmk_kcpu *buffer)
{
	for (size_t i = 0; i < WMK_ARRAY_LEN(get_reader); i++) {
		buffer->get_reader = get_reader[i];
		if (ioctl(buffer->fd, buffer->get_reader) == 0)
			return wmk_errorx(-EBUSY, "the buffer of CPU %u is mapped by another process", buffer->cpu);
		if (errno == ENODEV)
			return 0;
	}
	return wmk_errorx(-ENOTSUP, "this kernel cannot map trace buffers (it needs Linux 6.10)");
}

/* The kernel does not change the sizes while the buffer is mapped. */
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
		return wmk_error(-ENOTSUP, "the mapped buffer of CPU %u has an unknown layout", buffer->cpu);
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
