/* SPDX-License-Identifier: MIT */
/*
 * probe_fetch.c - format arguments in the kernel's syntax, which the kernel's Documentation/trace/kprobetrace.rst and
 * uprobetracer.rst describe.
 */
#include "kernel/probe/probe_fetch.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* A value before any dereference. */
struct value {
	char fetch[WMK_PROBE_FETCH_MAX];
	char type[WMK_PROBE_TYPE_MAX];
	bool is_place;           /* the value is a place in memory (@...) */
};

int wmk_probe_ask_btf(struct wmk_probe_spot *spot)
{
	if (spot->btf_state == 0 && (!spot->symbol[0] || strchr(spot->symbol, '.')))
		return wmk_errorx(-ENOENT,
				  "parameters have names only at the entry of a whole function: use %%REGISTER");
	if (spot->btf_state == 0) {
		const int err = wmk_btf_function(spot->btf, spot->module, spot->symbol, &spot->function);

		spot->btf_state = err < 0 ? err : 1;
		return err;
	}
	return spot->btf_state < 0 ? wmk_error(spot->btf_state, "the function's type is unknown") : 0;
}

static int not_named(const struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg)
{
	char names[128] = "";
	size_t len = 0;

	for (unsigned i = 0; i < spot->function.n_params && len < sizeof(names); i++) {
		const int n = snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "",
				       spot->function.params[i].name);

		len += n > 0 ? (size_t)n : 0;
	}
	wmk_errorx(-EINVAL, "it has %s", names[0] ? names : "none");
	return wmk_error_add(-EINVAL, "column %u: %s has no parameter %s", arg->column, spot->symbol, arg->text);
}

static unsigned find_parameter(const struct wmk_btf_function *function, const char *name)
{
	unsigned i = 0;

	while (i < function->n_params && strcmp(function->params[i].name, name) != 0)
		i++;
	return i;
}

/*
 * The kernel numbers arguments by registers. A parameter can be in no register or in two registers. After a parameter
 * in no register or in two registers, the kernel's argument numbers differ from the positions of the parameters.
 */
static int by_parameter(struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, struct value *value)
{
	const struct wmk_btf_value *params = spot->function.params;
	const unsigned most = spot->machine == EM_AARCH64 ? 8 : WMK_BTF_PARAMS_MAX;
	int err = wmk_probe_ask_btf(spot);
	unsigned index;

	if (err < 0)
		return wmk_error_add(err, "column %u: cannot look up the parameter %s", arg->column, arg->text);
	index = find_parameter(&spot->function, arg->text);
	if (index == spot->function.n_params)
		return not_named(spot, arg);
	for (unsigned i = 0; i <= index; i++)
		if (!params[i].type[0] || index >= most)
			return wmk_errorx(-EINVAL,
					  "column %u: %s, or an earlier parameter, is not passed in a register of its "
					  "own",
					  arg->column, arg->text);
	snprintf(value->fetch, sizeof(value->fetch), "$arg%u", index + 1);
	snprintf(value->type, sizeof(value->type), "%s", params[index].type);
	return 0;
}

static int by_sdt(const struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, uint32_t number,
		  struct value *value)
{
	const char *why = "";

	if (number == 0 || number > spot->n_sdt)
		return wmk_errorx(-EINVAL, "column %u: the probe has %u arguments, numbered from arg1", arg->column,
				  spot->n_sdt);
	if (wmk_probe_fetch_sdt(spot, number - 1, value->fetch, value->type, &why) < 0)
		return wmk_errorx(-EINVAL, "column %u: argument %u of the probe cannot be recorded: %s",
				  arg->column, number, why);
	return 0;
}

static int by_name(struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, struct value *value)
{
	unsigned number;
	char behind;

	if (!spot->is_user)
		return by_parameter(spot, arg, value);
	if (spot->sdt && sscanf(arg->text, "arg%3u%c", &number, &behind) == 1)
		return by_sdt(spot, arg, number, value);
	return wmk_errorx(-EINVAL, "column %u: %s: only kernel functions have named parameters (use %s)",
			  arg->column, arg->text,
			  spot->sdt ? "arg1, arg2, ..., %REGISTER" : "$arg1, $arg2, ..., %REGISTER");
}

