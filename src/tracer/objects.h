/* SPDX-License-Identifier: MIT */
/*
 * objects.h - list the objects that are loaded in this process, without the loader. /proc/self/maps has the addresses
 * of the objects. The headers in the file or in memory describe the objects.
 */
#ifndef WMK_TRACER_OBJECTS_H
#define WMK_TRACER_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#define WMK_BUILD_ID_MAX 64

struct wmk_loaded_object {
	uint64_t base;          /* address of its first byte */
	uint64_t memsz;         /* bytes to the end of its last segment */
	uint64_t inode;         /* of the mapped file */
	char *path;
	bool is_pic;            /* a shared library, or a position-independent executable */
	uint8_t build_id_len;
	uint8_t build_id[WMK_BUILD_ID_MAX];
	char debug_link[256];   /* or "" */
	uint32_t debug_crc;
};

/*
 * True if two objects are equal in all members that identify an object. A file may have been replaced, and the new file
 * may have been loaded at the same address.
 */
bool wmk_object_is_same(const struct wmk_loaded_object *a, const struct wmk_loaded_object *b);
/* List the objects. The caller frees *objects with wmk_objects_free(). Returns their number or -errno. */
long wmk_objects_list(struct wmk_loaded_object **objects);
void wmk_objects_free(struct wmk_loaded_object *objects, long n);

#endif
