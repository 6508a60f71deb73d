/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that does once what every kernel does while it boots: enters long mode, loads a GDT, an
 * IDT and a task register, writes the MSRs of system calls and per-CPU data, takes an exception
 * and returns from it, and sleeps until the local APIC's timer wakes it.  Then it prints "ok" on
 * the debug console (port 0xe9) and ends QEMU through isa-debug-exit (port 0xf4).  After each step
 * it prints a letter, so that one sees where a machine fails.
 *
 * Started like vmlinux: by the PVH entry in an ELF note, in protected mode without paging.
 */

	.macro	say character
	movb	$\character, %al
	outb	%al, $0xe9
	.endm

	.section .note.pvh, "a", @note
	.long	4, 4, 18			/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz	"Xen"
	.long	start

	.text
	.code32
	.globl	start
start:
	cli
	movl	$stack_end, %esp
	say	'b'

	/* Four page directories of 2 MiB pages map the low 4 GiB onto themselves. */
	movl	$directories, %edi
	movl	$0x83, %eax			/* present, writable, large */
	movl	$2048, %ecx
1:	movl	%eax, (%edi)
	movl	$0, 4(%edi)
	addl	$0x200000, %eax
	addl	$8, %edi
	loop	1b
	movl	$pointers, %edi
	movl	$directories + 3, %eax
	movl	$4, %ecx
2:	movl	%eax, (%edi)
	addl	$4096, %eax
	addl	$8, %edi
	loop	2b
	movl	$pointers + 3, top

	movl	%cr4, %eax
	orl	$0x20, %eax			/* PAE */
	movl	%eax, %cr4
	movl	$top, %eax
	movl	%eax, %cr3
	movl	$0xc0000080, %ecx		/* EFER */
	rdmsr
	orl	$0x901, %eax			/* NXE, LME, SCE */
	wrmsr
	movl	%cr0, %eax
	orl	$0x80010000, %eax		/* PG, WP */
	movl	%eax, %cr0
	say	'p'

	movl	$task, %eax			/* the task state's base, in two halves */
	movw	%ax, gdt + 0x18 + 2
	shrl	$16, %eax
	movb	%al, gdt + 0x18 + 4
	movb	%ah, gdt + 0x18 + 7
	lgdt	gdt_pointer
	ljmp	$0x08, $long_mode

	.code64
long_mode:
	movl	$0x10, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movl	$0x18, %eax
	ltr	%ax
	say	'l'

	movl	$breakpoint, %esi
	movl	$idt + 16 * 3, %edi
	call	set_gate
	movl	$timer, %esi
	movl	$idt + 16 * 0x40, %edi
	call	set_gate
	movl	$spurious, %esi
	movl	$idt + 16 * 0xff, %edi
	call	set_gate
	lidt	idt_pointer
	int3
	say	'e'

	movl	$0xc0000082, %ecx		/* LSTAR */
	movl	$long_mode, %eax
	xorl	%edx, %edx
	wrmsr
	movl	$0xc0000101, %ecx		/* GS_BASE */
	movl	$task, %eax
	wrmsr
	swapgs
	swapgs
	rdtsc
	xorl	%eax, %eax
	cpuid
	say	'm'

	movb	$0xff, %al			/* the old interrupt controllers are not wanted */
	outb	%al, $0x21
	outb	%al, $0xa1
	movl	$0xfee00000, %ebx		/* local APIC */
	movl	$0x1ff, 0xf0(%rbx)		/* on; spurious vector */
	movl	$0xb, 0x3e0(%rbx)		/* timer: divide by 1 */
	movl	$0x40, 0x320(%rbx)		/* once, vector 0x40 */
	movl	$1000000, 0x380(%rbx)
3:	sti
	hlt
	cli
	cmpb	$0, ticked
	je	3b

	say	'o'
	say	'k'
	say	'\n'
	movl	$0x10, %eax
	outl	%eax, $0xf4
4:	hlt
	jmp	4b

/* Point the gate at %rdi to the handler at %rsi. */
set_gate:
	movw	%si, (%rdi)
	movw	$0x08, 2(%rdi)
	movw	$0x8e00, 4(%rdi)		/* present interrupt gate */
	shrl	$16, %esi
	movw	%si, 6(%rdi)
	ret

timer:
	movb	$1, ticked
	movl	$0, 0xb0(%rbx)			/* end of interrupt */
spurious:
breakpoint:
	iretq

	.data
	.balign	16
gdt:	.quad	0
	.quad	0x00af9b000000ffff		/* 0x08: 64-bit code */
	.quad	0x00cf93000000ffff		/* 0x10: data */
	.quad	0x0000890000000067		/* 0x18: task state; the base is filled in */
	.quad	0
gdt_pointer:
	.word	gdt_pointer - gdt - 1
	.quad	gdt
idt_pointer:
	.word	16 * 256 - 1
	.quad	idt

	.bss
	.balign	4096
top:	.skip	4096
pointers:
	.skip	4096
directories:
	.skip	4 * 4096
idt:	.skip	16 * 256
task:	.skip	104
ticked:	.skip	8
	.balign	16
	.skip	4096
stack_end:

	.section .note.GNU-stack, "", @progbits
