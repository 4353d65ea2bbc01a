/* SPDX-License-Identifier: MIT */
/*
 * btf.c - read the parameters of kernel functions from BTF (see btf.h).
 */
#include "kernel/probe/btf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define LONGEST_CHAIN 32       /* longest chain of typedefs and qualifiers around a type; a longer chain is a cycle */

static const struct btf_type *plain_type(const struct btf *btf, __u32 id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	for (int i = 0; type && i < LONGEST_CHAIN; i++) {
		if (!btf_is_mod(type) && !btf_is_typedef(type) && !btf_is_type_tag(type))
			return type;
		type = btf__type_by_id(btf, type->type);
	}
	return NULL;
}

/*
 * Store the kernel's name of a type: "x64" for a pointer, "s32" and similar names for an integer or enumeration of at
 * most 8 bytes. "" for any other type.
 */
static void name_type(const struct btf *btf, __u32 id, char name[4])
{
	const struct btf_type *type = plain_type(btf, id);
	bool is_signed;

	name[0] = '\0';
	if (!type)
		return;
	if (btf_is_ptr(type)) {
		strcpy(name, "x64");
		return;
	}
	if (btf_is_int(type))
		is_signed = btf_int_encoding(type) & BTF_INT_SIGNED;
	else if (btf_is_any_enum(type))
		is_signed = btf_kflag(type);
	else
		return;
	if (type->size == 1 || type->size == 2 || type->size == 4 || type->size == 8)
		snprintf(name, 4, "%c%u", is_signed ? 's' : 'u', type->size * 8 % 100);
}

static void fill(const struct btf *btf, const struct btf_type *proto, struct wmk_btf_function *function)
{
	const struct btf_param *params = btf_params(proto);
	const unsigned n = btf_vlen(proto);

	memset(function, 0, sizeof(*function));
	function->n_params = n < WMK_BTF_PARAMS_MAX ? n : WMK_BTF_PARAMS_MAX;
	for (unsigned i = 0; i < function->n_params; i++) {
		const char *name = btf__name_by_offset(btf, params[i].name_off);

		snprintf(function->params[i].name, WMK_BTF_NAME_MAX, "%s", name ? name : "");
		name_type(btf, params[i].type, function->params[i].type);
	}
	function->is_void = proto->type == 0;
	name_type(btf, proto->type, function->result.type);
}

static int find(const struct btf *btf, const char *symbol, struct wmk_btf_function *function)
{
	const __s32 id = btf__find_by_name_kind(btf, symbol, BTF_KIND_FUNC);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	const struct btf_type *proto = type ? btf__type_by_id(btf, type->type) : NULL;

	if (!proto || !btf_is_func_proto(proto))
		return wmk_errorx(
			-ENOENT, "the kernel's type information has no function %s: use %%REGISTER or $argN",
			symbol);
	fill(btf, proto, function);
	return 0;
}

static struct btf *load(const char *folder, const char *file, struct btf *base)
{
	char path[512];

	if (strchr(file, '/') || snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path)) {
		errno = EINVAL;
		return NULL;
	}
	return base ? btf__parse_split(path, base) : btf__parse(path, NULL);
}

int wmk_btf_function(const char *folder, const char *module, const char *symbol, struct wmk_btf_function *function)
{
	const char *where = folder ? folder : "/sys/kernel/btf";
	const libbpf_print_fn_t print = libbpf_set_print(NULL);    /* libbpf must not write to standard error */
	struct btf *kernel = load(where, "vmlinux", NULL), *of_module = NULL;
	int err = 0;

	if (!kernel)
		err = wmk_errorx(-EOPNOTSUPP,
				 "this kernel has no type information (CONFIG_DEBUG_INFO_BTF is off, or %s cannot "
				 "be read)",
				 where);
	else if (module[0] && !(of_module = load(where, module, kernel)))
		err = wmk_errorx(-EOPNOTSUPP, "the module %s has no type information, or is not loaded", module);
	libbpf_set_print(print);
	if (err == 0)
		err = find(of_module ? of_module : kernel, symbol, function);
	btf__free(of_module);
	btf__free(kernel);
	return err;
}
