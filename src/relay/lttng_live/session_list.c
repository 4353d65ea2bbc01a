/* SPDX-License-Identifier: MIT */
/* session_list.c - the sessions below the root of a relay. Symbolic links and hidden directories are ignored. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "relay/lttng_live/session_list.h"
#include "store/store.h"

/* The id of a session is the same for all viewers and in all replies. */
static uint64_t session_number(const struct stat *st)
{
	const uint64_t numbers[2] = { st->st_dev, st->st_ino };

	return wmk_hash_bytes(WMK_HASH_BEGIN, numbers, sizeof(numbers));
}

static int open_directory(int parent, const char *name)
{
	if (*name == '.')
		return -1;
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

struct session_walk {
	wmk_session_visitor *one;
	void *data;
	const char *host;
};

static int walk_session(void *data, int at, const char *name)
{
	const struct session_walk *walk = data;
	int directory = open_directory(at, name), result = 0;
	struct stat st;

	if (directory < 0)
		return 0;
	if (fstat(directory, &st) == 0)
		result = walk->one(walk->data, session_number(&st), directory, walk->host, name);
	close(directory);
	return result;
}

static int walk_host(void *data, int at, const char *name)
{
	struct session_walk *walk = data;
	int directory = open_directory(at, name);

	walk->host = name;
	return directory < 0 ? 0 : wmk_store_each_entry(directory, walk_session, walk);
}

int wmk_sessions_each(int root, wmk_session_visitor *one, void *data)
{
	struct session_walk walk = { .one = one, .data = data };

	return wmk_store_each_entry(openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), walk_host, &walk);
}
