/* SPDX-License-Identifier: MIT */
/*
 * objects.h - functions and lines of addresses in an object file (program or library), by libdw.
 *
 * The file is found by its build-id: at its path, else below /usr/lib/debug/.build-id, else from the servers of
 * DEBUGINFOD_URLS. A file with another build-id is not used. One thread.
 */
#ifndef WMK_SYMBOLS_OBJECTS_H
#define WMK_SYMBOLS_OBJECTS_H

#include "read/symbolizer.h"

#define WMK_BUILD_ID_SIZE 64u

struct wmk_object_file_id {
	char *path;
	uint64_t size;                 /* bytes in memory */
	uint8_t build_id[WMK_BUILD_ID_SIZE];
	uint8_t build_id_len;          /* 0: unknown */
};

struct wmk_object_files {                   /* initialized with zeros */
	struct wmk_object_file **objects;
	uint32_t n, cap;
};

/* Find or add an object. NULL: no memory. */
struct wmk_object_file *wmk_object_files_get(struct wmk_object_files *objects, const struct wmk_object_file_id *id);
void wmk_object_files_release(struct wmk_object_files *objects);
/*
 * Store in `frames` the functions at `distance` bytes from the beginning of the object, the innermost function first.
 * Returns the number of functions; 0: unknown.
 */
unsigned wmk_object_file_find(struct wmk_object_file *object, uint64_t distance, struct wmk_read_frame *frames,
			      unsigned max);

#endif
