/* SPDX-License-Identifier: MIT */
/*
 * btf.h - parameters and result of a kernel function, from the kernel's type information (BTF): names and sizes.
 *
 *     wmk_btf_function(NULL, "", "do_sys_openat2", &function)     params[1]: name "filename", type "x64"
 *
 * Uses libbpf. Each call reads the file again (some milliseconds), because calls are rare. Any thread. Errors are
 * -errno with a cause chain.
 */
#ifndef WMK_KERNEL_BTF_H
#define WMK_KERNEL_BTF_H

#include <stdbool.h>

#define WMK_BTF_PARAMS_MAX 16u
#define WMK_BTF_NAME_MAX 64u

struct wmk_btf_value {
	char name[WMK_BTF_NAME_MAX];      /* "": the parameter has no name */
	/*
	 * s8..s64, u8..u64, x64 for a pointer; "": the value is not in one register (a structure, a floating-point
	 * number)
	 */
	char type[4];
};

struct wmk_btf_function {
	/* number of elements of `params`: at most WMK_BTF_PARAMS_MAX, even if the function has more parameters */
	unsigned n_params;
	struct wmk_btf_value params[WMK_BTF_PARAMS_MAX];
	bool is_void;                     /* the function has no result */
	struct wmk_btf_value result;
};

/*
 * Look up a function. `folder`: NULL for /sys/kernel/btf; `module`: "" for the kernel itself. -EOPNOTSUPP: no BTF for
 * this kernel or module; -ENOENT: BTF lacks the function.
 */
int wmk_btf_function(const char *folder, const char *module, const char *symbol, struct wmk_btf_function *function);

#endif
