/* SPDX-License-Identifier: MIT */
/*
 * line_reader.h - a file, line by line, in bounded memory. Internal to src/import.
 */
#ifndef WMK_IMPORT_LINE_READER_H
#define WMK_IMPORT_LINE_READER_H

#include <stdio.h>

#include "import/log_line.h"

/* Starts from { .in = file }; free(buf). */
struct wmk_import_lines {
	FILE *in;
	char *buf;               /* WMK_IMPORT_LINE_MAX */
	size_t begin, end;       /* what was read and not given yet */
	bool is_cut;             /* the line that was given last goes on */
	bool at_end;
};

/*
 * 1: a line, without its newline, valid until the next call; *goes_on: it is the rest of one that is too long. 0: there
 * is no more. -ENOMEM, -EIO and others: the rest cannot be read.
 */
int wmk_import_lines_next(struct wmk_import_lines *lines, struct wmk_import_text *line, bool *goes_on);

#endif
