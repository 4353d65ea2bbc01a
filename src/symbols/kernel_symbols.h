/* SPDX-License-Identifier: MIT */
/*
 * kernel_symbols.h - functions of the kernel, from a copy of /proc/kallsyms that was saved with the trace. One thread.
 */
#ifndef WMK_SYMBOLS_KERNEL_SYMBOLS_H
#define WMK_SYMBOLS_KERNEL_SYMBOLS_H

#include "read/symbolizer.h"

struct wmk_kernel_symbols {            /* initialized with zeros */
	struct wmk_kernel_function *functions; /* ordered by address */
	uint32_t n, cap;
};

/* The file of the symbols in the directory of a recording. */
#define WMK_KERNEL_SYMBOLS_FILE "kallsyms"

/* Add the functions of a file. No file: no effect. -ENOMEM with a cause chain. */
int wmk_kernel_symbols_load(struct wmk_kernel_symbols *symbols, const char *path);
void wmk_kernel_symbols_free(struct wmk_kernel_symbols *symbols);
/* Find the function of an address. False: unknown. */
bool wmk_kernel_symbols_find(const struct wmk_kernel_symbols *symbols, uint64_t address, struct wmk_read_frame *frame);
/*
 * Copy the functions of /proc/kallsyms to a file. -EPERM with a cause chain: the kernel hides addresses from this user.
 */
int wmk_kernel_symbols_save(const char *path);

#endif
