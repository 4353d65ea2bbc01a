/* SPDX-License-Identifier: MIT */
/*
 * spec_warning.c - collect warnings about violations of the specification that the parsers accept, as babeltrace2 does
 * (see build.h).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ctf/build.h"

/*
 * Returns the text of a new warning. The last of WMK_CTF_WARNINGS_MAX warnings has a general text and counts all
 * further kinds of violations.
 */
static const char *words_of(struct wmk_ctf_builder *to, const char *words)
{
	if (to->class.n_warnings == WMK_CTF_WARNINGS_MAX - 1)
		return "more violations of the specification";
	return wmk_ctf_copy_text(to, words, strlen(words));
}

void wmk_ctf_warn(struct wmk_ctf_builder *to, uint32_t line, uint32_t column, const char *format, ...)
{
	char words[WMK_ERROR_LEN];
	va_list args;

	if (to->err < 0)
		return;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	for (uint32_t i = 0; i < to->class.n_warnings; i++)
		if (i == WMK_CTF_WARNINGS_MAX - 1 || strcmp(to->warnings[i].words, words) == 0) {
			to->warnings[i].count += to->warnings[i].count < UINT32_MAX;
			return;
		}
	if (!to->warnings)
		to->warnings = wmk_ctf_alloc(to, WMK_CTF_WARNINGS_MAX * sizeof(*to->warnings));
	to->class.warnings = to->warnings;
	if (!to->warnings)
		return;
	to->warnings[to->class.n_warnings] = (struct wmk_ctf_warning){ words_of(to, words), line, column, 1 };
	to->class.n_warnings++;
}
