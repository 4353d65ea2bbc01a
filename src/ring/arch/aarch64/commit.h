/* SPDX-License-Identifier: MIT */
/*
 * commit.h (aarch64) - the restartable sequences that write records: they check, copy, store and commit.
 *
 *   (A) stlr of write_pos: pairs with the reader's load-acquire of write_pos (reader.c);
 *   (C) ldar of write_pos (no store of this record is visible before the previous commit is), and dmb ishst before
 *       the stores to a sub-buffer's header: pair with the overwrite reader's copy, load barrier, load of write_pos
 *       (reader.c);
 *   (D) dmb ishst between a slot's tag and its other members: pairs with the reader's load of tag, time, count, tag
 *       (reader.c).
 */
#ifndef WMK_RING_COMMIT_H
#define WMK_RING_COMMIT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/plan.h"

static inline char *wmk_rseq_area(ptrdiff_t offset)
{
	return (char *)__builtin_thread_pointer() + offset;
}

static inline uint32_t wmk_rseq_cpu(ptrdiff_t offset)
{
	return *(volatile uint32_t *)(void *)(wmk_rseq_area(offset) + 4);
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
	"adrp x9, 3b\n\t"                                                               \
	"add x9, x9, :lo12:3b\n\t"                                                      \
	"str x9, [%[area], #8]\n"                                                       \
	"1:\n\t"

/*
 * dlclose() can unmap a static library that is linked into a shared library. The restartable sequences of a static
 * library clear the pointer to the descriptor, so that the kernel does not read unmapped memory.
 */
#ifdef WMK_RSEQ_CLEAR
#define WMK_SEQ_CLEAR "str xzr, [%[area], #8]\n\t"
#else
#define WMK_SEQ_CLEAR ""
#endif

/*
 * The kernel expects the signature of a restartable sequence before the abort handler. The signature is an instruction
 * that traps (brk).
 */
#define WMK_SEQ_END                                                                    \
	"2:\n\t" WMK_SEQ_CLEAR                                                          \
	".pushsection .text.wmk_abort, \"ax\"\n\t"                                      \
	".inst 0xd428bc00\n"                                                            \
	"4:\n\t"                                                                        \
	"b %l[again]\n\t"                                                               \
	".popsection\n\t"

/* Close the current sub-buffer and open the next one. x1: ctl, x2: ts, x3: the sub-buffer to open. */
#define WMK_SEQ_SWITCH                                                                 \
	"dmb ishst\n\t" /* (C) */                                                       \
	"ldr x4, [%[p], #128]\n\t"                                                      \
	"ldr x7, [%[p], #152]\n\t"                                                      \
	"ldr x10, [%[p], #168]\n\t"                                                     \
	"cbz x4, 11f\n\t"                                                               \
	"ldr x5, [%[p], #136]\n\t"                                                      \
	"ldr x6, [%[p], #144]\n\t"                                                      \
	"str x6, [x4, #8]\n\t"                                                          \
	"str x5, [x4, #40]\n\t"                                                         \
	"str x10, [x4, #48]\n\t"                                                        \
	"str x7, [x4, #56]\n"                                                           \
	"11:\n\t"                                                                       \
	"ldr x5, [%[p], #160]\n\t"                                                      \
	"str x2, [x3]\n\t"                                                              \
	"str x2, [x3, #8]\n\t"                                                          \
	"str x5, [x3, #16]\n\t"                                                         \
	"str x10, [x3, #24]\n\t"                                                        \
	"str x7, [x3, #32]\n\t"                                                         \
	"str xzr, [x3, #40]\n"

/* Copy x6 bytes from x5 to x4, then jump back to label 20. */
#define WMK_SEQ_COPY_WORDS                                                             \
	"ldr x9, [x5], #8\n\t"                                                          \
	"str x9, [x4], #8\n\t"                                                          \
	"subs x6, x6, #8\n\t"                                                           \
	"b.hi 22b\n\t"                                                                  \
	"add x4, x4, x6\n\t"                                                            \
	"b 20b\n"

#define WMK_SEQ_COPY_BYTES                                                             \
	"subs x6, x6, #8\n\t"                                                           \
	"b.lo 32f\n"                                                                    \
	"31:\n\t"                                                                       \
	"ldr x9, [x5], #8\n\t"                                                          \
	"str x9, [x4], #8\n\t"                                                          \
	"subs x6, x6, #8\n\t"                                                           \
	"b.hs 31b\n"                                                                    \
	"32:\n\t"                                                                       \
	"tbz x6, #2, 33f\n\t"                                                           \
	"ldr w9, [x5], #4\n\t"                                                          \
	"str w9, [x4], #4\n"                                                            \
	"33:\n\t"                                                                       \
	"tbz x6, #1, 34f\n\t"                                                           \
	"ldrh w9, [x5], #2\n\t"                                                         \
	"strh w9, [x4], #2\n"                                                           \
	"34:\n\t"                                                                       \
	"tbz x6, #0, 20b\n\t"                                                           \
	"ldrb w9, [x5], #1\n\t"                                                         \
	"strb w9, [x4], #1\n\t"                                                         \
	"b 20b\n"

/*
 * Copy x6 bytes of a text from x5 to x4, with '#' in place of each NUL, then jump back to label 20. For
 * WAYMARK_FRAG_TEXT (x7 = 2), the code adds a NUL at the end of the text.
 */
#define WMK_SEQ_COPY_TEXT                                                              \
	"movi v1.8b, #0x23\n\t"                                                         \
	"mov w10, #0x23\n\t"                                                            \
	"subs x6, x6, #8\n\t"                                                           \
	"b.lo 42f\n"                                                                    \
	"41:\n\t"                                                                       \
	"ldr d0, [x5], #8\n\t"                                                          \
	"cmeq v2.8b, v0.8b, #0\n\t"                                                     \
	"and v2.8b, v2.8b, v1.8b\n\t"                                                   \
	"orr v0.8b, v0.8b, v2.8b\n\t"                                                   \
	"str d0, [x4], #8\n\t"                                                          \
	"subs x6, x6, #8\n\t"                                                           \
	"b.hs 41b\n"                                                                    \
	"42:\n\t"                                                                       \
	"ands x6, x6, #7\n\t"                                                           \
	"b.eq 46f\n"                                                                    \
	"43:\n\t"                                                                       \
	"ldrb w9, [x5], #1\n\t"                                                         \
	"cmp w9, #0\n\t"                                                                \
	"csel w9, w10, w9, eq\n\t"                                                      \
	"strb w9, [x4], #1\n\t"                                                         \
	"subs x6, x6, #1\n\t"                                                           \
	"b.ne 43b\n"                                                                    \
	"46:\n\t"                                                                       \
	"cmp w7, #2\n\t"                                                                \
	"b.ne 20b\n\t"                                                                  \
	"strb wzr, [x4], #1\n\t"                                                        \
	"b 20b\n"

/*
 * Write the planned record. 0; -EAGAIN: the ring's state has changed, or the sequence was aborted; -ESTALE: the guard
 * has changed.
 */
static inline int wmk_seq_record(ptrdiff_t offset, const struct wmk_seq_plan *plan)
{
	char *area = wmk_rseq_area(offset);

	__asm__ goto(WMK_SEQ_BEGIN
		     "ldr w9, [%[area], #4]\n\t"
		     "ldr w10, [%[p]]\n\t"
		     "cmp w9, w10\n\t"
		     "b.ne %l[again]\n\t"
		     "ldr x9, [%[p], #24]\n\t"
		     "ldar x9, [x9]\n\t"
		     "ldr x10, [%[p], #32]\n\t"
		     "cmp x9, x10\n\t"
		     "b.ne %l[stale]\n\t"
		     "ldr x1, [%[p], #8]\n\t"
		     "ldar x9, [x1]\n\t" /* (C) */
		     "ldr x10, [%[p], #16]\n\t"
		     "cmp x9, x10\n\t"
		     "b.ne %l[again]\n\t"
		     "ldr x2, [%[p], #40]\n\t"
		     "ldr x9, [x1, #272]\n\t"
		     "cmp x2, x9\n\t"
		     "b.lo %l[again]\n\t"
		     "ldr x3, [%[p], #120]\n\t"
		     "cbz x3, 12f\n\t"
		     WMK_SEQ_SWITCH
		     "12:\n\t"
		     "ldr x4, [%[p], #48]\n\t"
		     "ldr x5, [%[p], #56]\n\t"
		     "str x5, [x4]\n\t"
		     "ldr x6, [%[p], #72]\n\t"
		     "cmp x6, #8\n\t"
		     "b.ls 13f\n\t"
		     "ldr x5, [%[p], #64]\n\t"
		     "str x5, [x4, #8]\n"
		     "13:\n\t"
		     "add x4, x4, x6\n\t"
		     "ldr x3, [%[p], #80]\n"
		     "20:\n\t" /* the next fragment */
		     "ldr x9, [%[p], #88]\n\t"
		     "cmp x3, x9\n\t"
		     "b.hs 50f\n\t"
		     "ldr x5, [x3]\n\t"
		     "ldr w6, [x3, #8]\n\t"
		     "ldr w7, [x3, #12]\n\t"
		     "add x3, x3, #16\n\t"
		     "cmp w7, #1\n\t"
		     "b.hi 40f\n\t"
		     "b.eq 30f\n\t"
		     "cbz x6, 20b\n"
		     "22:\n\t" WMK_SEQ_COPY_WORDS
		     "30:\n\t" WMK_SEQ_COPY_BYTES
		     "40:\n\t" WMK_SEQ_COPY_TEXT
		     "50:\n\t"
		     "ldr x3, [%[p], #96]\n\t"
		     "ldr x9, [%[p], #112]\n\t"
		     "ldr x10, [%[p], #104]\n\t"
		     "str x9, [x3]\n\t"
		     "dmb ishst\n\t" /* (D) */
		     "str x2, [x3, #8]\n\t"
		     "str x10, [x3, #16]\n\t"
		     "stlr x9, [x1]\n" /* (A) */
		     WMK_SEQ_END
		     : /* no outputs */
		     : [area] "r"(area), [p] "r"(plan)
		     : "memory", "cc", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x9", "x10", "v0", "v1", "v2"
		     : again, stale);
	return 0;
again:
	return -EAGAIN;
stale:
	return -ESTALE;
}

/*
 * The fast path of writer.h: write a header of 4 bytes and `len` bytes of whole words. The words end at src_end, and
 * the record ends at dst_end.
 */
static inline int
wmk_seq_words(ptrdiff_t offset, uint32_t cpu, struct wmk_ring_ctl *ctl, uint64_t pos, const uint64_t *guard,
	      uint64_t expect, uint64_t ts, uint32_t header, unsigned char *dst_end, const unsigned char *src_end,
	      uint64_t len, struct wmk_ring_slot *next, uint64_t records, uint64_t new_pos)
{
	const struct waymark_ring_frag frag = { src_end - len, (uint32_t)len, WAYMARK_FRAG_WORDS };
	struct wmk_seq_plan plan;

	plan.cpu = cpu;
	plan.ctl = ctl;
	plan.pos = pos;
	plan.guard = guard;
	plan.expect = expect;
	plan.ts = ts;
	plan.dst = dst_end - len - 4;
	plan.header[0] = header;
	plan.header_len = 4;
	plan.frags = &frag;
	plan.frags_end = &frag + 1;
	plan.next = next;
	plan.records = records;
	plan.new_pos = new_pos;
	plan.enter = NULL;
	return wmk_seq_record(offset, &plan);
}

/* Add n to *counter, if the thread still runs on this CPU and the guard is unchanged. */
static inline int wmk_seq_add(ptrdiff_t offset, uint32_t cpu, uint64_t *counter, uint64_t n, const uint64_t *guard,
			      uint64_t expect)
{
	char *area = wmk_rseq_area(offset);

	__asm__ goto(WMK_SEQ_BEGIN
		     "ldr w9, [%[area], #4]\n\t"
		     "cmp w9, %w[cpu]\n\t"
		     "b.ne %l[again]\n\t"
		     "ldar x9, [%[guard]]\n\t"
		     "cmp x9, %[expect]\n\t"
		     "b.ne %l[stale]\n\t"
		     "ldr x9, [%[counter]]\n\t"
		     "add x9, x9, %[n]\n\t"
		     "str x9, [%[counter]]\n"
		     WMK_SEQ_END
		     : /* no outputs */
		     : [area] "r"(area), [cpu] "r"(cpu), [guard] "r"(guard), [expect] "r"(expect), [n] "r"(n),
		       [counter] "r"(counter)
		     : "memory", "cc", "x9"
		     : again, stale);
	return 0;
again:
	return -EAGAIN;
stale:
	return -ESTALE;
}

#endif
