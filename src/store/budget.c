/* SPDX-License-Identifier: MIT */
/*
 * budget.c - counts the bytes of a store's files, and limits the bytes of all stores that share a budget.
 *
 *     process of side 0: used, reserved ──added to──► page: counts[0] │ counts[1] ◄──added to── process of side 1
 *                        max >= used + reserved + counts[1]
 */
#include "store/store_state.h"
#include "store/chunk_lock.h"
#include "store/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)
#define DEPTH_MAX 16               /* maximum depth of directories; "ust/uid/1000/64-bit/index" has 5 */
#define CHECK_BYTES (1u << 20)
#define FREE_PARTS 20u

uint64_t wmk_store_bytes(const struct wmk_store *store)
{
	return atomic_load_explicit(&store->bytes, memory_order_relaxed);
}

/* ── the page ────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_store_budget_page_make(void)
{
	int fd = memfd_create("waymark-budget", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, sizeof(struct wmk_store_budget_page)) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
		const int err = -errno;

		if (fd >= 0)
			close(fd);
		return wmk_error(err, "cannot make the budget page of a session: %s", strerror(-err));
	}
	return fd;
}

int wmk_store_budget_page_map(int fd, struct wmk_store_budget_page **page)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	/*
	 * If a process truncates a mapped file, an access to the missing pages raises SIGBUS. The memfd must therefore
	 * be sealed against a change of its size.
	 */
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(**page))
		return wmk_error(-EINVAL,
				 "the descriptor is not a budget page: a sealed memfd of %zu bytes is expected",
				 sizeof(**page));
	void *at = mmap(NULL, sizeof(**page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return wmk_error(-errno, "cannot map the budget page: %s", strerror(errno));
	*page = at;
	return 0;
}

void wmk_store_budget_page_unmap(struct wmk_store_budget_page *page)
{
	if (page)
		munmap(page, sizeof(*page));
}

/*
 * (P1) seq_cst: each process publishes its reservation before it reads the count of the other process. If both
 * processes reserve bytes at the same time, at least one process therefore sees both reservations.
 */
static void publish(struct wmk_store_budget *budget, uint64_t more)
{
	if (budget->page)
		atomic_fetch_add_explicit(&budget->page->counts[budget->side], more, memory_order_seq_cst);
}

/* ── the size of the open chunk ──────────────────────────────────────────────────────────────────────── */

static uint64_t all_bytes(struct wmk_store_budget_page *page)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < WMK_STORE_SIDES; i++) {
		/* seq_cst: see (P1) and (P2) */
		const uint64_t count = atomic_load_explicit(&page->counts[i], memory_order_seq_cst);

		all += count ? count - 1 : 0;
	}
	return all;
}

static bool is_due(struct wmk_store_budget_page *page)
{
	/* relaxed: a value of an earlier or later rotation only shifts the time of the notification */
	const uint64_t max = atomic_load_explicit(&page->chunk_max, memory_order_relaxed),
		       closed = atomic_load_explicit(&page->closed, memory_order_relaxed);

	/* (a difference below 0: chunks were deleted, and `closed` is corrected next) */
	return max != 0 && (int64_t)(all_bytes(page) - closed) >= (int64_t)max;
}

/*
 * (P2) seq_cst: the session daemon resets `due` before it reads the counts. The writer adds to its count before it
 * exchanges `due`. Therefore either the session daemon sees the added bytes, or the writer sees that `due` was reset,
 * and notifies the session daemon.
 */
static void notify_due(struct wmk_store_budget *budget)
{
	if (budget->page && budget->due && is_due(budget->page) &&
	    !atomic_exchange_explicit(&budget->page->due, 1, memory_order_seq_cst))
		budget->due(budget->data);
}

bool wmk_store_chunk_is_due(struct wmk_store_budget_page *page, uint64_t chunk_max)
{
	atomic_store_explicit(&page->chunk_max, chunk_max, memory_order_relaxed);
	/* (P2) seq_cst: pairs with the exchange */
	atomic_store_explicit(&page->due, 0, memory_order_seq_cst);
	return is_due(page);
}

void wmk_store_chunk_end(struct wmk_store_budget_page *page)
{
	atomic_store_explicit(&page->closed, all_bytes(page), memory_order_relaxed);
}


static uint64_t count_of_other(const struct wmk_store_budget *budget)
{
	if (!budget->page)
		return 0;
	/* seq_cst: see (P1) */
	const uint64_t count = atomic_load_explicit(&budget->page->counts[!budget->side], memory_order_seq_cst);

	return count == 0 ? 0 : count - 1 < budget->max ? count - 1 : budget->max;
}

