/* SPDX-License-Identifier: MIT */
/*
 * call.h - enter the library from an enabled block with minimal effect on the function around it.
 *
 * An ordinary call instruction clobbers nine registers, needs an aligned stack, and ends the use of the red zone. With
 * an ordinary call, the compiler would add push, sub and mov to the entry of the function, and these instructions would
 * run even while the event is disabled. So on x86-64 the enabled block *jumps* to waymark_enter(), which jumps back:
 *
 *     enabled block                                                waymark_enter()
 *     rax: descriptor, rdx: words, rcx: references, r11: 1f; jmp ─► skip the red zone; save; record
 * 1:           ◄─────────────────────────────────────────────── jmp *r11
 *
 * waymark_enter() clobbers these four registers, the flags, and vector and x87 registers. It accepts any stack
 * alignment. The enabled block does not move the stack pointer, so the unwind information of the function stays
 * correct; waymark_enter() has its own unwind information. A function that is compiled without SSE may contain a site,
 * although the library uses vector registers, as the C library does. Signal handlers may contain sites, because the
 * kernel saves the registers of the interrupted code.
 */
#ifndef WAYMARK_DETAIL_CALL_H
#define WAYMARK_DETAIL_CALL_H

#include <waymark/detail/abi.h>

#if defined(__x86_64__)

#if defined(__AVX512F__)
#define WMK_CLOBBER_WIDE \
	, "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
	"xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define WMK_CLOBBER_WIDE
#endif
/*
 * The compiler saves vector and x87 registers that hold values, so the library may use any of these registers to copy
 * data.
 */
#define WMK_CLOBBER \
	"memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
	"xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", \
	"st(7)" WMK_CLOBBER_WIDE

static inline __attribute__((always_inline, unused)) void wmk_call_record(struct waymark_desc *desc,
									  const uint64_t *words,
									  const struct waymark_ref *refs)
{
	__asm__ volatile(
		"leaq 1f(%%rip), %%r11\n\t"
		"jmp *waymark_enter@GOTPCREL(%%rip)\n"
		"1:"
		: "+a"(desc), "+d"(words), "+c"(refs) : : "r11", WMK_CLOBBER);
}

#else

static inline __attribute__((always_inline, unused)) void wmk_call_record(struct waymark_desc *desc,
									  const uint64_t *words,
									  const struct waymark_ref *refs)
{
	waymark_record(desc, words, refs, NULL);
}

#endif
#endif
