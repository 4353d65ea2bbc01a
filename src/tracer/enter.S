/* SPDX-License-Identifier: MIT */
/*
 * enter.S (x86-64) - waymark_enter(): the target of the jump in an enabled site (detail/call.h), and the fast path of a
 * record.
 *
 *     site ──jmp──► waymark_enter ── one recorder, no filter, no probe ──► one restartable sequence ──jmp──► site
 *                        └─ otherwise; a check that fails; an abort ──► waymark_record() (record.c) ──jmp──► site
 *
 * rax: descriptor, rdx: words, rcx: references, r11: the address at which the site continues. waymark_enter() clobbers
 * these four registers and the vector registers. waymark_enter() preserves the red zone of the site and all other
 * registers.
 *
 * The restartable sequence reads all its inputs (CPU, position, slot, time) after its begin. After an abort,
 * waymark_record() starts again, without the values that waymark_enter() has computed. Before its first store, the
 * sequence checks in this order:
 * - the CPU has a ring;
 * - (T4) the guard holds;
 * - the record fits into the open sub-buffer;
 * - the time is less than 2^27 cycles after the time of the last record, and not before the reader's floor.
 *
 * After the checks, the restartable sequence writes the header, the payload and the slot (D), and makes the commit (A),
 * as in ring/arch/x86_64/commit.h. A process without restartable sequences never runs the fast path of waymark_enter(),
 * because the recorders of such a process are not `direct`.
 *
 * Assembler labels: 1 is the begin of the restartable sequence, 2 is after the commit, 4 is the abort handler.
 */
#if defined(__x86_64__)
#include "tracer/enter.h"

#ifdef WMK_TESTPOINTS
#define WINDOW(n) cmpb $0, wmk_seq_window + n * 4096(%rip)
#else
#define WINDOW(n)
#endif

/* A build with test points arms its test windows at this place (ring/window.h). */
	.macro count_window
#ifdef WMK_TESTPOINTS
	.irp reg, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, rbp
	pushq %\reg
	.cfi_adjust_cfa_offset 8
	.endr
	.cfi_remember_state
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq $-16, %rsp
	call wmk_ring_window_count
	movq %rbp, %rsp
	.cfi_restore_state
	.irp reg, rbp, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax
	popq %\reg
	.cfi_adjust_cfa_offset -8
	.endr
#endif
	.endm

/*
 * Begin the sequence. Input: rdx is the set, rdi is the recorder, r8 is the generation of the recorder. Output: rcx is
 * the view, r8 is the control block, r9 is the position, xmm6 is the set.
 */
	.macro begin out
	.pushsection __rseq_cs, "aw"
	.balign 32
3:	.long 0, 0
	.quad 1f, 2f - 1f, 4f
	.popsection
	.pushsection .text.wmk_abort, "ax"
	.byte 0x0f, 0xb9, 0x3d          /* the signature before the abort handler, in a trapping instruction (ud1) */
	.long 0x53053053
4:	jmp \out
	.popsection
	movq SET_RSEQ_OFFSET(%rdx), %r9
	movq %rdx, %xmm6
	leaq 3b(%rip), %rcx
	movq %rcx, %fs:8(%r9)
1:	movl %fs:4(%r9), %ecx
	cmpl SET_SEQ_CPUS(%rdx), %ecx
	jae \out
	cmpq %r8, RECORDER_GEN(%rdi)
	jne \out
	shlq $VIEW_SHIFT, %rcx
	addq %rdx, %rcx
	movq SET_RING + VIEW_CTL(%rcx), %r8
	movq CTL_WRITE_POS(%r8), %r9
	.endm

/*
 * Time, slot, header. Input: rax is the end of the record, rcx is the view, rdx is the set. Output: rax is the time,
 * rdx is the offset of the current slot in words (0 or 3), r10 is the address of the record in the ring.
 */
	.macro stamp_time out
	cmpq SET_RING + VIEW_LIMIT(%rcx), %rax
	ja \out
	movq SET_RING_MASK(%rdx), %r10
	andq %r9, %r10
	addq SET_RING + VIEW_DATA(%rcx), %r10
	rdtsc
	shlq $32, %rdx
	orq %rdx, %rax
	xorl %edx, %edx
	cmpq %r9, CTL_SLOT + SLOT_TAG(%r8)
	setne %dl
	leal (%rdx, %rdx, 2), %edx
	movq %rax, %rcx
	subq CTL_SLOT + SLOT_TIME(%r8, %rdx, 8), %rcx
	shrq $TS_BITS, %rcx
	jnz \out
	cmpq CTL_FLOOR(%r8), %rax
	jb \out
	movl %eax, %ecx
	shll $5, %ecx
	orl RECORDER_ID(%rdi), %ecx
	movl %ecx, (%r10)
	WINDOW(0)
	.endm

