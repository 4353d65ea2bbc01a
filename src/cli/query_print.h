/* SPDX-License-Identifier: MIT */
/*
 * query_print.h - print the rows of a query: aligned columns, CSV (RFC 4180) or JSON lines.
 *
 * Columns are as wide as the longest of the first rows. A longer value in a later row widens its column from there on.
 */
#ifndef WMK_CLI_QUERY_PRINT_H
#define WMK_CLI_QUERY_PRINT_H

#include <stdio.h>

#include "analyze/query/query.h"

enum wmk_query_form { WMK_QUERY_AS_TABLE, WMK_QUERY_AS_CSV, WMK_QUERY_AS_JSON };

struct wmk_query_printer;

/* The names are copied. -ENOMEM. */
int wmk_query_printer_create(FILE *out, enum wmk_query_form form, unsigned n_columns, const char *const *names,
			     struct wmk_query_printer **printer);
/* Print a row, or keep it until its columns can be aligned. -ENOMEM, or the error of a write (-EPIPE). */
int wmk_query_printer_row(struct wmk_query_printer *printer, const struct wmk_query_value *values);
/* Print the rows that were kept, and flush. Errors: as above. */
int wmk_query_printer_end(struct wmk_query_printer *printer);
void wmk_query_printer_free(struct wmk_query_printer *printer);

#endif
