/* SPDX-License-Identifier: MIT */
/*
 * read_file.h - for tests: read a file as text; the fields that all event formats have.
 */
#ifndef WMK_KERNEL_T_READ_FILE_H
#define WMK_KERNEL_T_READ_FILE_H

#include <stdio.h>
#include <stdlib.h>

/* The first fields of each event. */
#define COMMON "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	       "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	       "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	       "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* Returns malloc'd text with a NUL, or NULL on failure. Does not use the file's size, which tracefs does not have. */
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
