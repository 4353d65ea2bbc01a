/* SPDX-License-Identifier: MIT */
/*
 * query_print.h - print the rows of a query: aligned columns, CSV (RFC 4180) or JSON lines.
 *
 * The width of a column is the width of the longest value in the first rows. A longer value in a later row widens the
 * column from that row on.
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
/* Print a row, or buffer the row until the width of its columns is known. -ENOMEM, or the error of a write (-EPIPE). */
int wmk_query_printer_row(struct wmk_query_printer *printer, const struct wmk_query_value *values);
/* Print the buffered rows, and flush the output. Errors: as above. */
int wmk_query_printer_end(struct wmk_query_printer *printer);
void wmk_query_printer_free(struct wmk_query_printer *printer);

#endif
