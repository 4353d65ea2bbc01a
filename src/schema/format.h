/* SPDX-License-Identifier: MIT */
/*
 * format.h - the arguments of a printf format as fields, for waymark_mark() and waymark_logf().
 *
 *     "prev_pid %d took %.*s"   ──►   prev_pid: signed int
 *                                     took_precision: signed int
 *                                     took: string, at most args[1] bytes
 *
 * The name of a field is the last word before the field's conversion, if this word is an identifier. libwaymark also
 * needs the limits of strings, because the bytes that "%.*s" prints need not end in a NUL.
 */
#ifndef WMK_SCHEMA_FORMAT_H
#define WMK_SCHEMA_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wmk_format_class { WMK_FORMAT_INT, WMK_FORMAT_FLOAT, WMK_FORMAT_STRING, WMK_FORMAT_POINTER };

struct wmk_format_arg {
	uint8_t class;           /* enum wmk_format_class */
	uint8_t base;            /* INT: 8, 10, 16 */
	bool is_signed;
	bool max_is_arg;         /* STRING: the previous argument limits the length, unless that argument is negative */
	uint32_t max;            /* STRING: maximum length in bytes; UINT32_MAX: up to the NUL */
	const char *name;        /* points into the format, `name_len` bytes; NULL: no name */
	size_t name_len;
	const char *suffix;      /* "", "_width", "_precision" */
};

/*
 * Parse the conversions of the format string `format` in order. Returns the number of arguments, or -EINVAL with a
 * cause chain: more than `max` arguments, an incomplete or unknown conversion, or a conversion that cannot be recorded
 * (%n, positional %1$d). "%%" and "%m" have no argument.
 */
int wmk_format_parse(const char *format, struct wmk_format_arg *args, unsigned max);

#endif
