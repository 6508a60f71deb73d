/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest without a kernel that waits for a timer 10,000 times. Before each wait it works for as long
 * as chance has it; behind each it reads the clock. What it has read goes into one number, which it
 * writes to the serial port. Then it ends by a triple fault.
 *
 * Entered in 32 bits without paging, as Xen's PVH has it (Xen, docs/misc/pvh.pandoc).
 */
	.section .note.pvh, "a", @note
	.balign 4
	.long 4, 4, 18				/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.long start

#define TIMES 10000
#define TIMER 0x20				/* its interrupt's number */
#define CODE 8
#define DATA 16

	.macro out_byte port, value
	mov $\value, %al
	outb %al, $\port
	.endm

	.text
	.code32
	.globl start
start:
	cli
	lgdt segments_at
	ljmp $CODE, $1f
1:	mov $DATA, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov $stack, %esp

	mov $on_timer, %eax
	mov %ax, gates + 8 * TIMER
	movw $CODE, gates + 8 * TIMER + 2
	movw $0x8e00, gates + 8 * TIMER + 4
	shr $16, %eax
	mov %ax, gates + 8 * TIMER + 6
	lidt gates_at

	/* Both 8259: numbers from TIMER on, the timer's interrupt alone. */
	out_byte 0x20, 0x11
	out_byte 0xa0, 0x11
	out_byte 0x21, TIMER
	out_byte 0xa1, TIMER + 8
	out_byte 0x21, 4
	out_byte 0xa1, 2
	out_byte 0x21, 1
	out_byte 0xa1, 1
	out_byte 0x21, 0xfe
	out_byte 0xa1, 0xff
	/* The 8254: an interrupt every 119 of its 1,193,182 ticks a second. */
	out_byte 0x43, 0x34
	out_byte 0x40, 119
	out_byte 0x40, 0

	xor %ebx, %ebx
	mov $12345, %ebp
	mov $TIMES, %edi
work:	imul $1103515245, %ebp, %ebp
	add $12345, %ebp
	mov %ebp, %ecx
	shr $20, %ecx
	and $1023, %ecx
	inc %ecx
1:	dec %ecx
	jnz 1b
	sti
	hlt
	cli
	rdtsc
	xor %eax, %ebx
	imul $0x9e3779b1, %ebx, %ebx
	add %edx, %ebx
	dec %edi
	jnz work

	mov $8, %ecx
	mov $0x3f8, %edx
1:	rol $4, %ebx
	mov %ebx, %eax
	and $15, %eax
	mov digits(%eax), %al
	outb %al, %dx
	loop 1b
	lidt nothing
	int $3

on_timer:
	push %eax
	out_byte 0x20, 0x20
	pop %eax
	iret

	.data
digits:	.ascii "0123456789abcdef"
	.balign 8
segments:
	.quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
segments_at:
	.word . - segments - 1
	.long segments
gates_at:
	.word 8 * (TIMER + 1) - 1
	.long gates
nothing:
	.word 0
	.long 0

	.bss
	.balign 16
gates:	.skip 8 * (TIMER + 1)
	.skip 256
stack:
	.section .note.GNU-stack, "", @progbits
