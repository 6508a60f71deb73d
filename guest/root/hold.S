/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a snapshot is taken: the machine stops the guest at this instruction. The linker puts it at an
 * address that nothing else in the guest has (HOLD in the Makefile), for a machine that waits for
 * an address sees all processes.
 */
	.section .hold, "ax", @progbits
	.globl	hold
	.type	hold, @function
hold:
	ret
	.size	hold, . - hold

	.section .note.GNU-stack, "", @progbits