static int by_number(const struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, struct value *value)
{
	const char *name;

	if (spot->sdt)
		return by_sdt(spot, arg, (uint32_t)arg->number, value);
	if (!spot->at_entry && !(spot->at_return && !spot->is_user))
		return wmk_errorx(-EINVAL, "column %u: $arg%u is available only at a function's entry", arg->column,
				  (unsigned)arg->number);
	if (!spot->is_user) {
		snprintf(value->fetch, sizeof(value->fetch), "$arg%u", (unsigned)arg->number);
		return 0;
	}
	name = wmk_register_of_argument(spot->machine, (unsigned)arg->number);
	if (!name)
		return wmk_errorx(-EINVAL, "column %u: $arg%u is not in a register: use $stackN or +OFFSET(%%sp)",
				  arg->column, (unsigned)arg->number);
	snprintf(value->fetch, sizeof(value->fetch), "%%%s", name);
	return 0;
}

static int by_register(const struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, struct value *value)
{
	char name[8];
	const unsigned size = wmk_register_find(spot->machine, arg->text, strlen(arg->text), name);

	if (!size)
		return wmk_errorx(-EINVAL, "column %u: this machine has no register %%%s (available: %s)",
				  arg->column, arg->text,
				  spot->machine == EM_AARCH64 ? "%x0 ... %x30 %sp %pc"
							      : "%ax %bx %cx %dx %si %di %bp %sp %r8 ... %r15");
	snprintf(value->fetch, sizeof(value->fetch), "%%%s", name);
	snprintf(value->type, sizeof(value->type), "x%u", size * 8);
	return 0;
}

/*
 * The kernel takes a variable as an offset in the file, and adds the load address of the segment that contains the
 * probe. This function therefore adds the variable's distance from the probe's address to the probe's offset in the
 * file. The sum is also correct for a variable in another segment. The sum is correct for a variable in .bss, too,
 * although .bss is not in the file.
 */
static int of_variable(const struct wmk_probe_spot *spot, const char *symbol, int64_t number,
		       char fetch[WMK_PROBE_FETCH_MAX])
{
	uint64_t address;
	int64_t offset;
	int err = wmk_elf_address(spot->elf, symbol, &address);

	if (err < 0)
		return err;
	offset = (int64_t)(address + (uint64_t)number - spot->place.address + spot->place.offset);
	if (offset < 0)
		return -ERANGE;
	snprintf(fetch, WMK_PROBE_FETCH_MAX, "@+0x%" PRIx64, (uint64_t)offset);
	return 0;
}

static int by_symbol(const struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, struct value *value)
{
	int err;

	value->is_place = true;
	if (spot->is_user) {
		err = of_variable(spot, arg->text, arg->number, value->fetch);
		if (err == -E2BIG)
			return wmk_errorx(err,
					  "column %u: %s has too many symbols to search for %s",
					  arg->column, wmk_elf_path(spot->elf), arg->text);
		return err == 0 ? 0
				: wmk_errorx(err, "column %u: %s has %s %s", arg->column, wmk_elf_path(spot->elf),
					     err == -ENOTUNIQ ? "several variables" : "no variable", arg->text);
	}
	if (snprintf(value->fetch, sizeof(value->fetch), "@%s+%" PRId64, arg->text, arg->number) >=
	    (int)sizeof(value->fetch))
		return wmk_errorx(-EINVAL, "column %u: the name %.60s is too long for the kernel", arg->column,
				  arg->text);
	return 0;
}

static int find_value(struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, struct value *value)
{
	*value = (struct value){ .type = "x64" };
	switch (arg->base) {
	case WMK_PROBE_NAMED:
		return by_name(spot, arg, value);
	case WMK_PROBE_ARGUMENT:
		return by_number(spot, arg, value);
	case WMK_PROBE_REGISTER:
		return by_register(spot, arg, value);
	case WMK_PROBE_SYMBOL:
		return by_symbol(spot, arg, value);
	case WMK_PROBE_MEMORY:
		value->is_place = true;
		snprintf(value->fetch, sizeof(value->fetch), "@0x%" PRIx64, (uint64_t)arg->number);
		return 0;
	case WMK_PROBE_STACK:
		snprintf(value->fetch, sizeof(value->fetch), "$stack");
		if (arg->is_slot)
			snprintf(value->fetch, sizeof(value->fetch), "$stack%u", (unsigned)arg->number);
		return 0;
	case WMK_PROBE_COMM:
		snprintf(value->fetch, sizeof(value->fetch), "$comm");
		snprintf(value->type, sizeof(value->type), "string");
		return 0;
	case WMK_PROBE_RETVAL:
		if (!spot->at_return)
			return wmk_errorx(-EINVAL, "column %u: $retval is available only at a function's return",
					  arg->column);
		snprintf(value->fetch, sizeof(value->fetch), "$retval");
		if (!spot->is_user && wmk_probe_ask_btf(spot) == 0 && spot->function.result.type[0])
			snprintf(value->type, sizeof(value->type), "%s", spot->function.result.type);
		wmk_error_clear();
		return 0;
	}
	return -EINVAL;
}

