/* SPDX-License-Identifier: MIT */
/* session_list.c - the sessions below the root of a relay. Symbolic links and hidden directories are ignored. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "relay/lttng_live/session_list.h"

/* The id of a session is the same for all viewers and in all answers. */
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

/* Call `one` for each directory below `parent`, until `one` returns a value other than 0. Returns this value, or 0. */
static int each_directory(int parent, int (*one)(void *data, int directory, const char *name), void *data)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), directory, result = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!list && fd >= 0)
		close(fd);
	while (result == 0 && list && (entry = readdir(list)) != NULL) {
		directory = open_directory(parent, entry->d_name);
		if (directory < 0)
			continue;
		result = one(data, directory, entry->d_name);
		close(directory);
	}
	if (list)
		closedir(list);
	return result;
}

struct session_walk {
	wmk_session_visitor *one;
	void *data;
	const char *host;
};

static int walk_session(void *data, int directory, const char *name)
{
	const struct session_walk *walk = data;
	struct stat st;

	if (fstat(directory, &st) < 0)
		return 0;
	return walk->one(walk->data, session_number(&st), directory, walk->host, name);
}

static int walk_host(void *data, int directory, const char *name)
{
	struct session_walk *walk = data;

	walk->host = name;
	return each_directory(directory, walk_session, walk);
}

int wmk_sessions_each(int root, wmk_session_visitor *one, void *data)
{
	struct session_walk walk = { .one = one, .data = data };

	return each_directory(root, walk_host, &walk);
}
