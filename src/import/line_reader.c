/* SPDX-License-Identifier: MIT */
/*
 * line_reader.c - read a file line by line (see line_reader.h).
 */
#include "import/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "import/import.h"

/* Read more bytes into the buffer. 0, or 1 at the end of the file. */
static int fill(struct wmk_import_lines *lines)
{
	size_t n;

	if (lines->begin) {
		memmove(lines->buf, lines->buf + lines->begin, lines->end - lines->begin);
		lines->end -= lines->begin;
		lines->begin = 0;
	}
	errno = 0;
	n = fread(lines->buf + lines->end, 1, WMK_IMPORT_LINE_MAX - lines->end, lines->in);
	lines->end += n;
	if (n)
		return 0;
	if (ferror(lines->in))
		return wmk_error(errno ? -errno : -EIO, "cannot read the file");
	lines->at_end = true;
	return 1;
}

static int give(struct wmk_import_lines *lines, size_t len, bool is_cut, struct wmk_import_text *line,
		bool *is_continued)
{
	*line = (struct wmk_import_text){ lines->buf + lines->begin, len };
	*is_continued = lines->is_cut;
	lines->is_cut = is_cut;
	/* Skip the newline at the end of the line. */
	lines->begin += len + (is_cut || lines->begin + len == lines->end ? 0 : 1);
	return 1;
}

int wmk_import_lines_next(struct wmk_import_lines *lines, struct wmk_import_text *line, bool *is_continued)
{
	size_t searched = 0;
	int err = 0;

	if (!lines->buf)
		lines->buf = malloc(WMK_IMPORT_LINE_MAX);
	if (!lines->buf)
		return wmk_error(-ENOMEM, "no memory for a line");
	while (err == 0) {
		const size_t len = lines->end - lines->begin;
		const char *newline =
			len > searched ? memchr(lines->buf + lines->begin + searched, '\n', len - searched) : NULL;

		if (newline)
			return give(lines, (size_t)(newline - lines->buf) - lines->begin, false, line, is_continued);
		if (len == WMK_IMPORT_LINE_MAX)
			return give(lines, len, true, line, is_continued);
		searched = len;
		err = lines->at_end ? 1 : fill(lines);
	}
	if (err < 0)
		return err;
	if (lines->end == lines->begin)
		return 0;
	return give(lines, lines->end - lines->begin, false, line, is_continued);
}
