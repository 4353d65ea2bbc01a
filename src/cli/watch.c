/* SPDX-License-Identifier: MIT */
/*
 * watch.c - see watch.h.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/watch.h"

#define RING_PAGES_MOST 16u
#define RING_PAGES_LEAST 2u
#define SWEEPS_MAX 64

struct at {
	uint64_t time;
	size_t offset;
};

static int event_open(pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		/*
		 * Wake this process for every record, because the environment of a process can be read only while the
		 * process exists.
		 */
		.watermark = 1,
		.wakeup_watermark = 1,
		/* Use one clock for all CPUs, so that the rings of all CPUs can be merged by time. */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static struct perf_event_mmap_page *ring_page(const struct wmk_watch_ring *ring)
{
	return ring->map;
}

static int ring_open(struct wmk_watch *watch, pid_t pid, int cpu)
{
	struct wmk_watch_ring ring = { .fd = event_open(pid, cpu), .map = MAP_FAILED };
	/*
	 * The descriptor is watched edge-triggered, because it stays readable for ever when all watched processes have
	 * ended.
	 */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int err;

	if (ring.fd < 0)
		return errno == ENODEV ? 0 : -errno;    /* the CPU is offline */
	for (unsigned pages = RING_PAGES_MOST; pages >= RING_PAGES_LEAST && ring.map == MAP_FAILED; pages /= 2)
		ring.map = mmap(NULL, (pages + 1) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (ring.map != MAP_FAILED && epoll_ctl(watch->fd, EPOLL_CTL_ADD, ring.fd, &event) == 0) {
		watch->rings[watch->n++] = ring;
		return 0;
	}
	err = -errno;
	if (ring.map != MAP_FAILED)
		munmap(ring.map, (size_t)(ring_page(&ring)->data_offset + ring_page(&ring)->data_size));
	close(ring.fd);
	return err;
}

int wmk_watch_open(struct wmk_watch *watch, pid_t pid)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err = 0;

	memset(watch, 0, sizeof(*watch));
	watch->fd = epoll_create1(EPOLL_CLOEXEC);
	watch->rings = cpus > 0 ? calloc((size_t)cpus, sizeof(*watch->rings)) : NULL;
	if (watch->fd < 0 || !watch->rings)
		err = -ENOMEM;
	for (int cpu = 0; cpu < cpus && err == 0; cpu++)
		err = ring_open(watch, pid, cpu);
	if (err < 0)
		wmk_watch_close(watch);
	return err;
}

void wmk_watch_close(struct wmk_watch *watch)
{
	for (unsigned i = 0; i < watch->n; i++) {
		const struct perf_event_mmap_page *page = ring_page(&watch->rings[i]);

		munmap(watch->rings[i].map, (size_t)(page->data_offset + page->data_size));
		close(watch->rings[i].fd);
	}
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch->rings);
	free(watch->bytes);
	memset(watch, 0, sizeof(*watch));
	watch->fd = -1;
}

/* Append the content of the ring to watch->bytes. Returns true if the ring had content. */
static bool ring_take(struct wmk_watch *watch, const struct wmk_watch_ring *ring)
{
	struct perf_event_mmap_page *page = ring_page(ring);
	const unsigned char *data = (const unsigned char *)ring->map + page->data_offset;
	/*
	 * (Kernel) acquire: pairs with the kernel's publication of data_head; the release below with its check for
	 * space.
	 */
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
	size_t n = (size_t)(head - tail), size = (size_t)page->data_size, at = (size_t)(tail & (size - 1));
	size_t first = n < size - at ? n : size - at;

	if (n == 0)
		return false;
	if (watch->cap - watch->len < n) {
		unsigned char *more = realloc(watch->bytes, watch->len + n + size);

		if (!more)
			/* the records stay in the ring; the kernel counts records without room in the ring */
			return false;
		watch->bytes = more;
		watch->cap = watch->len + n + size;
	}
	memcpy(watch->bytes + watch->len, data + at, first);
	memcpy(watch->bytes + watch->len + first, data, n - first);
	watch->len += n;
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct at *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->offset < y->offset ? -1 : 1;
}

static uint32_t u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t u64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Deliver a kernel record. `body`: `len` bytes after the record header; the last bytes are the time. */
static void deliver(struct wmk_watch *watch, const struct perf_event_header *head, const unsigned char *body,
		    size_t len, void (*take)(void *data, const struct wmk_watch_event *event), void *data)
{
	struct wmk_watch_event event = { .pid = (pid_t)u32(body), .tid = (pid_t)u32(body + 4), .name = "" };

	switch (head->type) {
	case PERF_RECORD_LOST:           /* id, lost */
		watch->lost += u64(body + 8);
		return;
	case PERF_RECORD_FORK:           /* pid, ppid, tid, ptid, time */
	case PERF_RECORD_EXIT:
		event.kind = head->type == PERF_RECORD_FORK ? WMK_WATCH_FORK : WMK_WATCH_EXIT;
		event.parent = (pid_t)u32(body + 4);
		event.tid = (pid_t)u32(body + 8);
		break;
	case PERF_RECORD_COMM:           /* pid, tid, name */
		if (!(head->misc & PERF_RECORD_MISC_COMM_EXEC))
			return;
		event.kind = WMK_WATCH_EXEC;
		event.name = (const char *)body + 8;
		break;
	case PERF_RECORD_MMAP2:          /* pid, tid, addr, len, pgoff, maj, min, ino, generation, prot, flags, file */
		if (len <= 72 || (head->misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
			return;
		event.kind = WMK_WATCH_MAP;
		event.major = u32(body + 32);
		event.minor = u32(body + 36);
		event.inode = u64(body + 40);
		event.name = (const char *)body + 64;
		break;
	default:
		return;
	}
	take(data, &event);
}

void wmk_watch_read(struct wmk_watch *watch, void (*take)(void *data, const struct wmk_watch_event *event), void *data)
{
	struct perf_event_header head;
	struct epoll_event events[16];
	struct at *order;
	size_t n = 0;
	bool more = true;

	if (watch->fd < 0)
		return;
	while (epoll_wait(watch->fd, events, 16, 0) == 16)
		;
	/*
	 * Repeat until no ring has new records. After the last repetition, watch->bytes has no gap: for each of its
	 * records, it also has all earlier records.
	 */
	for (int sweep = 0; more && sweep < SWEEPS_MAX; sweep++) {
		more = false;
		for (unsigned i = 0; i < watch->n; i++)
			more |= ring_take(watch, &watch->rings[i]);
	}
	order = watch->len ? malloc(watch->len / sizeof(head) * sizeof(*order)) : NULL;
	if (!order)
		return;                  /* the next call tries again */
	for (size_t at = 0; watch->len - at >= sizeof(head); at += head.size) {
		memcpy(&head, watch->bytes + at, sizeof(head));
		if (head.size < sizeof(head) + 16 || head.size > watch->len - at)
			break;
		order[n++] = (struct at){ u64(watch->bytes + at + head.size - 8), at };
	}
	qsort(order, n, sizeof(*order), by_time);
	for (size_t i = 0; i < n; i++) {
		const unsigned char *record = watch->bytes + order[i].offset;

		memcpy(&head, record, sizeof(head));
		deliver(watch, &head, record + sizeof(head), head.size - sizeof(head), take, data);
	}
	watch->len = 0;
	free(order);
}
