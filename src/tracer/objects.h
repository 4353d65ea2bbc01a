/* SPDX-License-Identifier: MIT */
/*
 * objects.h - what is loaded in this process, found without the loader: /proc/self/maps says where, the headers of the
 * file or in memory say what.
 */
#ifndef WMK_TRACER_OBJECTS_H
#define WMK_TRACER_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#define WMK_BUILD_ID_MAX 64

struct wmk_loaded_object {
	uint64_t base;          /* where it begins */
	uint64_t memsz;         /* to the end of its last segment */
	uint64_t inode;         /* of its file, as it is mapped */
	char *path;
	bool is_pic;            /* a shared library, or a position-independent executable */
	uint8_t build_id_len;
	uint8_t build_id[WMK_BUILD_ID_MAX];
	char debug_link[256];   /* or "" */
	uint32_t debug_crc;
};

/* Are the two the same, by all that they tell? A file may have been replaced, and loaded anew where the old one was. */
bool wmk_object_is_same(const struct wmk_loaded_object *a, const struct wmk_loaded_object *b);
/* *objects is malloc'd, as are the paths. Returns how many, or -errno. */
long wmk_objects_list(struct wmk_loaded_object **objects);
void wmk_objects_free(struct wmk_loaded_object *objects, long n);

#endif
