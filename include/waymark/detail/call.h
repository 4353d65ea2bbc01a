/* SPDX-License-Identifier: MIT */
/*
 * call.h - the call of waymark_record() that leaves the function around it as it was.
 *
 * An ordinary call clobbers nine registers, needs an aligned stack, and ends the use of the red zone: the compiler
 * would pay for that at the entry of the function (push, sub, mov), although the call is not made while the event is
 * disabled. So on x86-64 the enabled block *jumps* to a stub of the module, with the arguments in a structure whose
 * address may be in any register. The stub saves all general registers, calls, and jumps back. It costs about 0.3 ns.
 *
 *     enabled block                    wmk_keep_<register>                    wmk_keep
 *     lea 1f -> call.ip; jmp ────────► skip the red zone; call ─────────────► save; align; call waymark_record()
 *  1:           ◄───────────────────── jmp *call.ip ◄──────────────────────── restore
 *
 * Nothing moves the stack pointer in the function itself, so its unwind information stays true; the stub has its own.
 */
#ifndef WAYMARK_DETAIL_CALL_H
#define WAYMARK_DETAIL_CALL_H

#include <waymark/detail/abi.h>

struct wmk_call {
	struct waymark_desc *desc;
	const uint64_t *words;
	const struct waymark_ref *refs;
	const void *ip;
	/* Taken in C, not named in the stub: link-time optimisation sees no reference in assembly. No lazy binding either. */
	void (*record)(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs, const void *ip);
};

#if defined(__x86_64__)

/*
 * One entry for each register that may hold the address of the call. Unwinding: the caller's stack pointer is ours as
 * we came; the return address is at register + 24 (DW_CFA_expression of column 16: DW_OP_breg<n> 24).
 */
#define WMK_KEEP_BEGIN(symbol) \
	"\t.ifndef " symbol "\n" \
	"\t.pushsection .text." symbol ",\"axG\",@progbits," symbol ",comdat\n" \
	"\t.hidden " symbol "\n\t.weak " symbol "\n\t.type " symbol ", @function\n" \
	symbol ":\n" \
	"\t.cfi_startproc\n"
#define WMK_KEEP_END(symbol) \
	"\t.cfi_endproc\n" \
	"\t.size " symbol ", . - " symbol "\n" \
	"\t.popsection\n" \
	"\t.endif\n"

#define WMK_KEEP_ENTRY(name, dwarf) __asm__( \
	WMK_KEEP_BEGIN("wmk_keep_" name) \
	"\t.cfi_def_cfa 7, 0\n" \
	"\t.cfi_escape 0x10, 16, 2, 0x70 + " dwarf ", 24\n" \
	"\tleaq -128(%rsp), %rsp\n" \
	"\t.cfi_adjust_cfa_offset 128\n" \
	"\tpushq %" name "\n" \
	"\t.cfi_adjust_cfa_offset 8\n" \
	"\tcall wmk_keep\n" \
	"\tleaq 136(%rsp), %rsp\n" \
	"\t.cfi_adjust_cfa_offset -136\n" \
	"\tjmp *24(%" name ")\n" \
	WMK_KEEP_END("wmk_keep_" name))

WMK_KEEP_ENTRY("rax", "0");
WMK_KEEP_ENTRY("rdx", "1");
WMK_KEEP_ENTRY("rcx", "2");
WMK_KEEP_ENTRY("rbx", "3");
WMK_KEEP_ENTRY("rsi", "4");
WMK_KEEP_ENTRY("rdi", "5");
WMK_KEEP_ENTRY("rbp", "6");
WMK_KEEP_ENTRY("r8", "8");
WMK_KEEP_ENTRY("r9", "9");
WMK_KEEP_ENTRY("r10", "10");
WMK_KEEP_ENTRY("r11", "11");
WMK_KEEP_ENTRY("r12", "12");
WMK_KEEP_ENTRY("r13", "13");
WMK_KEEP_ENTRY("r14", "14");
WMK_KEEP_ENTRY("r15", "15");

__asm__(
	WMK_KEEP_BEGIN("wmk_keep")
	"\tpushq %rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset rbp, 0\n"
	"\tmovq %rsp, %rbp\n\t.cfi_def_cfa_register 6\n"
	"\tpushq %rax\n\t.cfi_offset rax, -24\n"
	"\tpushq %rcx\n\t.cfi_offset rcx, -32\n"
	"\tpushq %rdx\n\t.cfi_offset rdx, -40\n"
	"\tpushq %rsi\n\t.cfi_offset rsi, -48\n"
	"\tpushq %rdi\n\t.cfi_offset rdi, -56\n"
	"\tpushq %r8\n\t.cfi_offset r8, -64\n"
	"\tpushq %r9\n\t.cfi_offset r9, -72\n"
	"\tpushq %r10\n\t.cfi_offset r10, -80\n"
	"\tpushq %r11\n\t.cfi_offset r11, -88\n"
	"\tmovq 16(%rbp), %rax\n"
	"\tmovq (%rax), %rdi\n"
	"\tmovq 8(%rax), %rsi\n"
	"\tmovq 16(%rax), %rdx\n"
	"\tmovq 24(%rax), %rcx\n"
	"\tandq $-16, %rsp\n"
	"\tcall *32(%rax)\n"
	"\tleaq -72(%rbp), %rsp\n"
	"\tpopq %r11\n\tpopq %r10\n\tpopq %r9\n\tpopq %r8\n\tpopq %rdi\n\tpopq %rsi\n\tpopq %rdx\n\tpopq %rcx\n\tpopq %rax\n"
	"\tpopq %rbp\n\t.cfi_def_cfa 7, 8\n"
	"\tret\n"
	WMK_KEEP_END("wmk_keep"));

#if defined(__AVX512F__)
#define WMK_CLOBBER_WIDE , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", \
	"xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define WMK_CLOBBER_WIDE
#endif
/* Vector and x87 registers are the compiler's to save, if it has values in them: the library may copy with any of them. */
#define WMK_CLOBBER "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
	"xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)" \
	WMK_CLOBBER_WIDE

static inline __attribute__((always_inline, unused)) void wmk_call_record(struct waymark_desc *desc, const uint64_t *words,
								   const struct waymark_ref *refs)
{
	struct wmk_call call;
	/*
	 * Stores are volatile: one for each member, at once read back one by one. The object is not: gcc ends the life of no volatile
	 * object, and while it may live, a call after the site is no tail call.
	 */
	volatile struct wmk_call *stored = &call;
	void *ip;

	stored->desc = desc;
	stored->words = words;
	stored->refs = refs;
	stored->record = waymark_record;

	__asm__ volatile(
		"leaq 1f(%%rip), %0\n\t"
		"movq %0, 24(%1)\n\t"
		"jmp wmk_keep_%V1\n"
		"1:"
		: "=&r"(ip) : "r"(&call) : WMK_CLOBBER);
}

#else

static inline __attribute__((always_inline, unused)) void wmk_call_record(struct waymark_desc *desc, const uint64_t *words,
								   const struct waymark_ref *refs)
{
	waymark_record(desc, words, refs, NULL);
}

#endif
#endif
