/* SPDX-License-Identifier: MIT */
/*
 * sdt.h - where the arguments of an SDT note are: the assembler's operands in it, as the kernel's registers and places
 * of memory.
 *
 *     "-4@%edi 8@-24(%rbp) 4@$5 -4@counter(%rip)"    x86        "-4@w0 8@[sp, 24] 4@5"    aarch64
 *
 * Each is SIZE@OPERAND: bytes, negative for a signed number, `f` behind it for a floating one. What the kernel cannot
 * fetch (vector registers, base plus scaled index, thread-local variables) is unreadable and says why. Pure; any
 * thread; nothing is trusted.
 */
#ifndef WMK_KERNEL_SDT_H
#define WMK_KERNEL_SDT_H

#include <stddef.h>
#include <stdint.h>

#define WMK_SDT_ARGS_MAX 16u
#define WMK_SDT_SYMBOL_MAX 128u

enum wmk_sdt_kind {
	WMK_SDT_UNREADABLE,
	WMK_SDT_REGISTER,      /* base */
	WMK_SDT_MEMORY,        /* at base + number */
	WMK_SDT_CONSTANT,      /* number */
	WMK_SDT_VARIABLE,      /* at symbol + number */
};

struct wmk_sdt_arg {
	enum wmk_sdt_kind kind;
	char type[4];          /* s8..s64, u8..u64 */
	char base[8];          /* a register, as the kernel calls it */
	int64_t number;
	char symbol[WMK_SDT_SYMBOL_MAX];
	const char *why;       /* UNREADABLE */
};

/* Arguments of a note: how many; of more than WMK_SDT_ARGS_MAX the first. `machine`: EM_... */
unsigned wmk_sdt_args(unsigned machine, const char *text, struct wmk_sdt_arg args[WMK_SDT_ARGS_MAX]);

/* ── registers, also of what users write ─────────────────────────────────────────────────────────────── */

/*
 * A register's name, in assembler or as the kernel calls it, without %: its bytes, and the kernel's name. 0: there is
 * none.
 */
unsigned wmk_register_find(unsigned machine, const char *name, size_t len, char kernel_name[8]);
/* In which register a function gets its n-th argument (from 1). NULL: none, or not known. */
const char *wmk_register_of_argument(unsigned machine, unsigned n);

#endif
