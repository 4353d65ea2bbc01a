/* SPDX-License-Identifier: MIT */
/*
 * read_file.h - for tests: a file as a text, and words that all formats have.
 */
#ifndef WMK_KERNEL_T_READ_FILE_H
#define WMK_KERNEL_T_READ_FILE_H

#include <stdio.h>
#include <stdlib.h>

/* The fields that each event begins with. */
#define COMMON "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	       "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	       "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	       "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* malloc'd, NUL-terminated; NULL: it cannot be read. Files of tracefs have no size. */
static inline char *read_file(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t len = 0, cap = 0;

	if (!in)
		return NULL;
	do {
		if (cap - len < 4096) {
			cap = cap ? 2 * cap : 65536;
			text = realloc(text, cap);
			if (!text)
				abort();
		}
		len += fread(text + len, 1, cap - len - 1, in);
	} while (!feof(in) && !ferror(in));
	fclose(in);
	text[len] = '\0';
	return text;
}

#endif
