/* SPDX-License-Identifier: MIT */
/*
 * import.h - `waymark convert --from`: logs of other programs as a trace (import/import.h).
 */
#ifndef WMK_CLI_IMPORT_H
#define WMK_CLI_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/option.h"

/* What the options say. Starts from zeros. */
struct wmk_cli_import {
	const char *format;      /* NULL: no log is meant */
	bool is_told;            /* there is a year, or an origin */
	int year;
	bool has_origin;
	int64_t origin_ns;
};

/* --year, --boot-time: of the structure's place in the arguments. */
wmk_cli_store wmk_cli_store_import_year, wmk_cli_store_import_origin;

/*
 * Make the trace, and tell what was assumed, and what not understood. "-" is standard input. Returns the exit status.
 */
int wmk_cli_import(const struct wmk_cli_import *import, const char *directory, const char *const *files, unsigned n);
/*
 * The same where not all of it is wanted: the trace is made in a directory of its own beside `directory`, given to
 * `then`, whose exit status is returned, and removed. What a log that cannot be read to its end has before that is not
 * given.
 */
int wmk_cli_import_part(const struct wmk_cli_import *import, const char *directory, const char *const *files,
			unsigned n, int (*then)(void *data, const char *made), void *data);

#endif
