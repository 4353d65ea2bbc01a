/* SPDX-License-Identifier: MIT */
/*
 * encode.h - lines as records: event classes, and the bytes behind a record's header. Internal to src/import.
 *
 * An event class is what its records have: contexts, names and kinds of the fields. Two lines of one event that have
 * other fields are of two classes of that name. There are at most WMK_IMPORT_CLASSES, because names come from the log.
 */
#ifndef WMK_IMPORT_ENCODE_H
#define WMK_IMPORT_ENCODE_H

#include "import/log_line.h"

#define WMK_IMPORT_CLASSES 4096u
#define WMK_IMPORT_HEADS 8192u     /* of the hash table: a power of two */

/* Which contexts stand before the fields, in this order. */
#define WMK_IMPORT_HAS_PID 1u
#define WMK_IMPORT_HAS_TID 2u
#define WMK_IMPORT_HAS_COMM 4u
#define WMK_IMPORT_HAS_CPU 8u
#define WMK_IMPORT_CONTEXTS 16u    /* sets of them */

struct wmk_import_class {
	struct wmk_import_class *next;   /* of the same head */
	uint64_t hash;
	/* contexts, provider, name, kind and name of each field, with a NUL behind each text */
	uint8_t *key;
	size_t key_len;
	unsigned contexts;
	const char *provider, *name;     /* in the key, as the fields' names */
	uint16_t n;
	struct wmk_field *fields;
	bool is_declared;                /* trace_writer.c: and its id, in the stream class of its contexts */
	uint32_t id;
};

struct wmk_import_classes {
	struct wmk_import_class *heads[WMK_IMPORT_HEADS];
	unsigned n;
};

/* Bytes that grow. Starts from zeros; free(at). */
struct wmk_import_bytes {
	uint8_t *at;
	size_t len, cap;
	bool failed;             /* sticky: there was no memory */
};

void wmk_import_put(struct wmk_import_bytes *bytes, const void *from, size_t len);
/* With a NUL behind it; those that are in it are U+2400, the symbol for it. */
void wmk_import_put_text(struct wmk_import_bytes *bytes, struct wmk_import_text text);

/*
 * The class of a line. `has_frames`: its last field is `callchain`, a sequence of texts. -E2BIG: there are too many (no
 * cause chain), -ENOMEM.
 */
int wmk_import_class_of(struct wmk_import_classes *classes, const struct wmk_import_line *line, bool has_frames,
			struct wmk_import_class **found);
/*
 * The class with `callchain` behind the fields of another one, whose records get the frames behind their bytes. As
 * wmk_import_class_of().
 */
int wmk_import_class_framed(struct wmk_import_classes *classes, const struct wmk_import_class *plain,
			    struct wmk_import_class **found);
void wmk_import_classes_free(struct wmk_import_classes *classes);

/* The contexts' field, by its bit (WMK_IMPORT_HAS_...). */
const struct wmk_field *wmk_import_context(unsigned bit);

/* A line's contexts and values, behind what is there. `*second_at`, if not NULL: where the bytes of values[1] begin. */
void wmk_import_encode(const struct wmk_import_line *line, struct wmk_import_bytes *out, size_t *second_at);

#endif
