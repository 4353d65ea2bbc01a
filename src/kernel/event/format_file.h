/* SPDX-License-Identifier: MIT */
/*
 * format_file.h - parses the description of a kernel event: a `format` file of tracefs.
 *
 * The functions are pure; any thread may call them. The functions do not trust the content of the file. Errors: -errno
 * with a cause chain that names line and column.
 */
#ifndef WMK_KERNEL_FORMAT_FILE_H
#define WMK_KERNEL_FORMAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/schema.h"

enum wmk_kshape {
	WMK_KSHAPE_NUMBER,         /* `size` bytes: 1, 2, 4 or 8 */
	WMK_KSHAPE_ARRAY,          /* `count` elements of `elem` bytes */
	WMK_KSHAPE_BYTES,          /* `size` bytes of another kind (a structure, an address) */
	/* u32 at `offset`: position (low 16 bits, from the record's begin) and length in bytes (high 16 bits) */
	WMK_KSHAPE_DYNAMIC,
	WMK_KSHAPE_RELATIVE,       /* as DYNAMIC, but the position is relative to the end of the u32 */
	/* elements of `elem` bytes, from `offset` to the record's end (`char buf[]` of size 0) */
	WMK_KSHAPE_REST,
};

struct wmk_kfield {
	const char *name, *type;   /* as in the file; type without __data_loc and [] */
	uint32_t offset, size;     /* bytes; `size` counts only the fixed part of the record */
	/*
	 * elem: bytes of an element of ARRAY, DYNAMIC, RELATIVE, REST; 0: no number. count: number of elements of ARRAY
	 */
	uint32_t elem, count;
	uint8_t shape;             /* enum wmk_kshape */
	bool is_signed;
	/* ARRAY, DYNAMIC, RELATIVE, REST of char: a text that ends with a NUL or with the field */
	bool is_text;
	bool is_pointer;           /* NUMBER: an address */
	bool is_flags;             /* the value is a set of bits (__print_flags); `labels` name single bits */
	/*
	 * labels from `print fmt` (__print_symbolic, __print_flags); values are unique and fit the field; 0: none
	 */
	uint32_t n_labels;
	const struct wmk_label *labels;
};

struct wmk_kformat {
	const char *system, *name;
	uint32_t id;               /* common_type of its records */
	uint32_t n_common, n_fields;   /* the common fields come first */
	const struct wmk_kfield *fields;
	uint32_t size;             /* bytes of the fixed part */
};

#define WMK_KFORMAT_MAX (256u << 10)   /* maximum bytes of a format file */
#define WMK_KFORMAT_LABELS 1024u       /* maximum labels of a field; further ones are dropped */
#define WMK_KFORMAT_REACH 65536u       /* maximum end of a field in a record, in bytes */

/*
 * Returns the size in bytes of a value of a C type in the kernel's spelling; 0: unknown. `long_size`: the size of the
 * kernel's long. *is_signed may be NULL.
 */
uint32_t wmk_kformat_type_size(const char *type, uint32_t long_size, bool *is_signed);

/*
 * Parses a format file. `system`: its directory. *format is one allocation; the caller calls free(). -EPROTO: malformed
 * or contradictory; -E2BIG; -ENOMEM.
 */
int wmk_kformat_parse(const char *system, const char *text, size_t len, struct wmk_kformat **format);

#endif
