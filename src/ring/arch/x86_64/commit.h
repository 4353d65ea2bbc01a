/* SPDX-License-Identifier: MIT */
/*
 * commit.h (x86-64) - the restartable sequences that write records: they check, copy, store and commit.
 *
 * x86-64 reorders neither stores with stores nor loads with loads, so the commit is a plain store:
 *   (A) the store to write_pos, release: pairs with the reader's load-acquire of write_pos (reader.c);
 *   (C) the check of write_pos, acquire, and the stores to a sub-buffer's header after the previous commit: pair with
 *       the overwrite reader's copy, load barrier, load of write_pos (reader.c);
 *   (D) the stores to a slot, tag first: pair with the reader's load of tag, time, count, tag (reader.c).
 *
 * Registers are assigned by hand: each restartable sequence must have enough registers with and without a frame
 * pointer.
 */
#ifndef WMK_RING_COMMIT_H
#define WMK_RING_COMMIT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/plan.h"

static inline uint32_t wmk_rseq_cpu(ptrdiff_t offset)
{
	uint32_t cpu;

	__asm__ __volatile__("movl %%fs:4(%1), %0" : "=r"(cpu) : "r"(offset));
	return cpu;
}

/*
 * The descriptor of the restartable sequence, which the kernel reads, and the first instructions of the sequence.
 * Assembler labels: 1 is the begin of the restartable sequence, 2 is the end of the commit, 4 is the abort handler.
 */
#define WMK_SEQ_BEGIN                                                                  \
	".pushsection __rseq_cs, \"aw\"\n\t"                                            \
	".balign 32\n"                                                                  \
	"3:\n\t"                                                                        \
	".long 0, 0\n\t"                                                                \
	".quad 1f, (2f - 1f), 4f\n\t"                                                   \
	".popsection\n\t"                                                               \
	"leaq 3b(%%rip), %%rax\n\t"                                                     \
	"movq %%rax, %%fs:8(%[off])\n"                                                  \
	"1:\n\t"

/*
 * dlclose() can unmap a static library that is linked into a shared library. The restartable sequences of a static
 * library clear the pointer to the descriptor, so that the kernel does not read unmapped memory.
 */
#ifdef WMK_RSEQ_CLEAR
#define WMK_SEQ_CLEAR "movq $0, %%fs:8(%[off])\n\t"
#else
#define WMK_SEQ_CLEAR ""
#endif

/*
 * The kernel expects the signature of a restartable sequence before the abort handler. The signature is part of an
 * instruction that traps (ud1).
 */
#define WMK_SEQ_END                                                                    \
	"2:\n\t" WMK_SEQ_CLEAR                                                          \
	".pushsection .text.wmk_abort, \"ax\"\n\t"                                      \
	".byte 0x0f, 0xb9, 0x3d\n\t"                                                    \
	".long 0x53053053\n"                                                            \
	"4:\n\t"                                                                        \
	"jmp %l[again]\n\t"                                                             \
	".popsection\n\t"

/*
 * A test build reads a separate page between any two stores of a restartable sequence. If a test makes the page
 * unreadable, the read raises a signal at exactly this place of the restartable sequence (window.c).
 */
#ifdef WMK_TESTPOINTS
#define WMK_SEQ_WINDOWS 14
extern unsigned char wmk_seq_window[WMK_SEQ_WINDOWS * 4096] __attribute__((visibility("hidden")));
#define WMK_SEQ_WINDOW(n) "movb wmk_seq_window+" #n "*4096(%%rip), %%al\n\t"
#else
#define WMK_SEQ_WINDOW(n) ""
#endif

/*
 * The fast path: write a header of 4 bytes and `len` bytes (1..64) of whole words. The words end at src_end, and the
 * record ends at dst_end. 0; -EAGAIN: the ring's state has changed, or the sequence was aborted; -ESTALE: the guard has
 * changed.
 */
