/* SPDX-License-Identifier: MIT */
/*
 * kallsyms.h - is there such a function in this kernel? From /proc/kallsyms, whose names everybody may read.
 */
#ifndef WMK_KERNEL_KALLSYMS_H
#define WMK_KERNEL_KALLSYMS_H

struct wmk_kallsyms_found {
	unsigned n;            /* places of that name; 0: it could not be looked up */
	char module[64];       /* of the first one; "": the kernel itself */
};

/*
 * `file`: NULL for /proc/kallsyms; `module`: "": any. 0: it is there, or nothing can be read; -ENOENT, -EINVAL (it is
 * data): with a cause chain that names what is near.
 */
int wmk_kallsyms_find(const char *file, const char *module, const char *symbol, struct wmk_kallsyms_found *found);

#endif
