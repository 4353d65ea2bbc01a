/* SPDX-License-Identifier: MIT */
/*
 * btf.h - what the kernel's functions take and return, from its type information (BTF): names and sizes of parameters.
 *
 *     wmk_btf_function(NULL, "", "do_sys_openat2", &function)     params[1]: name "filename", type "x64"
 *
 * With libbpf. The file is read anew at each call (some milliseconds): asking is rare. Any thread. -errno with a cause
 * chain.
 */
#ifndef WMK_KERNEL_BTF_H
#define WMK_KERNEL_BTF_H

#include <stdbool.h>

#define WMK_BTF_PARAMS_MAX 16u
#define WMK_BTF_NAME_MAX 64u

struct wmk_btf_value {
	char name[WMK_BTF_NAME_MAX];      /* "": it has none */
	/* s8..s64, u8..u64, x64 for an address; "": not in one register (a structure, a floating number) */
	char type[4];
};

struct wmk_btf_function {
	unsigned n_params;                /* the first, of more than WMK_BTF_PARAMS_MAX */
	struct wmk_btf_value params[WMK_BTF_PARAMS_MAX];
	bool is_void;                     /* it returns nothing */
	struct wmk_btf_value result;
};

/*
 * `folder`: NULL for /sys/kernel/btf; `module`: "" for the kernel itself. -EOPNOTSUPP: this kernel, or this module, has
 * no BTF; -ENOENT: the function is not in it.
 */
int wmk_btf_function(const char *folder, const char *module, const char *symbol, struct wmk_btf_function *function);

#endif
