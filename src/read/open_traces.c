/* SPDX-License-Identifier: MIT */
/* open_traces.c - open all traces at and below several paths (see open_traces.h). */
#include "read/open_traces.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

static int open_one(const char *path, const char *given, void (*failed)(void *data, int err), void *data,
		    struct wmk_read_opened *opened)
{
	struct wmk_read_trace **all = wmk_array_room(opened->traces, opened->n, &opened->cap, sizeof(*all));
	int err;

	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u traces", opened->n + 1);
	opened->traces = all;
	err = wmk_read_trace_open_locked(path, given, &all[opened->n]);
	if (err >= 0) {
		opened->n++;
		return 0;
	}
	wmk_error_add(err, "cannot read the trace '%.120s'", path);
	failed(data, err);
	return 0;
}

int wmk_read_open_traces(const char *const *paths, unsigned n_paths, void (*failed)(void *data, int err), void *data,
			 struct wmk_read_opened *opened)
{
	struct wmk_read_paths found = { NULL, 0, 0 };
	uint32_t *given = NULL;
	int err = 0;

	for (unsigned i = 0; i < n_paths && err >= 0; i++) {
		uint32_t before = found.n, *more;

		err = wmk_read_traces_find(paths[i], &found);
		more = err < 0 ? NULL : realloc(given, found.n * sizeof(*given));
		if (err >= 0 && !more)
			err = wmk_error(-ENOMEM, "no memory for %u traces", found.n);
		given = more ? more : given;
		for (uint32_t j = before; more && j < found.n; j++)
			given[j] = i;
	}
	for (uint32_t i = 0; i < found.n && err >= 0; i++)
		err = open_one(found.paths[i], paths[given[i]], failed, data, opened);
	free(given);
	wmk_read_paths_free(&found);
	if (err >= 0 && !opened->n)
		err = wmk_errorx(-EINVAL, "cannot read any of the traces");
	return err;
}

void wmk_read_opened_free(struct wmk_read_opened *opened, uint32_t from)
{
	for (uint32_t i = from; i < opened->n; i++)
		wmk_read_trace_close(opened->traces[i]);
	free(opened->traces);
	*opened = (struct wmk_read_opened){ .n = 0 };
}
