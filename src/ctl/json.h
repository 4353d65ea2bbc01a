/* SPDX-License-Identifier: MIT */
/*
 * json.h - objects of control as JSON and back, by the tables of wire/object.h: what lists show, what saved sessions
 * and a daemon's state are.
 *
 * Members have the names of their tables; words stand for enums, a UUID is its usual text. The writer leaves out
 * nothing, or with WMK_JSON_SPARSE all that is zero or empty; the reader takes what is missing for zero or empty, and
 * refuses what it does not know. Text that is not UTF-8 is written with U+FFFD in its place, and refused by the reader.
 * Errors are -errno with a cause chain. Any thread.
 */
#ifndef WMK_CTL_JSON_H
#define WMK_CTL_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire/object.h"

#define WMK_JSON_MAX (8u << 20)     /* bytes that are read at most */
#define WMK_JSON_SPARSE 1u

/*
 * Print `object`, indented by tabs, what is plain in a list on a line each, and a newline: into *text, the caller's to
 * free(). 0; -EINVAL (a number that is none of its words'), -ENOMEM.
 */
int wmk_json_text(const struct wmk_object *is, const void *object, unsigned flags, char **text);
/*
 * The same to a file, in pieces, while it is printed: after an error some of it may be there. Also -errno of fwrite().
 */
int wmk_json_print(const struct wmk_object *is, const void *object, unsigned flags, FILE *to);
/*
 * Fill `object` (is->size bytes) from the whole of `text` (`len` bytes; need not end in a NUL). -EINVAL with a chain
 * that says where and what: no JSON, a member that is not known, of another type, over the table's limit. -ENOMEM. Then
 * `object` is all zeros, and what was read lies unused in the arena.
 */
int wmk_json_read(const struct wmk_object *is, const char *text, size_t len, void *object, struct wmk_arena *arena);
/*
 * The number that `text` has in `name`: for a version, which says whether the rest can be understood. 0: there is no
 * such number. -EINVAL: no JSON.
 */
int wmk_json_number(const char *text, size_t len, const char *name, uint64_t *number);

#endif
