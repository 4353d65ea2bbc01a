/* SPDX-License-Identifier: MIT */
/*
 * trace_writer.h - write records that arrive almost in order of time to a trace on disk. Internal to src/import.
 *
 * Each combination of context fields has a stream class. A stream class has as many streams as the order of time
 * requires (see import.h). Each stream has one packet in memory, which the writer fills.
 */
#ifndef WMK_IMPORT_TRACE_WRITER_H
#define WMK_IMPORT_TRACE_WRITER_H

#include "import/window.h"

struct wmk_import_trace;

/* Create the trace in the directory `path`. `format` is a static text. */
int wmk_import_trace_create(const char *path, const char *format, struct wmk_import_trace **trace);
/*
 * Write the first part of the metadata, before the first record. `clock_words` is the description of the clock in the
 * metadata.
 */
int wmk_import_trace_begin(struct wmk_import_trace *trace, const char *clock_words);
/* Write a record. *late is incremented if the record cannot keep its time. */
int wmk_import_trace_write(struct wmk_import_trace *trace, const struct wmk_import_record *record, uint64_t *late);
/*
 * Write the last packets and free everything, even after an error. The function removes a trace that has no metadata.
 * *records: number of records in the trace.
 */
int wmk_import_trace_close(struct wmk_import_trace *trace, uint64_t *records);

#endif
