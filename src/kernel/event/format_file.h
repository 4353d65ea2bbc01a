/* SPDX-License-Identifier: MIT */
/*
 * format_file.h - what the kernel says about one of its events: a `format` file of tracefs, as data.
 *
 * Pure; any thread; nothing is trusted. -errno with a cause chain that names line and column.
 */
#ifndef WMK_KERNEL_FORMAT_FILE_H
#define WMK_KERNEL_FORMAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/schema.h"

enum wmk_kshape {
	WMK_KSHAPE_NUMBER,         /* `size` bytes, 1 2 4 8 */
	WMK_KSHAPE_ARRAY,          /* `count` elements of `elem` bytes */
	WMK_KSHAPE_BYTES,          /* `size` bytes that are neither (a structure, an address) */
	/* u32 at `offset`: where (low 16 bits, from the record's begin) and how many bytes (high 16) */
	WMK_KSHAPE_DYNAMIC,
	WMK_KSHAPE_RELATIVE,       /* the same, but from behind that u32 */
	/* elements of `elem` bytes, from `offset` to the record's end (`char buf[]` of size 0) */
	WMK_KSHAPE_REST,
};

struct wmk_kfield {
	const char *name, *type;   /* as the kernel writes them; type without __data_loc and [] */
	uint32_t offset, size;     /* bytes; size as it lies in the fixed part of the record */
	/* ARRAY, DYNAMIC, RELATIVE, REST: bytes of an element, 0: not a number; ARRAY: how many */
	uint32_t elem, count;
	uint8_t shape;             /* enum wmk_kshape */
	bool is_signed;
	/* ARRAY, DYNAMIC, RELATIVE, REST of char: a NUL-terminated text, or as much as there is room for */
	bool is_text;
	bool is_pointer;           /* NUMBER: an address */
	bool is_flags;             /* the value is a set of bits (__print_flags); `labels` are those of single bits */
	/*
	 * what `print fmt` calls the values (__print_symbolic, __print_flags), 0: nothing. Each value once, and it fits
	 */
	uint32_t n_labels;
	const struct wmk_label *labels;
};

struct wmk_kformat {
	const char *system, *name;
	uint32_t id;               /* common_type of its records */
	uint32_t n_common, n_fields;   /* the common fields stand first */
	const struct wmk_kfield *fields;
	uint32_t size;             /* bytes of the fixed part */
};

#define WMK_KFORMAT_MAX (256u << 10)   /* bytes of a format file */
#define WMK_KFORMAT_LABELS 1024u       /* of one field; those after them are left out */
#define WMK_KFORMAT_REACH 65536u       /* bytes of a record that fields may lie in */

/*
 * Bytes of a value of a type of C, as the kernel writes it (`long_size`: of its long); 0: not known. *is_signed may be
 * NULL.
 */
uint32_t wmk_kformat_type_size(const char *type, uint32_t long_size, bool *is_signed);

/*
 * `system`: the folder it lies in. *format is one allocation, the caller's to free(). -EPROTO: it is no format file, or
 * says what cannot be; -E2BIG; -ENOMEM.
 */
int wmk_kformat_parse(const char *system, const char *text, size_t len, struct wmk_kformat **format);

#endif
