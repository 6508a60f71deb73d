/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The application around the system calls.
 *
 * A loop around one system call keeps the kernel's path to it in the instruction cache, which no
 * real program does. So before every round the runner executes some user code with a large
 * footprint: small functions of eight cache lines, 512 of them in 128 pages (256 KiB of code in
 * 512 KiB), called in a fixed pseudo-random order that goes on from round to round. A function
 * costs about 24 instructions, so 48 of them push 24 KiB of code into the caches and some 40 pages
 * into the TLBs for about 1,200 instructions. Each workload names its own number: enough to make
 * the kernel's code cold, and no more than a fifth of all instructions.
 */
#ifndef KERNSMITH_APPLICATION_H
#define KERNSMITH_APPLICATION_H

void application_prepare(void);		/* fixes the order, maps every page of the code */
void application_run(unsigned functions);

#endif
