/* SPDX-License-Identifier: MIT */
/*
 * show.h - print what a walk returns as text, for tests of decode programs.
 */
#ifndef WMK_CTF_T_SHOW_H
#define WMK_CTF_T_SHOW_H

#include <inttypes.h>
#include <stdio.h>

#include "ctf/wide_number.h"

/* Print a walk as text: "a=1 s{ t="x" }". */
static inline int show(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program, char *text, size_t size)
{
	struct wmk_ctf_item item;
	size_t len = 0;

	text[0] = '\0';
	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		const char *name = item.op->name ? item.op->name : "";

		switch (item.is_end ? WMK_CTF_END : item.op->code) {
		case WMK_CTF_END: len += (size_t)snprintf(text + len, size - len, "} "); break;
		case WMK_CTF_STRUCT: len += (size_t)snprintf(text + len, size - len, "%s{ ", name); break;
		case WMK_CTF_ARRAY:
			len += (size_t)snprintf(text + len, size - len, "%s[%" PRIu64 "]{ ", name, item.value.u);
			break;
		case WMK_CTF_VARIANT: len += (size_t)snprintf(text + len, size - len, "%s<{ ", name); break;
		case WMK_CTF_OPTIONAL: len += (size_t)snprintf(text + len, size - len, "%s?{ ", name); break;
		case WMK_CTF_FLOAT:
			len += (size_t)snprintf(text + len, size - len, "%s=%g ", name, item.value.f);
			break;
		case WMK_CTF_STRING:
		case WMK_CTF_TEXT:
			len += (size_t)snprintf(text + len, size - len, "%s=\"%.*s\" ", name, (int)item.len, item.text);
			break;
		default:
			if (item.is_wide) {
				char digits[WMK_CTF_WIDE_DIGITS];

				len += (size_t)snprintf(text + len, size - len, "%s=%.*s ", name,
							(int)wmk_ctf_wide_digits(&item, 10, digits), digits);
				break;
			}
			len += (size_t)snprintf(text + len, size - len,
						item.op->is_signed ? "%s=%" PRId64 " " : "%s=%" PRIu64 " ", name,
						item.value.i);
		}
		assert_true(len < size);
	}
	return walk->err;
}

#endif