static inline __attribute__((always_inline)) int
wmk_seq_words(ptrdiff_t offset, uint32_t cpu, struct wmk_ring_ctl *ctl, uint64_t pos, const uint64_t *guard,
	      uint64_t expect, uint64_t ts, uint32_t header, unsigned char *dst_end, const unsigned char *src_end,
	      uint64_t len, struct wmk_ring_slot *next, uint64_t records, uint64_t new_pos)
{
	__asm__ goto(WMK_SEQ_BEGIN
		     "movl %%fs:4(%[off]), %%eax\n\t"
		     "cmpl %[cpu], %%eax\n\t"
		     "jne %l[again]\n\t"
		     "movq %[expect], %%rax\n\t"
		     "cmpq %%rax, %[guard]\n\t"
		     "jne %l[stale]\n\t"
		     "movq %[pos], %%rax\n\t"
		     "cmpq %%rax, %[write_pos]\n\t"
		     "jne %l[again]\n\t"
		     "cmpq %[floor], %[ts]\n\t"
		     "jb %l[again]\n\t"
		     "movq %[len], %%rcx\n\t"
		     "negq %%rcx\n\t"
		     "movl %[header], -4(%[dst], %%rcx)\n\t"
		     WMK_SEQ_WINDOW(0)
		     "10:\n\t"
		     "movq (%[src], %%rcx), %%rax\n\t"
		     "movq %%rax, (%[dst], %%rcx)\n\t"
		     "addq $8, %%rcx\n\t"
		     "js 10b\n\t"
		     WMK_SEQ_WINDOW(1)
		     "movq %[new_pos], (%[next])\n\t"
		     WMK_SEQ_WINDOW(2)
		     "movq %[ts], 8(%[next])\n\t"
		     WMK_SEQ_WINDOW(3)
		     "movq %[records], 16(%[next])\n\t"
		     WMK_SEQ_WINDOW(4)
		     "movq %[new_pos], %[write_pos]\n" /* (A) */
		     WMK_SEQ_END
		     : /* no outputs */
		     : [off] "r"(offset), [cpu] "rm"(cpu), [guard] "m"(*guard), [expect] "rme"(expect), [pos] "rm"(pos),
		       [write_pos] "m"(ctl->write_pos), [floor] "m"(ctl->floor_ts), [ts] "r"(ts), [len] "rme"(len),
		       [header] "r"(header), [dst] "r"(dst_end), [src] "r"(src_end), [next] "r"(next),
		       [records] "r"(records), [new_pos] "r"(new_pos)
		     : "memory", "cc", "rax", "rcx"
		     : again, stale);
	return 0;
again:
	return -EAGAIN;
stale:
	return -ESTALE;
}

/* Replace each NUL in xmm0 by '#'. xmm1: zeros, xmm2: '#' in each byte. */
#define WMK_SEQ_NUL                                                                    \
	"movdqa %%xmm0, %%xmm3\n\t"                                                     \
	"pcmpeqb %%xmm1, %%xmm3\n\t"                                                    \
	"pand %%xmm2, %%xmm3\n\t"                                                       \
	"por %%xmm3, %%xmm0\n\t"

/*
 * Write whole words and a tail: as wmk_seq_words(), with `len` bytes of whole words (0..64) that end at src_end. `n`
 * bytes from `tail` follow at dst_end, in copies of 16 bytes. The last copy of 16 bytes overlaps the previous copy.
 * Arguments of the macro: NUL converts the bytes in xmm0, and END follows the tail.
 */
