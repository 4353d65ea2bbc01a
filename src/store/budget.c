/* SPDX-License-Identifier: MIT */
/*
 * budget.c - how many bytes are in a store's files, and how many may be in those of all stores that share a budget.
 */
#include "store/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define DEPTH_MAX 16               /* "ust/uid/1000/64-bit/index" is 5 */

uint64_t wmk_store_bytes(const struct wmk_store *store)
{
	return atomic_load_explicit(&store->bytes, memory_order_relaxed);
}

/* Unsigned numbers wrap: less is more by the complement. */
void wmk_store_found(struct wmk_store *store, int64_t more)
{
	if (store->budget)
		atomic_fetch_add_explicit(&store->budget->used, (uint64_t)more, memory_order_relaxed);
}

void wmk_store_count(struct wmk_store *store, int64_t more)
{
	atomic_fetch_add_explicit(&store->bytes, (uint64_t)more, memory_order_relaxed);
	wmk_store_found(store, more);
}

int wmk_store_room(const struct wmk_store *store, uint64_t bytes)
{
	const struct wmk_store_budget *budget = store->budget;
	uint64_t used = budget ? atomic_load_explicit(&budget->used, memory_order_relaxed) : 0;

	if (!budget || (used <= budget->max && bytes <= budget->max - used))
		return 0;
	if (budget->full)
		budget->full(budget->data);
	return wmk_error_said(-EDQUOT, "the trace %.100s may have %llu bytes and has %llu: no room for %llu more", store->path,
			 (unsigned long long)budget->max, (unsigned long long)used, (unsigned long long)bytes);
}

void wmk_store_share(struct wmk_store *store, struct wmk_store_budget *budget)
{
	store->budget = budget;
}

/* Takes the descriptor. */
static int usage(int dir, unsigned depth, uint64_t *bytes)
{
	DIR *entries = fdopendir(dir);
	const struct dirent *entry;
	struct stat st;
	int err = 0;

	if (!entries) {
		err = -errno;
		close(dir);
		return err;
	}
	while (err == 0 && (entry = readdir(entries)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		/* What goes meanwhile is not there. */
		if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			*bytes += (uint64_t)st.st_size;
		if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX)
			continue;
		int inner = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (inner >= 0)
			err = usage(inner, depth + 1, bytes);
		else if (errno != ENOENT)
			err = -errno;
	}
	closedir(entries);
	return err;
}

int wmk_store_usage(const char *path, uint64_t *bytes)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err = dir < 0 ? -errno : 0;

	*bytes = 0;
	if (err == 0)
		err = usage(dir, 0, bytes);
	return err < 0 ? wmk_error(err, "cannot tell how much is in %.100s", path) : 0;
}
