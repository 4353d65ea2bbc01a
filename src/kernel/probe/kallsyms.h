/* SPDX-License-Identifier: MIT */
/*
 * kallsyms.h - look up a function of the running kernel in /proc/kallsyms. Every user may read the names in
 * /proc/kallsyms.
 */
#ifndef WMK_KERNEL_KALLSYMS_H
#define WMK_KERNEL_KALLSYMS_H

struct wmk_kallsyms_found {
	unsigned n;            /* number of functions of that name; 0: the file could not be read */
	char module[64];       /* module of the first function; "": the kernel itself */
};

/*
 * Look up a function. `file`: NULL for /proc/kallsyms; `module`: an empty name for any module. Returns 0 if the
 * function exists, or if the file cannot be read. -ENOENT: no such function or module; -EINVAL: the symbol is data. The
 * cause chain contains names of functions that are similar to `symbol`.
 */
int wmk_kallsyms_find(const char *file, const char *module, const char *symbol, struct wmk_kallsyms_found *found);

#endif