#define WMK_SEQ_TAIL(name, SETUP, NUL, END)                                            \
	static inline __attribute__((always_inline)) int                                \
	name(ptrdiff_t offset, uint32_t cpu, struct wmk_ring_ctl *ctl, uint64_t pos, const uint64_t *guard,             \
	     uint64_t expect, uint64_t ts, uint32_t header, unsigned char *dst_end, const unsigned char *src_end,       \
	     uint64_t len, const unsigned char *tail, uint64_t n, struct wmk_ring_slot *next, uint64_t records,         \
	     uint64_t new_pos)                                                          \
	{                                                                               \
		__asm__ goto(WMK_SEQ_BEGIN                                              \
			     "movl %%fs:4(%[off]), %%eax\n\t"                           \
			     "cmpl %[cpu], %%eax\n\t"                                   \
			     "jne %l[again]\n\t"                                        \
			     "movq %[expect], %%rax\n\t"                                \
			     "cmpq %%rax, %[guard]\n\t"                                 \
			     "jne %l[stale]\n\t"                                        \
			     "movq %[pos], %%rax\n\t"                                   \
			     "cmpq %%rax, %[write_pos]\n\t"                             \
			     "jne %l[again]\n\t"                                        \
			     "cmpq %[floor], %[ts]\n\t"                                 \
			     "jb %l[again]\n\t"                                         \
			     SETUP                                                      \
			     "movq %[len], %%rcx\n\t"                                   \
			     "movl %[header], %%eax\n\t"                                \
			     "negq %%rcx\n\t"                                           \
			     "movl %%eax, -4(%[dst], %%rcx)\n\t"                        \
			     WMK_SEQ_WINDOW(0)                                          \
			     "jz 11f\n\t"                                               \
			     "10:\n\t"                                                  \
			     "movq (%[src], %%rcx), %%rax\n\t"                          \
			     "movq %%rax, (%[dst], %%rcx)\n\t"                          \
			     "addq $8, %%rcx\n\t"                                       \
			     "js 10b\n"                                                 \
			     "11:\n\t"                                                  \
			     "movq %[n], %%rcx\n\t"                                     \
			     "subq $16, %%rcx\n\t"                                      \
			     "jb 14f\n\t"                                               \
			     "xorl %%eax, %%eax\n"                                      \
			     "12:\n\t"                                                  \
			     "cmpq %%rcx, %%rax\n\t"                                    \
			     "jae 13f\n\t"                                              \
			     "movdqu (%[tail], %%rax), %%xmm0\n\t" NUL                  \
			     "movdqu %%xmm0, (%[dst], %%rax)\n\t"                       \
			     "addq $16, %%rax\n\t"                                      \
			     "jmp 12b\n"                                                \
			     "13:\n\t"                                                  \
			     "movdqu (%[tail], %%rcx), %%xmm0\n\t" NUL                  \
			     "movdqu %%xmm0, (%[dst], %%rcx)\n\t"                       \
			     "jmp 19f\n"                                                \
			     "14:\n\t"                                                  \
			     "addq $16, %%rcx\n\t"                                      \
			     "testb $8, %%cl\n\t"                                       \
			     "jz 15f\n\t"                                               \
			     "movq (%[tail]), %%xmm0\n\t" NUL                           \
			     "movq %%xmm0, (%[dst])\n\t"                                \
			     "movq -8(%[tail], %%rcx), %%xmm0\n\t" NUL                  \
			     "movq %%xmm0, -8(%[dst], %%rcx)\n\t"                       \
			     "jmp 19f\n"                                                \
			     "15:\n\t"                                                  \
			     "testb $4, %%cl\n\t"                                       \
			     "jz 17f\n\t"                                               \
			     "movd (%[tail]), %%xmm0\n\t" NUL                           \
			     "movd %%xmm0, (%[dst])\n\t"                                \
			     "movd -4(%[tail], %%rcx), %%xmm0\n\t" NUL                  \
			     "movd %%xmm0, -4(%[dst], %%rcx)\n\t"                       \
			     "jmp 19f\n"                                                \
			     "16:\n\t"                                                  \
			     "movzbl -1(%[tail], %%rcx), %%eax\n\t"                     \
			     "movd %%eax, %%xmm0\n\t" NUL                               \
			     "movd %%xmm0, %%eax\n\t"                                   \
			     "movb %%al, -1(%[dst], %%rcx)\n\t"                         \
			     "decq %%rcx\n"                                             \
			     "17:\n\t"                                                  \
			     "testq %%rcx, %%rcx\n\t"                                   \
			     "jnz 16b\n"                                                \
			     "19:\n\t" END                                              \
			     WMK_SEQ_WINDOW(1)                                          \
			     "movq %[new_pos], (%[next])\n\t" /* (D) */                 \
			     WMK_SEQ_WINDOW(2)                                          \
			     "movq %[ts], 8(%[next])\n\t"                               \
			     WMK_SEQ_WINDOW(3)                                          \
			     "movq %[records], %%rax\n\t"                               \
			     "movq %%rax, 16(%[next])\n\t"                              \
			     WMK_SEQ_WINDOW(4)                                          \
			     "movq %[new_pos], %[write_pos]\n" /* (A) */                \
			     WMK_SEQ_END                                                \
			     : /* no outputs */                                         \
			     : [off] "r"(offset), [cpu] "rm"(cpu), [guard] "m"(*guard), [expect] "rme"(expect),         \
			       [pos] "rm"(pos), [write_pos] "m"(ctl->write_pos), [floor] "m"(ctl->floor_ts),            \
			       [ts] "r"(ts), [header] "rm"(header), [len] "rm"(len), [dst] "r"(dst_end),                \
			       [src] "r"(src_end), [tail] "r"(tail), [n] "rm"(n), [next] "r"(next),                     \
			       [records] "rm"(records), [new_pos] "r"(new_pos)          \
			     : "memory", "cc", "rax", "rcx", "xmm0", "xmm1", "xmm2", "xmm3"                             \
			     : again, stale);                                           \
		return 0;                                                               \
	again:                                                                          \
		return -EAGAIN;                                                         \
	stale:                                                                          \
		return -ESTALE;                                                         \
	}

