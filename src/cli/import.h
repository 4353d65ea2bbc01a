/* SPDX-License-Identifier: MIT */
/*
 * import.h - `waymark convert --from`: convert logs of other programs to a trace (import/import.h).
 */
#ifndef WMK_CLI_IMPORT_H
#define WMK_CLI_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/option.h"

/* Values of the options. Initialize it with zeros. */
struct wmk_cli_import {
	const char *format;      /* NULL: no --from */
	bool is_told;            /* a year or an origin is given */
	int year;
	bool has_origin;
	int64_t origin_ns;
};

/*
 * The option kinds of --year and --boot-time. For these options, struct wmk_cli_option.at is the offset of the struct
 * wmk_cli_import in the command's arguments.
 */
wmk_cli_store wmk_cli_store_import_year, wmk_cli_store_import_origin;

/*
 * Make the trace. Reports the assumptions about the log, and the lines that have an unknown format. "-" is standard
 * input. Returns the exit status.
 */
int wmk_cli_import(const struct wmk_cli_import *import, const char *directory, const char *const *files, unsigned n);
/*
 * Like wmk_cli_import(), but converts only a selection of the records. Creates the trace in a temporary directory next
 * to `directory`, and passes the path of this trace to `then`. After `then` returns, the function removes the temporary
 * trace and returns the exit status of `then`. If a log cannot be read to its end, `then` is not called.
 */
int wmk_cli_import_part(const struct wmk_cli_import *import, const char *directory, const char *const *files,
			unsigned n, int (*then)(void *data, const char *made), void *data);

#endif