/* ── counts ──────────────────────────────────────────────────────────────────────────────────────────── */

/* A negative value gives the correct result, because unsigned addition wraps. */
void wmk_store_budget_add(struct wmk_store *store, int64_t more)
{
	if (!store->budget)
		return;
	atomic_fetch_add_explicit(&store->budget->written, (uint64_t)more, memory_order_relaxed);
	atomic_fetch_add_explicit(&store->budget->used, (uint64_t)more, memory_order_relaxed);
	publish(store->budget, (uint64_t)more);
	if (more > 0)
		notify_due(store->budget);
}

void wmk_store_add_bytes(struct wmk_store *store, int64_t more)
{
	atomic_fetch_add_explicit(&store->bytes, (uint64_t)more, memory_order_relaxed);
	wmk_store_budget_add(store, more);
}

int wmk_store_budget_reserve(struct wmk_store *store, uint64_t bytes, uint64_t deleted)
{
	struct wmk_store_budget *budget = store->budget;

	if (!budget)
		return 0;
	publish(budget, bytes);
	/* (T) acquire: pairs with (G): once a reservation is released, `used` includes its packet. */
	const uint64_t reserved = atomic_fetch_add_explicit(&budget->reserved, bytes, memory_order_acquire) + bytes;
	const uint64_t now = atomic_load_explicit(&budget->used, memory_order_relaxed),
		       used = now > deleted ? now - deleted : 0, other = count_of_other(budget);

	if (used <= budget->max - other && reserved <= budget->max - other - used)
		return 0;
	wmk_store_budget_release(store, bytes);
	if (budget->full)
		budget->full(budget->data);
	return wmk_errorx(-EDQUOT,
			  "the trace %.200s is at its limit of %llu bytes: %llu in use, no space for %llu more",
			  store->path, (unsigned long long)budget->max, (unsigned long long)(used + other),
			  (unsigned long long)bytes);
}

void wmk_store_budget_release(struct wmk_store *store, uint64_t bytes)
{
	if (!store->budget)
		return;
	/* (G) release: pairs with (T) */
	atomic_fetch_sub_explicit(&store->budget->reserved, bytes, memory_order_release);
	publish(store->budget, -bytes);
}

void wmk_store_keep_free(struct wmk_store *store, uint64_t bytes)
{
	store->keep_free = bytes;
	atomic_store_explicit(&store->unchecked, CHECK_BYTES, memory_order_relaxed);
}

int wmk_store_check_free(struct wmk_store *store, uint64_t bytes)
{
	struct statvfs is;

	if (!store->keep_free ||
	    atomic_fetch_add_explicit(&store->unchecked, bytes, memory_order_relaxed) + bytes < CHECK_BYTES)
		return 0;
	/* If a file system does not report its size, no space is reserved. */
	if (fstatvfs(store->dir, &is) < 0 || is.f_blocks == 0)
		return 0;
	const uint64_t part = (uint64_t)is.f_blocks * is.f_frsize / FREE_PARTS,
		       keep = part < store->keep_free ? part : store->keep_free;
	const uint64_t left = (uint64_t)is.f_bavail * is.f_frsize;

	if (left < keep || left - keep < bytes)
		return wmk_errorx(-ENOSPC,
				  "the disk of %.80s has %llu MB left, %llu of them reserved for other uses "
				  "(disk-reserve)",
				  store->path, (unsigned long long)(left >> 20), (unsigned long long)(keep >> 20));
	atomic_store_explicit(&store->unchecked, 0, memory_order_relaxed);
	return 0;
}

void wmk_store_budget_lock(struct wmk_store *store)
{
	if (store->budget)
		pthread_mutex_lock(&store->budget->lock);
}

void wmk_store_budget_unlock(struct wmk_store *store)
{
	if (store->budget)
		pthread_mutex_unlock(&store->budget->lock);
}

void wmk_store_set_budget(struct wmk_store *store, struct wmk_store_budget *budget, bool measured)
{
	store->budget = budget;
	if (!measured)
		wmk_store_budget_add(store, (int64_t)store->metadata_len);
}

/* ── measuring files ─────────────────────────────────────────────────────────────────────────────────── */

struct usage {
	unsigned depth, side;
	bool is_split;                   /* only the files of `side` count, else all files */
	bool in_archives;
	uint64_t bytes;
};

/*
 * In the directory of the session and of each closed chunk, the entry "kernel" belongs to side 1; all other entries
 * belong to side 0.
 */
static bool is_of_other_side(const struct usage *usage, const char *name)
{
	const bool is_chunk = usage->depth == 2 && usage->in_archives;

	if (!usage->is_split || (usage->depth && !is_chunk))
		return false;
	return (strcmp(name, WMK_STORE_SIDE_1) == 0) != usage->side && (is_chunk || strcmp(name, WMK_ARCHIVES) != 0);
}

