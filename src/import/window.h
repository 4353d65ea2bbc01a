/* SPDX-License-Identifier: MIT */
/*
 * window.h - sort records by time in a bounded window. The window is a heap with the earliest record first. Records
 * with equal times keep the order of their lines. Internal to src/import.
 */
#ifndef WMK_IMPORT_WINDOW_H
#define WMK_IMPORT_WINDOW_H

#include "import/encode.h"

#define WMK_IMPORT_WINDOW 65536u                        /* maximum of records */
#define WMK_IMPORT_WINDOW_BYTES ((size_t)64 << 20)      /* maximum size of their payloads */

struct wmk_import_open_syscall;

struct wmk_import_record {
	int64_t ns;
	uint64_t number;                 /* number of the record, in the order of the lines */
	struct wmk_import_class *class;
	struct wmk_import_open_syscall *open;    /* the open system call of this record, or NULL */
	uint8_t *payload;
	size_t len;
};

struct wmk_import_window {
	struct wmk_import_record **heap; /* WMK_IMPORT_WINDOW entries, allocated with the first record */
	unsigned n;
	size_t bytes;
};

/* Return true if the window is full: the caller must take a record before it adds another record. */
bool wmk_import_window_full(const struct wmk_import_window *window);
/* Add a record, which the window owns until the caller takes the record. -ENOMEM: the caller still owns the record. */
int wmk_import_window_add(struct wmk_import_window *window, struct wmk_import_record *record);
/* Take the earliest record, which the caller then owns; the result is NULL if the window is empty. */
struct wmk_import_record *wmk_import_window_take(struct wmk_import_window *window);
/* Replace the payload of a record in the window; the function frees the old payload. */
void wmk_import_window_replace(struct wmk_import_window *window, struct wmk_import_record *record, uint8_t *payload,
			       size_t len);
void wmk_import_record_free(struct wmk_import_record *record);
/* Free the window, which must be empty. */
void wmk_import_window_free(struct wmk_import_window *window);

#endif
