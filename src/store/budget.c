/* SPDX-License-Identifier: MIT */
/*
 * budget.c - how many bytes are in a store's files, and how many may be in those of all stores that share a budget.
 */
#include "store/store_state.h"
#include "store/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"

#define DEPTH_MAX 16               /* "ust/uid/1000/64-bit/index" is 5 */
#define CHECK_BYTES (1u << 20)
#define FREE_PARTS 20u

uint64_t wmk_store_bytes(const struct wmk_store *store)
{
	return atomic_load_explicit(&store->bytes, memory_order_relaxed);
}

/* Unsigned numbers wrap: less is more by the complement. */
void wmk_store_budget_add(struct wmk_store *store, int64_t more)
{
	if (store->budget)
		atomic_fetch_add_explicit(&store->budget->used, (uint64_t)more, memory_order_relaxed);
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
	/* (T) acquire: pairs with (G): a packet whose room is given back is among what is used. */
	const uint64_t reserved = atomic_fetch_add_explicit(&budget->reserved, bytes, memory_order_acquire) + bytes;
	const uint64_t now = atomic_load_explicit(&budget->used, memory_order_relaxed),
		       used = now > deleted ? now - deleted : 0;

	if (used <= budget->max && reserved <= budget->max - used)
		return 0;
	wmk_store_budget_release(store, bytes);
	if (budget->full)
		budget->full(budget->data);
	return wmk_error_said(-EDQUOT, "the trace %.100s may have %llu bytes and has %llu: no room for %llu more",
			      store->path, (unsigned long long)budget->max, (unsigned long long)used,
			      (unsigned long long)bytes);
}

void wmk_store_budget_release(struct wmk_store *store, uint64_t bytes)
{
	if (store->budget)
		/* (G) release: pairs with (T) */
		atomic_fetch_sub_explicit(&store->budget->reserved, bytes, memory_order_release);
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
	/* (who does not tell its size has no part to keep) */
	if (fstatvfs(store->dir, &is) < 0 || is.f_blocks == 0)
		return 0;
	const uint64_t part = (uint64_t)is.f_blocks * is.f_frsize / FREE_PARTS,
		       keep = part < store->keep_free ? part : store->keep_free;
	const uint64_t left = (uint64_t)is.f_bavail * is.f_frsize;

	if (left < keep || left - keep < bytes)
		return wmk_error_said(-ENOSPC,
				      "the disk of %.80s has %llu MB left, and of these %llu are kept for others "
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

int wmk_store_measure(struct wmk_store_budget *budget, const char *path)
{
	uint64_t before, there;

	pthread_mutex_lock(&budget->lock);
	before = atomic_load_explicit(&budget->used, memory_order_relaxed);
	int err = wmk_store_usage(path, &there);

	/* Nothing that is counted has gone meanwhile; what has come may be counted twice. */
	if (err == 0)
		atomic_fetch_add_explicit(&budget->used, there - before, memory_order_relaxed);
	pthread_mutex_unlock(&budget->lock);
	return err;
}

void wmk_store_set_budget(struct wmk_store *store, struct wmk_store_budget *budget, bool measured)
{
	store->budget = budget;
	if (!measured)
		wmk_store_budget_add(store, (int64_t)store->metadata_len);
}

struct usage {
	unsigned depth;
	uint64_t bytes;
};

static int usage_add(void *data, int at, const char *name)
{
	struct usage *usage = data;
	struct stat st;

	/* What goes meanwhile is not there. */
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		usage->bytes += (uint64_t)st.st_size;
	if (!S_ISDIR(st.st_mode) || usage->depth == DEPTH_MAX)
		return 0;
	int inner = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (inner < 0)
		return errno == ENOENT ? 0 : -errno;
	usage->depth++;
	int err = wmk_store_each_entry(inner, usage_add, usage);
	usage->depth--;
	return err;
}

int wmk_store_usage(const char *path, uint64_t *bytes)
{
	struct usage usage = { 0, 0 };
	int err = wmk_store_each_entry(wmk_path_open(path), usage_add, &usage);

	*bytes = usage.bytes;
	return err < 0 ? wmk_error(err, "cannot tell how much is in %.100s", path) : 0;
}
