/* SPDX-License-Identifier: MIT */
/*
 * window.c - heap of records (see window.h).
 */
#include "import/window.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

static bool is_before(const struct wmk_import_record *a, const struct wmk_import_record *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->number < b->number;
}

bool wmk_import_window_full(const struct wmk_import_window *window)
{
	return window->n == WMK_IMPORT_WINDOW || (window->n && window->bytes >= WMK_IMPORT_WINDOW_BYTES);
}

int wmk_import_window_add(struct wmk_import_window *window, struct wmk_import_record *record)
{
	unsigned at = window->n;

	if (!window->heap)
		window->heap = calloc(WMK_IMPORT_WINDOW, sizeof(struct wmk_import_record *));
	if (!window->heap)
		return wmk_error(-ENOMEM, "no memory to sort records by time");
	for (; at && is_before(record, window->heap[(at - 1) / 2]); at = (at - 1) / 2)
		window->heap[at] = window->heap[(at - 1) / 2];
	window->heap[at] = record;
	window->n++;
	window->bytes += record->len;
	return 0;
}

struct wmk_import_record *wmk_import_window_take(struct wmk_import_window *window)
{
	struct wmk_import_record *first, *last;
	unsigned at = 0, child;

	if (!window->n)
		return NULL;
	first = window->heap[0];
	last = window->heap[--window->n];
	while ((child = 2 * at + 1) < window->n) {
		if (child + 1 < window->n && is_before(window->heap[child + 1], window->heap[child]))
			child++;
		if (!is_before(window->heap[child], last))
			break;
		window->heap[at] = window->heap[child];
		at = child;
	}
	window->heap[at] = last;
	window->bytes -= first->len;
	return first;
}

void wmk_import_window_replace(struct wmk_import_window *window, struct wmk_import_record *record, uint8_t *payload,
			       size_t len)
{
	window->bytes = window->bytes - record->len + len;
	free(record->payload);
	record->payload = payload;
	record->len = len;
}

void wmk_import_record_free(struct wmk_import_record *record)
{
	if (record) {
		free(record->payload);
		free(record);
	}
}

void wmk_import_window_free(struct wmk_import_window *window)
{
	free(window->heap);
}