/* Copy `rdi` bytes from rsi to r10 + 4 in whole words, from the last word to the first. */
	.macro copy_run
	decl %edi
	andl $-8, %edi
10:	movq (%rsi, %rdi), %rcx
	movq %rcx, 4(%r10, %rdi)
	subq $8, %rdi
	jns 10b
	.endm

/* Write the slot that is not the current slot, and commit the record. r9: end of the record. */
	.macro commit
	WINDOW(1)
	movq CTL_SLOT + SLOT_RECORDS(%r8, %rdx, 8), %rcx
	xorl $3, %edx
	incq %rcx
	movq %r9, CTL_SLOT + SLOT_TAG(%r8, %rdx, 8)     /* (D) */
	WINDOW(2)
	movq %rax, CTL_SLOT + SLOT_TIME(%r8, %rdx, 8)
	WINDOW(3)
	movq %rcx, CTL_SLOT + SLOT_RECORDS(%r8, %rdx, 8)
	WINDOW(4)
	movq %r9, CTL_WRITE_POS(%r8)                    /* (A) */
2:
#ifdef WMK_RSEQ_CLEAR
	/* In a static library, the text can be unmapped by dlclose(), so clear the pointer to the descriptor. */
	movq __rseq_offset@GOTPCREL(%rip), %rcx
	movq (%rcx), %rcx
	movq $0, %fs:8(%rcx)
#endif
	.endm

	.macro save reg
	pushq %\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %\reg, 0
	.endm

	.macro restore reg
	popq %\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore %\reg
	.endm

#ifdef WMK_RSEQ_CLEAR
	.weak __rseq_offset
#endif
	.text
	.globl waymark_enter
	.type waymark_enter, @function
	.p2align 6
waymark_enter:
	.cfi_startproc
	.cfi_def_cfa %rsp, 0
	.cfi_register %rip, %r11
	leaq -128(%rsp), %rsp
	.cfi_adjust_cfa_offset 128
	save rsi
	save rdi
	save r8
	save r9
	save r10
	movq DESC_CHAIN(%rax), %rdi                     /* (T3) */
	testq %rdi, %rdi
	jz .Lleave
	movq RECORDER_GEN(%rdi), %r8                     /* (T4) */
	movq DESC_EVENT(%rax), %r10
	orq $1, %r8                                     /* 0 of a removed recorder becomes 1, never a valid guard */
	cmpq %r10, RECORDER_DIRECT(%rdi)                 /* (T7) */
	jne .Lgeneral
	cmpq $0, RECORDER_NEXT(%rdi)
	jne .Lgeneral
	movq wmk_thread@gottpoff(%rip), %r9
	cmpq $0, %fs:THREAD_MARK(%r9)
	jne .Lgeneral
	count_window
	movq %rdx, %rsi
	movq RECORDER_SET(%rdi), %rdx
	movq %rax, %xmm4
	cmpb $0, EVENT_TAIL(%r10)
	jne .Ltail
	cmpw $0, RECORDER_CTX_KEY(%rdi)
	jne .Lcached

	begin .Lagain
	movl RECORDER_RUN_BYTES(%rdi), %r10d
	leaq 4(%r9, %r10), %rax
	stamp_time .Lagain
	movl RECORDER_RUN_BYTES(%rdi), %edi
	leaq 4(%r9, %rdi), %r9
	copy_run
	commit
.Lcommitted:
	cmpq $0, CTL_ARMED(%r8)                         /* (I) */
	jne .Lwake
.Lleave:
	.cfi_remember_state
	restore r10
	restore r9
	restore r8
	restore rdi
	restore rsi
	leaq 128(%rsp), %rsp
	.cfi_adjust_cfa_offset -128
	jmp *%r11
	.cfi_restore_state

/* ── context fields from the cache of the thread ────────────────────────────────────────────────────────── */

/*
 * Check that the context cache has the context fields of the recorder. r11: wmk_thread, relative to fs. Output: rax is
 * the end of the context fields and the run.
 */
	.macro check_ctx_cache out
	movzbl RECORDER_CTX_WORDS(%rdi), %r10d
	leaq 4(%r9, %r10, 8), %rax
	movzwl RECORDER_CTX_KEY(%rdi), %r10d
	testl %r10d, %r10d
	jz 5f
	cmpw %r10w, %fs:THREAD_CTX_KEY(%r11)
	jne \out
