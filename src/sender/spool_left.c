/* SPDX-License-Identifier: MIT */
/* spool_left.c - finds spools of ended sessions (see spool_left.h). */
#include "sender/spool_left.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "sender/spool_dir.h"
#include "store/spool.h"
#include "wire/relay_url.h"

struct left_visit {
	const char *directory;
	void (*one)(void *data, const char *path, const char *url);
	void *data;
};

static int visit_left(void *data, const char *name, int dir)
{
	const struct left_visit *left = data;
	char url[WMK_RELAY_URL_MAX + 1], *path;

	if (!wmk_store_spool_is_left(dir, url, sizeof(url)) || asprintf(&path, "%s/%s", left->directory, name) < 0)
		return 0;
	left->one(left->data, path, url);
	free(path);
	return 0;
}

void wmk_spool_each_left(const char *directory, uid_t uid, gid_t gid,
			  void (*one)(void *data, const char *path, const char *url), void *data)
{
	struct left_visit left = { directory, one, data };
	int err = wmk_store_identity_begin(uid, gid), dir = -1;
	char *path = NULL;

	/* Because of the suffix "/.", the directory may be a link to another disk. */
	if (err >= 0 && asprintf(&path, "%s/.", directory) >= 0) {
		dir = wmk_store_spool_directory(path);
		free(path);
	}
	if (dir >= 0) {
		wmk_spool_each_directory(dir, visit_left, &left);
		close(dir);
	}
	if (err >= 0)
		wmk_store_identity_end();
	wmk_error_clear();
}
