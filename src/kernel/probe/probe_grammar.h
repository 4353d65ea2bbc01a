/* SPDX-License-Identifier: MIT */
/*
 * probe_grammar.h - parse a probe; probe.h has the syntax. The parser looks up no file and no symbol. Pure; any thread.
 * Errors are -EINVAL with a cause chain that contains the column.
 */
#ifndef WMK_KERNEL_PROBE_GRAMMAR_H
#define WMK_KERNEL_PROBE_GRAMMAR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/probe/probe.h"

#define WMK_PROBE_SYMBOL_MAX 1024u     /* mangled names can be long */
#define WMK_PROBE_DEREFS_MAX 4u

enum wmk_probe_base {
	WMK_PROBE_NAMED,           /* a parameter's name */
	WMK_PROBE_REGISTER,        /* %di */
	WMK_PROBE_ARGUMENT,        /* $arg2: number */
	WMK_PROBE_RETVAL,
	WMK_PROBE_COMM,
	WMK_PROBE_STACK,           /* $stack; $stack3: number, is_slot */
	WMK_PROBE_SYMBOL,          /* @text + number */
	WMK_PROBE_MEMORY,          /* @number */
};

struct wmk_probe_deref {
	bool is_user;              /* +u8(...) */
	int64_t offset;
};

struct wmk_probe_arg {
	uint32_t column;           /* column of the value, from 1 */
	char name[WMK_PROBE_FIELD_MAX];    /* never empty after parsing */
	char type[WMK_PROBE_TYPE_MAX];     /* "": no type was given; for an array, the type of an element */
	uint32_t count;            /* elements of an array; 0: not an array */
	uint32_t n_derefs;         /* outermost first */
	struct wmk_probe_deref derefs[WMK_PROBE_DEREFS_MAX];
	enum wmk_probe_base base;
	bool is_slot;
	int64_t number;
	char text[128];            /* a name, a register, a symbol */
};

enum wmk_probe_place_kind { WMK_PROBE_IN_KERNEL, WMK_PROBE_IN_ELF, WMK_PROBE_AT_SDT };

struct wmk_probe_text {
	enum wmk_probe_place_kind place;
	char path[PATH_MAX];                   /* ELF, SDT: as typed */
	char scope[128];                       /* KERNEL: the module, "": any; SDT: the provider */
	/* name of the function; SDT: the name of the note; "": an address was given */
	char symbol[WMK_PROBE_SYMBOL_MAX];
	uint64_t number;                       /* offset from the symbol, or the address */
	bool has_args;                         /* a list was given, perhaps an empty one */
	uint32_t n_args;
	struct wmk_probe_arg args[WMK_PROBE_ARGS_MAX];
};

int wmk_probe_text_read(enum wmk_probe_kind kind, const char *typed, struct wmk_probe_text *text);
/* Return whether a type is a text, which the kernel fetches from the address in the value. */
bool wmk_probe_type_is_string(const char *type);

#endif