static int usage_add(void *data, int at, const char *name)
{
	struct usage *usage = data;
	struct stat st;

	if (is_of_other_side(usage, name))
		return 0;
		/* The file was removed after readdir() had returned it. */
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		usage->bytes += (uint64_t)st.st_size;
	if (!S_ISDIR(st.st_mode) || usage->depth == DEPTH_MAX)
		return 0;
	int inner = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (inner < 0)
		return errno == ENOENT ? 0 : -errno;
	if (usage->depth == 0)
		usage->in_archives = strcmp(name, WMK_ARCHIVES) == 0;
	usage->depth++;
	int err = wmk_store_each_entry(inner, usage_add, usage);
	usage->depth--;
	return err;
}

static int usage_of(const char *path, struct usage *usage)
{
	int err = wmk_store_each_entry(wmk_path_open(path), usage_add, usage);

	return err < 0 ? wmk_error(err, "cannot measure the size of %.240s", path) : 0;
}

int wmk_store_usage(const char *path, uint64_t *bytes)
{
	struct usage usage = { 0 };
	int err = usage_of(path, &usage);

	*bytes = usage.bytes;
	return err;
}

static int usage_of_side(const char *path, unsigned side, uint64_t *bytes)
{
	struct usage usage = { .side = side, .is_split = true };
	int err = usage_of(path, &usage);

	*bytes = usage.bytes;
	return err;
}

/*
 * Measure the files that the other consumer daemon writes, unless that daemon has already published its count. If the
 * other daemon publishes its count during the measurement, the published count is kept.
 */
static int measure_other(struct wmk_store_budget *budget, const char *path)
{
	_Atomic uint64_t *count = &budget->page->counts[!budget->side];
	uint64_t none = 0, there;

	/* relaxed: only a number, no other data depends on it */
	if (atomic_load_explicit(count, memory_order_relaxed) != 0)
		return 0;
	int err = usage_of_side(path, !budget->side, &there);

	if (err == 0)
		atomic_compare_exchange_strong_explicit(count, &none, there + 1, memory_order_relaxed,
							memory_order_relaxed);
	return err;
}

static int measure_own(struct wmk_store_budget *budget, const char *path)
{
	uint64_t before, there;

	pthread_mutex_lock(&budget->lock);
	before = atomic_load_explicit(&budget->used, memory_order_relaxed);
	int err = budget->page ? usage_of_side(path, budget->side, &there) : wmk_store_usage(path, &there);

	/*
	 * The lock prevents the removal of files during the measurement. Bytes that other threads write during the
	 * measurement may be counted twice.
	 */
	if (err == 0)
		atomic_fetch_add_explicit(&budget->used, there - before, memory_order_relaxed);
	pthread_mutex_unlock(&budget->lock);
	if (err < 0 || !budget->page)
		return err;
	/* The first measurement also drops the reservations of a process that crashed. */
	if (budget->published) {
		publish(budget, there - before);
		return 0;
	}
	atomic_store_explicit(&budget->page->counts[budget->side], there + 1, memory_order_seq_cst);
	budget->published = true;
	return 0;
}

int wmk_store_measure(struct wmk_store_budget *budget, const char *path)
{
	int err = measure_own(budget, path);

	if (err == 0 && budget->page)
		err = measure_other(budget, path);
	/* The earlier consumer daemon may have crashed before it sent its notification. */
	if (err == 0 && budget->page && budget->due && is_due(budget->page))
		budget->due(budget->data);
	return err;
}

int wmk_store_measure_deleted(struct wmk_store_budget *budget, const char *path)
{
	const uint64_t used = atomic_load_explicit(&budget->used, memory_order_relaxed),
		       written = atomic_load_explicit(&budget->written, memory_order_relaxed);
	int err = wmk_store_measure(budget, path);

	if (err < 0 || !budget->page)
		return err;
	/*
	 * `added` is the number of bytes that were written to the open chunk during the measurement. The bytes in
	 * `added` do not belong to the deleted chunks.
	 */
	const uint64_t added = atomic_load_explicit(&budget->written, memory_order_relaxed) - written,
		       now = atomic_load_explicit(&budget->used, memory_order_relaxed);

	atomic_fetch_sub_explicit(&budget->page->closed, used + added - now, memory_order_relaxed);
	/*
	 * Before `closed` was corrected, the computed size of the open chunk was too small. A writer may therefore have
	 * missed that the open chunk has reached its maximum size.
	 */
	notify_due(budget);
	return 0;
}