5:	movl RECORDER_RUN_BYTES(%rdi), %r10d
	addq %r10, %rax
	.endm

/* Copy context cache and run. r9 and r10 are 4 bytes before the following data. */
	.macro copy_stamped
	movzbl RECORDER_CTX_WORDS(%rdi), %ecx
	leaq (%r9, %rcx, 8), %r9
	testl %ecx, %ecx
	jz 7f
6:	movq %fs:THREAD_CTX_CACHE(%r11), %xmm0
	movq %xmm0, 4(%r10)
	addq $8, %r11
	addq $8, %r10
	decl %ecx
	jnz 6b
7:	movl RECORDER_RUN_BYTES(%rdi), %edi
	testl %edi, %edi
	jz 8f
	movq %rdi, %r11
	copy_run
	addq %r11, %r9
	addq %r11, %r10
8:
	.endm

.Lcached:
	pushq %r11
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rip, 0
	movq wmk_thread@gottpoff(%rip), %r11
	begin .Lcached_again
	check_ctx_cache .Lcached_again
	stamp_time .Lcached_again
	copy_stamped
	addq $4, %r9
	commit
	.cfi_remember_state
	popq %r11
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %r11
	jmp .Lcommitted
	.cfi_restore_state
.Lcached_again:
	popq %r11
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %r11
.Lagain:
	movq %xmm4, %rax
	movq %rsi, %rdx
	xorl %ecx, %ecx                                 /* the event has no references */
	jmp .Lgeneral

/* ── a run, then one reference ──────────────────────────────────────────────────────────────────────────── */

/* Replace each NUL in xmm0 by '#'. xmm1: zeros, xmm2: '#' in each byte. */
	.macro replace_nul is_text
	.if \is_text
	movdqa %xmm0, %xmm3
	pcmpeqb %xmm1, %xmm3
	pand %xmm2, %xmm3
	por %xmm3, %xmm0
	.endif
	.endm

/* Copy rbx bytes from rsi to r10. If rbx is 16 or more, the last move of 16 bytes may copy some bytes a second time. */
	.macro copy_tail is_text
	leaq -16(%rbx), %rdi
	xorl %ecx, %ecx
	cmpq $16, %rbx
	jb 14f
12:	cmpq %rdi, %rcx
	jae 13f
	movdqu (%rsi, %rcx), %xmm0
	replace_nul \is_text
	movdqu %xmm0, (%r10, %rcx)
	addq $16, %rcx
	jmp 12b
13:	movdqu (%rsi, %rdi), %xmm0
	replace_nul \is_text
	movdqu %xmm0, (%r10, %rdi)
	jmp 19f
14:	testb $8, %bl
	jz 15f
	movq (%rsi), %xmm0
	replace_nul \is_text
	movq %xmm0, (%r10)
	movq -8(%rsi, %rbx), %xmm0
	replace_nul \is_text
	movq %xmm0, -8(%r10, %rbx)
	jmp 19f
15:	testb $4, %bl
	jz 17f
	movd (%rsi), %xmm0
	replace_nul \is_text
	movd %xmm0, (%r10)
	movd -4(%rsi, %rbx), %xmm0
	replace_nul \is_text
	movd %xmm0, -4(%r10, %rbx)
	jmp 19f
16:	movzbl (%rsi, %rcx), %edi
	movd %edi, %xmm0
	replace_nul \is_text
	movd %xmm0, %edi
	movb %dil, (%r10, %rcx)
	incl %ecx
17:	cmpl %ebx, %ecx
	jb 16b
19:
	.endm

/* Write the whole record. 0(%rsp): bytes after the run; rbx: bytes to copy; xmm5: references, xmm7: words. */
	.macro record_tail is_text
	begin .Ltail_again
	check_ctx_cache .Ltail_again
	addq (%rsp), %rax
	stamp_time .Ltail_again
	copy_stamped
	movq %xmm5, %rsi
	movq (%rsi), %rsi
	addq $4, %r10
	.if \is_text
	copy_tail 1
	movb $0, (%r10, %rbx)
	.else
	cmpq (%rsp), %rbx
	je 9f
	movl 8(%rsp), %ecx
	movl %ecx, (%r10)
	addq $4, %r10
9:	copy_tail 0
	.endif
	movq (%rsp), %rcx
	leaq 4(%r9, %rcx), %r9
	commit
	.endm

/*
 * r10: event, rdx: set, rcx: references, rsi: words. The length of a text is read once, because the text may change
 * during the record.
 */