static bool wrap(char fetch[WMK_PROBE_FETCH_MAX], bool is_user, int64_t offset)
{
	const uint64_t distance = offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset;
	char longer[2 * WMK_PROBE_FETCH_MAX];
	const int len = snprintf(longer, sizeof(longer), "%c%s%" PRIu64 "(%s)", offset < 0 ? '-' : '+',
				 is_user ? "u" : "", distance, fetch);

	memcpy(fetch, longer, WMK_PROBE_FETCH_MAX);
	fetch[WMK_PROBE_FETCH_MAX - 1] = '\0';
	return len < (int)WMK_PROBE_FETCH_MAX;
}

bool wmk_probe_put_type(const char *value, const char *type, char fetch[WMK_PROBE_FETCH_MAX])
{
	char longer[2 * WMK_PROBE_FETCH_MAX];
	const int len = snprintf(longer, sizeof(longer), "%s:%s", value, type);

	if (len >= (int)WMK_PROBE_FETCH_MAX)
		return false;
	memcpy(fetch, longer, WMK_PROBE_FETCH_MAX);
	return true;
}

int wmk_probe_fetch(struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, char fetch[WMK_PROBE_FETCH_MAX],
		    char type[WMK_PROBE_TYPE_MAX])
{
	const bool points = (wmk_probe_type_is_string(arg->type) || arg->count) && arg->n_derefs == 0;
	struct value value;
	int err = find_value(spot, arg, &value);
	bool fits = true;

	if (err < 0)
		return err;
	if (spot->is_user && strncmp(arg->type, "sym", 3) == 0)
		return wmk_errorx(-EINVAL,
				  "column %u: the type %s is for kernel addresses, but the probe is in a program",
				  arg->column, arg->type);
	for (uint32_t i = arg->n_derefs; i > 0 && fits; i--)
		fits = wrap(value.fetch, arg->derefs[i - 1].is_user, arg->derefs[i - 1].offset);
	if (points && !value.is_place && arg->base != WMK_PROBE_COMM)
		fits = wrap(value.fetch, false, 0);
	if (arg->n_derefs)
		snprintf(value.type, sizeof(value.type), "x64");
	if (arg->type[0])
		memcpy(value.type, arg->type, sizeof(value.type));
	if (arg->count)
		snprintf(type, WMK_PROBE_TYPE_MAX, "%.10s[%u]", value.type, arg->count % 100);
	else
		memcpy(type, value.type, WMK_PROBE_TYPE_MAX);
	fits = fits && wmk_probe_put_type(value.fetch, type, fetch);
	return fits ? 0 : wmk_errorx(-EINVAL, "column %u: the value is too long for the kernel", arg->column);
}

int wmk_probe_fetch_sdt(const struct wmk_probe_spot *spot, uint32_t index, char fetch[WMK_PROBE_FETCH_MAX],
			char type[WMK_PROBE_TYPE_MAX], const char **why)
{
	const struct wmk_sdt_arg *arg = &spot->sdt[index];
	int err;

	snprintf(type, WMK_PROBE_TYPE_MAX, "%s", arg->type);
	switch (arg->kind) {
	case WMK_SDT_REGISTER:
		snprintf(fetch, WMK_PROBE_FETCH_MAX, "%%%s", arg->base);
		return 0;
	case WMK_SDT_MEMORY:
		snprintf(fetch, WMK_PROBE_FETCH_MAX, "%%%s", arg->base);
		wrap(fetch, false, arg->number);
		return 0;
	case WMK_SDT_CONSTANT:
		snprintf(fetch, WMK_PROBE_FETCH_MAX, "\\%" PRId64, arg->number);
		return 0;
	case WMK_SDT_VARIABLE:
		err = of_variable(spot, arg->symbol, arg->number, fetch);
		if (err == 0)
			return 0;
		*why = err == -E2BIG ? "it is in a variable, and the file has too many symbols to search for the "
				       "variable"
				     : "it is in a variable that has no unique name in the file (perhaps the file is "
				       "stripped)";
		return -ENOTSUP;
	case WMK_SDT_UNREADABLE:
		break;
	}
	*why = arg->why;
	return -ENOTSUP;
}
