/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks of the region of interest. The tracer recognises them when QEMU translates the block they
 * are in; on every processor they are an 8-byte NOP (0f 1f 84 00 and a 32-bit displacement:
 * "KSM" and the operation in the low byte).
 */
#ifndef KERNSMITH_MARKER_H
#define KERNSMITH_MARKER_H

enum marker {
	MARKER_ARM = 1,		/* set-up is over, the warm-up begins: simulate, count nothing */
	MARKER_BEGIN = 2,	/* the region begins: counters start at zero */
	MARKER_END = 3,		/* the region ends: counters are final */
};

#define MARK(operation)									\
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long 0x4b534d00 | %c0"	\
			 : : "i"(operation) : "memory")

#endif