.Ltail:
	movq %rcx, %xmm5
	movq %rsi, %xmm7
	save rbx
	pushq %r11
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rip, 0
	leaq -16(%rsp), %rsp
	.cfi_adjust_cfa_offset 16
	movq (%rcx), %r9
	movq 8(%rcx), %rbx
	testq %r9, %r9
	jz .Ltail_again
	movl RECORDER_LIMIT(%rdi), %eax
	movl $TAIL_MAX, %ecx
	cmpl %ecx, %eax
	cmoval %ecx, %eax
	movzbl EVENT_TAIL(%r10), %ecx
	cmpl $OP_TEXT, %ecx
	jbe .Ltext
	cmpl $OP_ARRAY, %ecx
	je .Larray
	cmpq %rax, %rbx
	ja .Ltail_again
	movzbl EVENT_TAIL_SHIFT(%r10), %ecx
	shrl %cl, %ebx
	movl %ebx, 8(%rsp)
	shll %cl, %ebx
	leaq 4(%rbx), %rax
	movq %rax, (%rsp)
	jmp .Lbytes
.Larray:
	movl EVENT_TAIL_BYTES(%r10), %ebx
	cmpq $TAIL_MAX, %rbx
	ja .Ltail_again
	movq %rbx, (%rsp)
.Lbytes:
	movq wmk_thread@gottpoff(%rip), %r11
	record_tail 0
	jmp .Ltail_leave

/*
 * Measure up to 63 bytes with aligned loads. Each load contains at least one byte of the text, so the loads access only
 * pages that contain a part of the text.
 */
.Ltext:
	pxor %xmm1, %xmm1
	cmpq $-1, %rbx
	jne .Lmeasured
	movq %r9, %rcx
	andq $-16, %r9
	movl %r9d, %r11d
	andl $4095, %r11d
	cmpl $4096 - 64, %r11d
	ja .Ltail_again
	movdqa (%r9), %xmm0
	movdqa 16(%r9), %xmm2
	movdqa 32(%r9), %xmm3
	pcmpeqb %xmm1, %xmm0
	pcmpeqb %xmm1, %xmm2
	pcmpeqb %xmm1, %xmm3
	pmovmskb %xmm0, %ebx
	pmovmskb %xmm2, %r11d
	shll $16, %r11d
	orl %r11d, %ebx
	movdqa 48(%r9), %xmm0
	pcmpeqb %xmm1, %xmm0
	pmovmskb %xmm3, %r11d
	pmovmskb %xmm0, %r9d
	shll $16, %r9d
	orl %r9d, %r11d
	shlq $32, %r11
	orq %r11, %rbx
	andl $15, %ecx
	shrq %cl, %rbx
	bsfq %rbx, %rbx
	jz .Ltail_again
.Lmeasured:
	cmpq %rax, %rbx
	ja .Ltail_again
	leaq 1(%rbx), %rax
	movq %rax, (%rsp)
	movl $0x23232323, %eax
	movd %eax, %xmm2
	pshufd $0, %xmm2, %xmm2
	movq wmk_thread@gottpoff(%rip), %r11
	record_tail 1
.Ltail_leave:
	.cfi_remember_state
	leaq 16(%rsp), %rsp
	.cfi_adjust_cfa_offset -16
	popq %r11
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %r11
	restore rbx
	jmp .Lcommitted
	.cfi_restore_state
.Ltail_again:
	leaq 16(%rsp), %rsp
	.cfi_adjust_cfa_offset -16
	popq %r11
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %r11
	restore rbx
	movq %xmm4, %rax
	movq %xmm5, %rcx
	movq %xmm7, %rdx

/* ── general path ───────────────────────────────────────────────────────────────────────────────────────── */

/* Call a C function with its arguments in registers, then continue at the site. */
	.macro call_and_leave function
	.cfi_remember_state
	save rbp
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq %r11
	.cfi_offset %rip, -128 - 6 * 8 - 8
	andq $-16, %rsp
	call \function
	movq -8(%rbp), %r11
	movq %rbp, %rsp
	.cfi_def_cfa_register %rsp
	.cfi_register %rip, %r11
	restore rbp
	jmp .Lleave
	.cfi_restore_state
	.endm

.Lgeneral:
	movq %rax, %rdi
	movq %rdx, %rsi
	movq %rcx, %rdx
	movq %r11, %rcx
	call_and_leave wmk_record
.Lwake:
	movq %xmm6, %rdi
	call_and_leave wmk_ring_wake
	.cfi_endproc
	.size waymark_enter, . - waymark_enter

#endif
	.section .note.GNU-stack, "", %progbits
