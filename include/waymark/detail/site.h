/* SPDX-License-Identifier: MIT */
/*
 * site.h - the instruction that is patched, its entry in the table of sites, its SystemTap note; the module.
 *
 *     .text            nop                      a place for gdb, perf and bpftrace (.note.stapsdt points here)
 *                      test $disp32, %eax       A9 disp32: does nothing. Enabled: E9 disp32, jmp to the enabled block
 *     waymark_sites    struct waymark_site      location and descriptor
 *
 * Each reference in a table entry is relative to the address of the reference. Flag "?" puts a table entry into the
 * section group of its function, if the function is in a group. When the linker drops a second copy of an inline
 * function, the linker also drops the table entries of this copy. Flag "R" keeps table entries when the program is
 * linked with --gc-sections.
 *
 * With WAYMARK_NO_PATCH, and on architectures without code patching, the site tests a byte in a separate section
 * instead.
 */
#ifndef WAYMARK_DETAIL_SITE_H
#define WAYMARK_DETAIL_SITE_H

#include <waymark/detail/abi.h>
#include <waymark/detail/pp.h>

#if !defined(WAYMARK_NO_PATCH) && !defined(__x86_64__) && !defined(__aarch64__)
#define WAYMARK_NO_PATCH 1
#endif

/* Constraint of an assembler operand for the address of a local object, in every code model. */
#if defined(__aarch64__)
#define WMK_ADDRESS_OPERAND "S"
#else
#define WMK_ADDRESS_OPERAND "i"
#endif

/* An entry of the table of sites; `code` and `target` are assembler expressions, and `desc` is operand 0. */
#define WMK_ASM_ENTRY(how, code, target) \
	".pushsection waymark_sites,\"aR?\",@progbits\n" \
	"\t.balign 4\n" \
	"\t.byte 16, " WMK_STR(WAYMARK_ABI_VERSION) ", " how ", 0\n" \
	"\t.long " code " - .\n" \
	"\t.long " target "\n" \
	"\t.long %c0 - .\n" \
	"\t.popsection\n"

/*
 * The SDT note of the nop at label 990, without a semaphore. `arguments`: assembler directives that write the argument
 * text of the note.
 */
#define WMK_ASM_NOTE_WITH(provider, name, arguments) \
	"990:\tnop\n" \
	"\t.pushsection .note.stapsdt,\"?\",\"note\"\n" \
	"\t.balign 4\n" \
	"\t.long 992f - 991f, 994f - 993f, 3\n" \
	"991:\t.asciz \"stapsdt\"\n" \
	"992:\t.balign 4\n" \
	"993:\t.quad 990b, _.stapsdt.base, 0\n" \
	"\t.asciz \"" provider "\"\n" \
	"\t.asciz \"" name "\"\n" \
	arguments \
	"\t.byte 0\n" \
	"994:\t.balign 4\n" \
	"\t.popsection\n" \
	"\t.ifndef _.stapsdt.base\n" \
	"\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	"\t.weak _.stapsdt.base\n" \
	"\t.hidden _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1\n" \
	"\t.size _.stapsdt.base, 1\n" \
	"\t.popsection\n" \
	"\t.endif\n"

#define WMK_ASM_NOTE(provider, name) WMK_ASM_NOTE_WITH(provider, name, "")
#define WMK_ASM_NO_NOTE(provider, name) ""

/*
 * The SDT note provider:name_args is in the enabled block, after the staging, and describes the staged values, such as
 * "-4@8(%rdx)". If an event has no arguments or more than WMK_NOTED_MAX arguments, the note describes no values (C++)
 * or does not exist (C). An argument of the note has two operands, a size and an offset; size 0 means no argument. An
 * asm statement has at most 30 operands.
 */
#define WMK_NOTED_MAX 12
#if defined(__x86_64__)
#define WMK_NOTE_BASE "d"       /* the register of the words in wmk_call_record() */
#define WMK_ASM_MEMORY(base, offset) offset "(" base ")"
#else
#define WMK_NOTE_BASE "r"
#define WMK_ASM_MEMORY(base, offset) "[" base ", " offset "]"
#endif
#define WMK_ASM_STAGED(i) \
	"\t.if %c[wmk_size" #i "]\n" \
	"\t.ascii \"%c[wmk_size" #i "]@" WMK_ASM_MEMORY("%[wmk_base]", "%c[wmk_offset" #i "]") " \"\n" \
	"\t.endif\n"

