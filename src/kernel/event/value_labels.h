/* SPDX-License-Identifier: MIT */
/*
 * value_labels.h - labels of field values from a format's `print fmt`. Internal to src/kernel.
 */
#ifndef WMK_KERNEL_VALUE_LABELS_H
#define WMK_KERNEL_VALUE_LABELS_H

#include "kernel/event/format_file.h"

/* Memory for labels and their names, which is part of the format's memory. */
struct wmk_klabels {
	struct wmk_label *next, *end;
	char *text, *text_end;
};

/*
 * Finds each `__print_symbolic(REC->field, { value, "name" }, ...)` and `__print_flags(REC->field, "|", { bit, "name"
 * }, ...)` in `len` bytes at `print`. Adds to the field the labels that have constant expressions as values. Labels
 * with other values (enumerators that a kernel did not replace) are skipped. If several lists have labels for a field,
 * the field keeps the labels of the first list. Malformed text is skipped without an error.
 */
void wmk_klabels_find(const char *print, size_t len, struct wmk_kfield *fields, uint32_t n, struct wmk_klabels *room);

#endif
