/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel has put a module, told on the console for who reads what the guest executed. */
#ifndef KERNSMITH_SECTIONS_H
#define KERNSMITH_SECTIONS_H

#include <stdio.h>

/* That a module is loaded, and where its sections are; /sys is mounted. Formats: load.c. */
void module_tell(FILE *to, const char *name);
/*
 * What a module has for its own start is freed by a worker of the kernel's. The next module may be
 * put there: whether it is must not depend on who is first.
 */
void module_settle(void);

#endif
