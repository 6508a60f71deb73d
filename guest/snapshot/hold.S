/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a snapshot is taken: the machine stops the guest at this instruction. It waits for an address,
 * whichever process executes what is there: in a guest with other programs it is one that none of
 * them has (HOLD in the Makefile).
 */
#ifdef APART
	.section .hold, "ax", @progbits
#else
	.text
#endif
	.globl	hold
	.type	hold, @function
hold:
	ret
	.size	hold, . - hold

	.section .note.GNU-stack, "", @progbits