#define WMK_SEQ_NUL_SETUP                                                              \
	"pxor %%xmm1, %%xmm1\n\t"                                                       \
	"movl $0x23232323, %%eax\n\t"                                                   \
	"movd %%eax, %%xmm2\n\t"                                                        \
	"pshufd $0, %%xmm2, %%xmm2\n\t"

WMK_SEQ_TAIL(wmk_seq_tail_bytes, "", "", "")
WMK_SEQ_TAIL(wmk_seq_tail_text, WMK_SEQ_NUL_SETUP, WMK_SEQ_NUL,
	     "movq %[n], %%rcx\n\t"
	     "movb $0, (%[dst], %%rcx)\n\t")
#define WMK_SEQ_HAS_TAIL 1

/* Copy rcx bytes from rsi to rdi, then jump back to label 20. */
#define WMK_SEQ_COPY_WORDS                                                             \
	"movq (%%rsi), %%rax\n\t"                                                       \
	"movq %%rax, (%%rdi)\n\t"                                                       \
	"addq $8, %%rsi\n\t"                                                            \
	"addq $8, %%rdi\n\t"                                                            \
	"subq $8, %%rcx\n\t"                                                            \
	"ja 22b\n\t"                                                                    \
	"addq %%rcx, %%rdi\n\t"                                                         \
	"jmp 20b\n"

#define WMK_SEQ_COPY_BYTES                                                             \
	"subq $16, %%rcx\n\t"                                                           \
	"jb 32f\n"                                                                      \
	"31:\n\t"                                                                       \
	"movups (%%rsi), %%xmm0\n\t"                                                    \
	"movups %%xmm0, (%%rdi)\n\t"                                                    \
	"addq $16, %%rsi\n\t"                                                           \
	"addq $16, %%rdi\n\t"                                                           \
	"subq $16, %%rcx\n\t"                                                           \
	"jae 31b\n"                                                                     \
	"32:\n\t"                                                                       \
	"testb $15, %%cl\n\t"                                                           \
	"jz 20b\n\t"                                                                    \
	"testb $8, %%cl\n\t"                                                            \
	"jz 35f\n\t"                                                                    \
	"movq (%%rsi), %%rax\n\t"                                                       \
	"movq %%rax, (%%rdi)\n\t"                                                       \
	"addq $8, %%rsi\n\t"                                                            \
	"addq $8, %%rdi\n"                                                              \
	"35:\n\t"                                                                       \
	"testb $4, %%cl\n\t"                                                            \
	"jz 33f\n\t"                                                                    \
	"movl (%%rsi), %%eax\n\t"                                                       \
	"movl %%eax, (%%rdi)\n\t"                                                       \
	"addq $4, %%rsi\n\t"                                                            \
	"addq $4, %%rdi\n"                                                              \
	"33:\n\t"                                                                       \
	"testb $2, %%cl\n\t"                                                            \
	"jz 34f\n\t"                                                                    \
	"movzwl (%%rsi), %%eax\n\t"                                                     \
	"movw %%ax, (%%rdi)\n\t"                                                        \
	"addq $2, %%rsi\n\t"                                                            \
	"addq $2, %%rdi\n"                                                              \
	"34:\n\t"                                                                       \
	"testb $1, %%cl\n\t"                                                            \
	"jz 20b\n\t"                                                                    \
	"movzbl (%%rsi), %%eax\n\t"                                                     \
	"movb %%al, (%%rdi)\n\t"                                                        \
	"incq %%rdi\n\t"                                                                \
	"jmp 20b\n"

