/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 512 functions of 256 bytes in slots of 1 KiB. The place in the slot rotates, so that together
 * they fill every set of a cache evenly. Each takes a number in %rdi and returns another in %rax;
 * it runs a few instructions in each of its four cache lines.
 */
	.section .text.application, "ax", @progbits
	.balign	4096
	.globl	application_code
	.type	application_code, @function
application_code:
	.set	i, 0
	.rept	512
	.org	application_code + i * 1024 + (i & 3) * 256, 0xcc
	lea	(%rdi, %rdi, 2), %rax
	add	$(i * 40503 & 0x7fffffff), %rax
	ror	$7, %rax
	jmp	1f
	.balign	64, 0xcc
1:	mov	%rax, %rdx
	shr	$11, %rdx
	xor	%rdx, %rax
	jmp	2f
	.balign	64, 0xcc
2:	lea	1(%rax, %rax, 4), %rax
	test	$(1 << (i & 7)), %al
	jz	3f
	add	$(i + 1), %rax
	jmp	3f
	.balign	64, 0xcc
3:	mov	%rax, %rdx
	shl	$5, %rdx
	xor	%rdx, %rax
	ret
	.set	i, i + 1
	.endr
	.org	application_code + 512 * 1024, 0xcc
	.size	application_code, . - application_code
	.section .note.GNU-stack, "", @progbits
