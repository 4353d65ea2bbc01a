/* SPDX-License-Identifier: MIT */
/*
 * encode.h - encode lines as records: event classes, and the bytes after a record's header. Internal to src/import.
 *
 * The key of an event class consists of its context fields, the name of the event, and the names and types of its
 * fields. Two lines of one event with different fields belong to two classes of the same name. Names come from the log
 * file, so WMK_IMPORT_CLASSES limits the number of classes.
 */
#ifndef WMK_IMPORT_ENCODE_H
#define WMK_IMPORT_ENCODE_H

#include "import/log_line.h"

#define WMK_IMPORT_CLASSES 4096u
#define WMK_IMPORT_HEADS 8192u     /* buckets of the hash table: a power of two */

/*
 * Context fields of a class. Context fields precede the other fields of a class, in the order of the WMK_IMPORT_HAS
 * constants.
 */
#define WMK_IMPORT_HAS_PID 1u
#define WMK_IMPORT_HAS_TID 2u
#define WMK_IMPORT_HAS_COMM 4u
#define WMK_IMPORT_HAS_CPU 8u
#define WMK_IMPORT_CONTEXTS 16u    /* number of combinations */

struct wmk_import_class {
	struct wmk_import_class *next;   /* next class of the bucket */
	uint64_t hash;
	/*
	 * the contexts (one byte), the provider, the name, then the kind and the name of each field; each text ends
	 * with a NUL
	 */
	uint8_t *key;
	size_t key_len;
	unsigned contexts;
	const char *provider, *name;     /* point into the key, as the names of the fields do */
	uint16_t n;
	struct wmk_field *fields;
	/* set by trace_writer.c, together with `id`, which counts from 0 in the stream class */
	bool is_declared;
	uint32_t id;
};

struct wmk_import_classes {
	struct wmk_import_class *heads[WMK_IMPORT_HEADS];
	unsigned n;
};

/* A growing buffer. The buffer starts zeroed; the owner frees `at`. */
struct wmk_import_bytes {
	uint8_t *at;
	size_t len, cap;
	bool failed;             /* out of memory; later writes are ignored */
};

void wmk_import_put(struct wmk_import_bytes *bytes, const void *from, size_t len);
/* Append the text and a NUL; each NUL in the text is replaced by U+2400, the symbol for NUL. */
void wmk_import_put_text(struct wmk_import_bytes *bytes, struct wmk_import_text text);

/*
 * Find or create the event class of a line. With `has_frames`, the class ends with the field `callchain`, a sequence of
 * texts. -E2BIG: too many classes (no cause chain). -ENOMEM.
 */
int wmk_import_class_of(struct wmk_import_classes *classes, const struct wmk_import_line *line, bool has_frames,
			struct wmk_import_class **found);
/*
 * Find or create the class that has the fields of `plain` and then `callchain`. If the import appends frames to a
 * record of the class `plain`, the record becomes a record of this class. Errors: see wmk_import_class_of().
 */
int wmk_import_class_framed(struct wmk_import_classes *classes, const struct wmk_import_class *plain,
			    struct wmk_import_class **found);
void wmk_import_classes_free(struct wmk_import_classes *classes);

/* Return the context field that belongs to `bit`, which is a WMK_IMPORT_HAS constant. */
const struct wmk_field *wmk_import_context(unsigned bit);

/*
 * Append the values of a line's context fields and fields. If `second_at` is not NULL, *second_at is the offset of the
 * bytes of values[1].
 */
void wmk_import_encode(const struct wmk_import_line *line, struct wmk_import_bytes *out, size_t *second_at);

#endif
