/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The application around the system calls.
 *
 * A loop around one system call keeps the kernel's path to it in the instruction cache, which no
 * real program does. So before every round the runner executes some user code with a large
 * footprint: 512 small functions of four cache lines, spread over 128 pages (128 KiB of code in
 * 512 KiB), called in a fixed pseudo-random order that goes on from round to round. A function
 * costs about 24 instructions; 64 of them touch 16 KiB of code in about 50 pages and so push out
 * half of a 32 KiB instruction cache.
 */
#ifndef KERNSMITH_APPLICATION_H
#define KERNSMITH_APPLICATION_H

void application_prepare(void);		/* fixes the order, maps every page of the code */
void application_run(unsigned functions);

#endif
