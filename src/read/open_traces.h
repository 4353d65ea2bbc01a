/* SPDX-License-Identifier: MIT */
/* open_traces.h - open all traces at and below several paths. */
#ifndef WMK_READ_OPEN_TRACES_H
#define WMK_READ_OPEN_TRACES_H

#include "read/trace.h"

/* Starts zeroed. */
struct wmk_read_opened {
	struct wmk_read_trace **traces;    /* in the order of the paths */
	uint32_t n, cap;
};

/*
 * Find and open the traces, and lock their chunks. If a trace cannot be opened, the function calls `failed` with the
 * error and its cause chain, and continues. -EINVAL: no trace could be opened. Other -errno of wmk_read_traces_find().
 * The caller frees *opened in every case.
 */
int wmk_read_open_traces(const char *const *paths, unsigned n_paths, void (*failed)(void *data, int err), void *data,
			 struct wmk_read_opened *opened);
/* Close the traces with the numbers from `from` to the last, and free the list. */
void wmk_read_opened_free(struct wmk_read_opened *opened, uint32_t from);

#endif
