/* SPDX-License-Identifier: MIT */
/*
 * window.h - records between the order of lines and the order of time: a heap, the earliest first, equal times in the
 * order of lines. Internal to src/import.
 */
#ifndef WMK_IMPORT_WINDOW_H
#define WMK_IMPORT_WINDOW_H

#include "import/encode.h"

#define WMK_IMPORT_WINDOW 65536u                        /* records */
#define WMK_IMPORT_WINDOW_BYTES ((size_t)64 << 20)      /* of their payloads */

struct wmk_import_open_syscall;

struct wmk_import_record {
	int64_t ns;
	uint64_t number;                 /* in the order of lines */
	struct wmk_import_class *class;
	struct wmk_import_open_syscall *open;    /* a call whose end has not come; NULL: it is no such */
	uint8_t *payload;
	size_t len;
};

struct wmk_import_window {
	struct wmk_import_record **heap; /* WMK_IMPORT_WINDOW, once there is one */
	unsigned n;
	size_t bytes;
};

/* Full: one must be taken before another one comes. */
bool wmk_import_window_full(const struct wmk_import_window *window);
/* It is the window's until it is taken. -ENOMEM, and it is still the caller's. */
int wmk_import_window_add(struct wmk_import_window *window, struct wmk_import_record *record);
/* The earliest, which is the caller's then; NULL: there is none. */
struct wmk_import_record *wmk_import_window_take(struct wmk_import_window *window);
/* Another payload instead of its own, which is freed. Of a record that is in it. */
void wmk_import_window_replace(struct wmk_import_window *window, struct wmk_import_record *record, uint8_t *payload,
			       size_t len);
void wmk_import_record_free(struct wmk_import_record *record);
/* It has no record left. */
void wmk_import_window_free(struct wmk_import_window *window);

#endif