/* The size of a staged type in bytes, negative for a signed type. A reference has the size of a pointer. */
#define WMK_STAGED_SIZE(type) ((type) == WAYMARK_T_NONE ? 0 : \
	(type) == WAYMARK_T_S8 ? -1 : (type) == WAYMARK_T_U8 || (type) == WAYMARK_T_BOOL ? 1 : \
	(type) == WAYMARK_T_S16 ? -2 : (type) == WAYMARK_T_U16 ? 2 : \
	(type) == WAYMARK_T_S32 ? -4 : (type) == WAYMARK_T_U32 || (type) == WAYMARK_T_FLOAT ? 4 : \
	(type) == WAYMARK_T_S64 ? -8 : 8)
/* Offset in bytes of the value after a staged value; a reference ends a run of scalars. */
#define WMK_STAGED_PAST(is_ref, word, size) ((is_ref) ? ((word) + 7) / 8 * 8 : (word) + ((size) < 0 ? -(size) : (size)))

#if defined(__clang__)
#define WMK_COLD
#else
#define WMK_COLD __attribute__((cold, unused));
#endif

/*
 * Statements that set `wmk_on` if the site is enabled. `desc` is the address of the descriptor, and `byte` is an lvalue
 * for WAYMARK_NO_PATCH. `n` numbers the sites of a translation unit, because the scope of a label is the whole
 * function.
 */
#if defined(WAYMARK_NO_PATCH)
#define WMK_SITE(desc, byte, n, note, provider, name) \
	__asm__ volatile(note(provider, name) WMK_ASM_ENTRY("2", "%c1", "0") \
		: : WMK_ADDRESS_OPERAND(desc), WMK_ADDRESS_OPERAND(&(byte))); \
	wmk_on = __builtin_expect(__atomic_load_n(&(byte), __ATOMIC_RELAXED), 0) != 0
#else
#if defined(__x86_64__)
#define WMK_ASM_PATCH "995:\t.byte 0xa9\n\t.long %l1 - 996f\n996:\n"
#else
#define WMK_ASM_PATCH "995:\tnop\n"
#endif
#define WMK_SITE(desc, byte, n, note, provider, name) \
	__asm__ __inline__ goto(note(provider, name) WMK_ASM_PATCH WMK_ASM_ENTRY("1", "995b", "%l1 - .") \
		: : WMK_ADDRESS_OPERAND(desc) : : wmk_hit_##n); \
	if (0) { \
wmk_hit_##n: WMK_COLD \
		wmk_on = 1; \
	} \
	(void)0
#endif

#if defined(__x86_64__)
#define WMK_ENTRY waymark_enter
#else
#define WMK_ENTRY WMK_NULL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The bounds of the site table of this module, which the linker defines; null in a module without sites. */
extern const struct waymark_site __start_waymark_sites[] __attribute__((weak, visibility("hidden")));
extern const struct waymark_site __stop_waymark_sites[] __attribute__((weak, visibility("hidden")));

/*
 * Each executable and each shared library has one module object: every object file defines the object, the linker keeps
 * one copy, and the copy is hidden from other modules.
 */
extern struct waymark_module wmk_module_v2;
__attribute__((weak, visibility("hidden"))) struct waymark_module wmk_module_v2 = {
	sizeof(struct waymark_module), WAYMARK_ABI_VERSION, __start_waymark_sites, __stop_waymark_sites,
	&wmk_module_v2, WMK_NULL, WMK_NULL, WMK_ENTRY,
};

/*
 * The module functions run before the constructors and after the destructors of the program. Each object file has its
 * own copy of the module functions; the library ignores repeated calls for one module.
 */
__attribute__((constructor(101))) static void wmk_module_begin(void)
{
	waymark_module_register(&wmk_module_v2);
}

__attribute__((destructor(101))) static void wmk_module_end(void)
{
	waymark_module_unregister(&wmk_module_v2);
}

#ifdef __cplusplus
}
#endif
#endif
