/* SPDX-License-Identifier: MIT */
/*
 * sdt.h - parse the arguments of an SDT note: operands of the assembler, as registers and memory for the kernel.
 *
 *     "-4@%edi 8@-24(%rbp) 4@$5 -4@counter(%rip)"    x86        "-4@w0 8@[sp, 24] 4@5"    aarch64
 *
 * Each argument is SIZE@OPERAND. SIZE is in bytes, and negative for a signed number; `f` follows for a floating-point
 * number. Operands that the kernel cannot fetch (vector registers, base plus scaled index, thread-local variables)
 * become UNREADABLE with a reason. The functions are pure, so any thread may call them; the text is not trusted.
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
	char base[8];          /* the kernel's name of a register */
	int64_t number;
	char symbol[WMK_SDT_SYMBOL_MAX];
	const char *why;       /* UNREADABLE */
};

/* Parse the arguments of an SDT note, at most WMK_SDT_ARGS_MAX. Returns their number. `machine`: EM_... */
unsigned wmk_sdt_args(unsigned machine, const char *text, struct wmk_sdt_arg args[WMK_SDT_ARGS_MAX]);

/* ── registers, also for typed arguments ─────────────────────────────────────────────────────────────── */

/*
 * Find a register by its name in assembler or in the kernel, without %. Returns the size of the register in bytes, and
 * stores the kernel's name of the register; 0: unknown register.
 */
unsigned wmk_register_find(unsigned machine, const char *name, size_t len, char kernel_name[8]);
/*
 * Return the register of a function's n-th argument (from 1). NULL: the argument is not in a register, or the register
 * is unknown.
 */
const char *wmk_register_of_argument(unsigned machine, unsigned n);

#endif
