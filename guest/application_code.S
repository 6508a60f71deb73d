/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 512 functions of 512 bytes in slots of 1 KiB. The place in the slot alternates, so that together
 * they fill every set of a cache evenly. Each takes a number in %rdi and returns another in %rax;
 * it runs two instructions in each of its eight cache lines.
 */
	.macro	next_line
	jmp	1f
	.balign	64, 0xcc
1:
	.endm

	.section .text.application, "ax", @progbits
	.balign	4096
	.globl	application_code
	.type	application_code, @function
application_code:
	.set	i, 0
	.rept	512
	.org	application_code + i * 1024 + (i & 1) * 512, 0xcc
	lea	i + 1(%rdi, %rdi, 2), %rax
	next_line
	ror	$7, %rax
	next_line
	add	$(i * 40503 & 0x7fffffff), %rax
	next_line
	lea	(%rax, %rax, 4), %rax
	next_line
	xor	$(i << 8 | 0x5a), %rax
	next_line
	rol	$3, %rax
	next_line
	test	$(1 << (i & 7)), %al
	jz	2f
	inc	%rax
2:	next_line
	lea	(%rax, %rdi), %rax
	ret
	.set	i, i + 1
	.endr
	.org	application_code + 512 * 1024, 0xcc
	.size	application_code, . - application_code
	.section .note.GNU-stack, "", @progbits
