/* SPDX-License-Identifier: MIT */
/*
 * value_labels.h - what a format's `print fmt` calls the values of its fields. Internal to src/kernel.
 */
#ifndef WMK_KERNEL_VALUE_LABELS_H
#define WMK_KERNEL_VALUE_LABELS_H

#include "kernel/event/format_file.h"

/* Where labels and their names are put: memory of the format's. */
struct wmk_klabels {
	struct wmk_label *next, *end;
	char *text, *text_end;
};

/*
 * Each `__print_symbolic(REC->field, { value, "name" }, ...)` and `__print_flags(REC->field, "|", { bit, "name" },
 * ...)` of `len` bytes at `print` gives its field the labels whose value is a constant that can be worked out; the
 * others (names of enumerators that a kernel left as they were) are left out. The first that has labels for a field
 * counts. Nothing is an error.
 */
void wmk_klabels_find(const char *print, size_t len, struct wmk_kfield *fields, uint32_t n, struct wmk_klabels *room);

#endif
