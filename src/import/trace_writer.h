/* SPDX-License-Identifier: MIT */
/*
 * trace_writer.h - records, which come nearly in the order of time, as a trace on disk. Internal to src/import.
 *
 * A stream class for each set of contexts; of it as many streams as the order of time needs (import.h), each with a
 * packet that is being filled.
 */
#ifndef WMK_IMPORT_TRACE_WRITER_H
#define WMK_IMPORT_TRACE_WRITER_H

#include "import/window.h"

struct wmk_import_trace;

/* Makes the directory. `format`: static. */
int wmk_import_trace_create(const char *path, const char *format, struct wmk_import_trace **trace);
/* Before the first record: what the clock counts, for people. */
int wmk_import_trace_begin(struct wmk_import_trace *trace, const char *clock_words);
/* *late: one more, if it could not have its time. */
int wmk_import_trace_write(struct wmk_import_trace *trace, const struct wmk_import_record *record, uint64_t *late);
/*
 * Writes the packets out; frees everything, also when that fails. A trace without a declaration leaves nothing behind.
 * *records: how many are in it.
 */
int wmk_import_trace_close(struct wmk_import_trace *trace, uint64_t *records);

#endif