#define WMK_SEQ_COPY_TEXT                                                              \
	WMK_SEQ_NUL_SETUP                                                               \
	"subq $16, %%rcx\n\t"                                                           \
	"jb 42f\n"                                                                      \
	"41:\n\t"                                                                       \
	"movdqu (%%rsi), %%xmm0\n\t" WMK_SEQ_NUL                                        \
	"movdqu %%xmm0, (%%rdi)\n\t"                                                    \
	"addq $16, %%rsi\n\t"                                                           \
	"addq $16, %%rdi\n\t"                                                           \
	"subq $16, %%rcx\n\t"                                                           \
	"jae 41b\n"                                                                     \
	"42:\n\t"                                                                       \
	"testb $15, %%cl\n\t"                                                           \
	"jz 46f\n\t"                                                                    \
	"testb $8, %%cl\n\t"                                                            \
	"jz 43f\n\t"                                                                    \
	"movq (%%rsi), %%xmm0\n\t" WMK_SEQ_NUL                                          \
	"movq %%xmm0, (%%rdi)\n\t"                                                      \
	"addq $8, %%rsi\n\t"                                                            \
	"addq $8, %%rdi\n"                                                              \
	"43:\n\t"                                                                       \
	"testb $4, %%cl\n\t"                                                            \
	"jz 44f\n\t"                                                                    \
	"movd (%%rsi), %%xmm0\n\t" WMK_SEQ_NUL                                          \
	"movd %%xmm0, (%%rdi)\n\t"                                                      \
	"addq $4, %%rsi\n\t"                                                            \
	"addq $4, %%rdi\n"                                                              \
	"44:\n\t"                                                                       \
	"testb $2, %%cl\n\t"                                                            \
	"jz 45f\n\t"                                                                    \
	"movzwl (%%rsi), %%eax\n\t"                                                     \
	"movd %%eax, %%xmm0\n\t" WMK_SEQ_NUL                                            \
	"movd %%xmm0, %%eax\n\t"                                                        \
	"movw %%ax, (%%rdi)\n\t"                                                        \
	"addq $2, %%rsi\n\t"                                                            \
	"addq $2, %%rdi\n"                                                              \
	"45:\n\t"                                                                       \
	"testb $1, %%cl\n\t"                                                            \
	"jz 46f\n\t"                                                                    \
	"movzbl (%%rsi), %%eax\n\t"                                                     \
	"movd %%eax, %%xmm0\n\t" WMK_SEQ_NUL                                            \
	"movd %%xmm0, %%eax\n\t"                                                        \
	"movb %%al, (%%rdi)\n\t"                                                        \
	"incq %%rdi\n"                                                                  \
	"46:\n\t"                                                                       \
	"cmpl $2, %%edx\n\t"                                                            \
	"jne 20b\n\t"                                                                   \
	"movb $0, (%%rdi)\n\t"                                                          \
	"incq %%rdi\n\t"                                                                \
	"jmp 20b\n"

/* Close the current sub-buffer and open the next one. r8: ctl, r9: ts, r10: the sub-buffer to open. */
#define WMK_SEQ_SWITCH                                                                 \
	"movq 128(%[p]), %%r11\n\t"                                                     \
	"testq %%r11, %%r11\n\t"                                                        \
	"jz 11f\n\t"                                                                    \
	"movq 136(%[p]), %%rcx\n\t"                                                     \
	"movq 144(%[p]), %%rdx\n\t"                                                     \
	"movq 152(%[p]), %%rsi\n\t"                                                     \
	"movq 168(%[p]), %%rdi\n\t"                                                     \
	"movq %%rdx, 8(%%r11)\n\t"                                                      \
	WMK_SEQ_WINDOW(5)                                                               \
	"movq %%rcx, 40(%%r11)\n\t"                                                     \
	"movq %%rdi, 48(%%r11)\n\t"                                                     \
	"movq %%rsi, 56(%%r11)\n"                                                       \
	"11:\n\t"                                                                       \
	WMK_SEQ_WINDOW(6)                                                               \
	"movq 160(%[p]), %%rcx\n\t"                                                     \
	"movq 168(%[p]), %%rdx\n\t"                                                     \
	"movq 152(%[p]), %%rsi\n\t"                                                     \
	"movq %%r9, (%%r10)\n\t"                                                        \
	"movq %%r9, 8(%%r10)\n\t"                                                       \
	"movq %%rcx, 16(%%r10)\n\t"                                                     \
	WMK_SEQ_WINDOW(7)                                                               \
	"movq %%rdx, 24(%%r10)\n\t"                                                     \
	"movq %%rsi, 32(%%r10)\n\t"                                                     \
	"movq $0, 40(%%r10)\n\t"

