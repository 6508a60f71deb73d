/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the load, which is compiled as a program is, and the kernel that it is a part of.
 */
#ifndef KERNSMITH_UML_H
#define KERNSMITH_UML_H

/* A system call as its entry point calls it, with all that is done on the way out of the kernel. */
long kernel_call(long number, const long arguments[6]);

/* Starts a task as fork does: it has its own table of files, and shares nothing later on. */
long kernel_fork(int (*run)(void *), void *argument);

/* Waits until all that was put off is done: memory given back, files closed for good. */
void kernel_settle(void);

/* Digests of the kernel's own crypto. Returns 0 or a negative error. */
int kernel_digest(const char *algorithm, const void *data, unsigned size, unsigned char *digest);

/* Ends the program. */
void host_leave(int status) __attribute__((noreturn));

/* main of program.c */
int program_main(void);

#endif
