/* SPDX-License-Identifier: MIT */
/*
 * json.h - objects as JSON and back, by the tables of wire/object.h: output of lists, saved sessions, and the state of
 * a daemon.
 *
 * JSON members have the names in the object's table; enums are written as words, and UUIDs in their usual form. The
 * writer writes all members. With WMK_JSON_SPARSE, the writer omits members that are zero or empty. The reader sets
 * missing members to zero or empty, and rejects unknown members. The writer replaces bytes that are not UTF-8 by
 * U+FFFD, but the reader rejects such text. Errors are -errno with a cause chain. Any thread.
 */
#ifndef WMK_CTL_JSON_H
#define WMK_CTL_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire/object.h"

#define WMK_JSON_MAX (8u << 20)     /* bytes of a text that can be read */
#define WMK_JSON_SPARSE 1u

/*
 * Print `object` and a newline into a new string *text, which the caller frees. The text is indented with tabs, but
 * each plain object in a list takes one line. 0; -EINVAL (an enum has an unknown value); -ENOMEM.
 */
int wmk_json_text(const struct wmk_object *is, const void *object, unsigned flags, char **text);
/*
 * Print `object` to a file, in several writes, so the file may contain a part of the text after an error. Also returns
 * -errno of fwrite().
 */
int wmk_json_print(const struct wmk_object *is, const void *object, unsigned flags, FILE *to);
/*
 * Parse the entire `text` (`len` bytes; no terminating NUL is needed) into `object` (is->size bytes). -EINVAL with a
 * chain that names the position: not JSON, an unknown member, a wrong type, a limit of the table. -ENOMEM. After an
 * error, `object` is set to zeros, but memory of the arena stays allocated.
 */
int wmk_json_read(const struct wmk_object *is, const char *text, size_t len, void *object, struct wmk_arena *arena);
/*
 * Read only the number in the member `name`, for example the version that shows whether the rest can be parsed. 0 if
 * there is no such number. -EINVAL: not JSON.
 */
int wmk_json_number(const char *text, size_t len, const char *name, uint64_t *number);

#endif