/* Write the planned record. 0, -EAGAIN or -ESTALE as above. */
static inline __attribute__((always_inline)) int wmk_seq_record(ptrdiff_t offset, const struct wmk_seq_plan *plan)
{
	__asm__ goto(WMK_SEQ_BEGIN
		     "movl (%[p]), %%eax\n\t"
		     "cmpl %%eax, %%fs:4(%[off])\n\t"
		     "jne %l[again]\n\t"
		     "movq 24(%[p]), %%rax\n\t"
		     "movq (%%rax), %%rax\n\t"
		     "cmpq 32(%[p]), %%rax\n\t"
		     "jne %l[stale]\n\t"
		     "movq 8(%[p]), %%r8\n\t"
		     "movq 16(%[p]), %%rax\n\t"
		     "cmpq %%rax, (%%r8)\n\t"
		     "jne %l[again]\n\t"
		     "movq 40(%[p]), %%r9\n\t"
		     "cmpq 272(%%r8), %%r9\n\t"
		     "jb %l[again]\n\t"
		     "movq 120(%[p]), %%r10\n\t"
		     "testq %%r10, %%r10\n\t"
		     "jz 12f\n\t"
		     WMK_SEQ_SWITCH
		     "12:\n\t"
		     WMK_SEQ_WINDOW(8)
		     "movq 48(%[p]), %%rdi\n\t"
		     "movq 56(%[p]), %%rax\n\t"
		     "movq %%rax, (%%rdi)\n\t"
		     "movq 72(%[p]), %%rcx\n\t"
		     "cmpq $8, %%rcx\n\t"
		     "jbe 13f\n\t"
		     "movq 64(%[p]), %%rax\n\t"
		     "movq %%rax, 8(%%rdi)\n"
		     "13:\n\t"
		     "addq %%rcx, %%rdi\n\t"
		     "movq 80(%[p]), %%r10\n"
		     "20:\n\t" /* the next fragment */
		     WMK_SEQ_WINDOW(9)
		     "cmpq 88(%[p]), %%r10\n\t"
		     "jae 50f\n\t"
		     "movq (%%r10), %%rsi\n\t"
		     "movl 8(%%r10), %%ecx\n\t"
		     "movl 12(%%r10), %%edx\n\t"
		     "addq $16, %%r10\n\t"
		     "cmpl $1, %%edx\n\t"
		     "ja 40f\n\t"
		     "cmpl $256, %%ecx\n\t"
		     "jae 21f\n\t"
		     "testl %%edx, %%edx\n\t"
		     "jnz 30f\n\t"
		     "testl %%ecx, %%ecx\n\t"
		     "jz 20b\n"
		     "22:\n\t" WMK_SEQ_COPY_WORDS
		     "21:\n\t"
		     "rep movsb\n\t"
		     "jmp 20b\n"
		     "30:\n\t" WMK_SEQ_COPY_BYTES
		     "40:\n\t" WMK_SEQ_COPY_TEXT
		     "50:\n\t"
		     WMK_SEQ_WINDOW(10)
		     "movq 96(%[p]), %%r10\n\t"
		     "movq 112(%[p]), %%rcx\n\t"
		     "movq 104(%[p]), %%rdx\n\t"
		     "movq %%rcx, (%%r10)\n\t" /* (D) */
		     WMK_SEQ_WINDOW(11)
		     "movq %%r9, 8(%%r10)\n\t"
		     WMK_SEQ_WINDOW(12)
		     "movq %%rdx, 16(%%r10)\n\t"
		     WMK_SEQ_WINDOW(13)
		     "movq %%rcx, (%%r8)\n" /* (A) */
		     WMK_SEQ_END
		     : /* no outputs */
		     : [off] "r"(offset), [p] "r"(plan)
		     : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
		       "xmm0", "xmm1", "xmm2", "xmm3"
		     : again, stale);
	return 0;
again:
	return -EAGAIN;
stale:
	return -ESTALE;
}

/* Add n to *counter, if the thread still runs on this CPU and the guard is unchanged. */
static inline int wmk_seq_add(ptrdiff_t offset, uint32_t cpu, uint64_t *counter, uint64_t n, const uint64_t *guard,
			      uint64_t expect)
{
	__asm__ goto(WMK_SEQ_BEGIN
		     "movl %%fs:4(%[off]), %%eax\n\t"
		     "cmpl %[cpu], %%eax\n\t"
		     "jne %l[again]\n\t"
		     "cmpq %[expect], %[guard]\n\t"
		     "jne %l[stale]\n\t"
		     "addq %[n], %[counter]\n"
		     WMK_SEQ_END
		     : /* no outputs */
		     : [off] "r"(offset), [cpu] "r"(cpu), [guard] "m"(*guard), [expect] "r"(expect), [n] "r"(n),
		       [counter] "m"(*counter)
		     : "memory", "cc", "rax"
		     : again, stale);
	return 0;
again:
	return -EAGAIN;
stale:
	return -ESTALE;
}

#endif
