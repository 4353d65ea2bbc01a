/* SPDX-License-Identifier: MIT */
/*
 * vfork.S - vfork() that marks the thread-local storage which parent and child share while the child runs.
 *
 * Because vfork() returns twice on one stack, the code keeps its values in registers, which the kernel restores for
 * both returns. The mark is the first word of struct wmk_thread (thread_state.h). The parent restores the old value of
 * the mark.
 */
#if defined(__x86_64__)

	.text
	.globl vfork
	.type vfork, @function
	.p2align 4
vfork:
	.cfi_startproc
	endbr64
	movq wmk_thread@gottpoff(%rip), %rsi
	movl %fs:(%rsi), %edx
	popq %rdi                       /* the return address: calls of the child overwrite it on the stack */
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	movl $1, %fs:(%rsi)
	movl $58, %eax
	syscall
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rip, 0
	testl %eax, %eax
	je 1f                           /* the child: the mark stays until exec() or its end */
	movl %edx, %fs:(%rsi)
	cmpq $-4095, %rax
	jae 2f
1:	ret
2:	negl %eax
	pushq %rax
	.cfi_adjust_cfa_offset 8
	call __errno_location@PLT
	popq %rdx
	.cfi_adjust_cfa_offset -8
	movl %edx, (%rax)
	movl $-1, %eax
	ret
	.cfi_endproc
	.size vfork, . - vfork

#elif defined(__aarch64__)

	.text
	.globl vfork
	.type vfork, %function
	.p2align 4
vfork:
	.cfi_startproc
	adrp x9, :gottprel:wmk_thread
	ldr x9, [x9, :gottprel_lo12:wmk_thread]
	mrs x10, tpidr_el0
	add x9, x9, x10
	ldr w11, [x9]
	mov w12, #1
	str w12, [x9]
	mov x0, #0x4111                 /* CLONE_VM | CLONE_VFORK | SIGCHLD */
	mov x1, #0
	mov x2, #0
	mov x3, #0
	mov x4, #0
	mov x8, #220                    /* clone */
	svc #0
	cbz x0, 1f
	str w11, [x9]
	cmn x0, #4095
	b.cs 2f
1:	ret
2:	stp x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	neg w0, w0
	str w0, [sp, #16]
	bl __errno_location
	ldr w1, [sp, #16]
	str w1, [x0]
	mov w0, #-1
	ldp x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	ret
	.cfi_endproc
	.size vfork, . - vfork

#endif
	.section .note.GNU-stack, "", %progbits
