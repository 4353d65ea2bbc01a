/* SPDX-License-Identifier: MIT */
/*
 * line_reader.h - read a file line by line in bounded memory. Internal to src/import.
 */
#ifndef WMK_IMPORT_LINE_READER_H
#define WMK_IMPORT_LINE_READER_H

#include <stdio.h>

#include "import/log_line.h"

/* Initialize as { .in = file }; free `buf` at the end. */
struct wmk_import_lines {
	FILE *in;
	char *buf;               /* WMK_IMPORT_LINE_MAX */
	size_t begin, end;       /* bytes that were read and not returned yet */
	bool is_cut;             /* the last returned line was cut: the next returned line is the rest */
	bool at_end;
};

/*
 * Read the next line. 1: *line is the line without its newline, valid until the next call. *is_continued: *line
 * continues the previous line, which was too long. 0: end of file. -ENOMEM, -EIO and others: the rest cannot be read.
 */
int wmk_import_lines_next(struct wmk_import_lines *lines, struct wmk_import_text *line, bool *is_continued);

#endif
