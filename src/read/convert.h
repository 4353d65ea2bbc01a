/* SPDX-License-Identifier: MIT */
/*
 * convert.h - output forms of `waymark convert`, in addition to text (print.h) and JSON (json.h).
 */
#ifndef WMK_READ_CONVERT_H
#define WMK_READ_CONVERT_H

#include "read/exporter.h"

extern const struct wmk_read_exporter wmk_read_csv;      /* a table: csv.c */
extern const struct wmk_read_exporter wmk_read_chrome;   /* for chrome://tracing and compatible viewers: chrome.c */
extern const struct wmk_read_exporter wmk_read_perfetto; /* for ui.perfetto.dev: perfetto.c */
extern const struct wmk_read_exporter wmk_read_folded;   /* stacks for flame graphs: folded.c */
/* a directory of traces in Common Trace Format 1.8 (ctf_exporter.c); ... */
extern const struct wmk_read_exporter wmk_read_ctf18;
extern const struct wmk_read_exporter wmk_read_ctf2;     /* ... in version 2 */

#endif
