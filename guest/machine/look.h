/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KERNSMITH_LOOK_H
#define KERNSMITH_LOOK_H

/*
 * What /proc and /sys say of the machine, on standard output: for each file a line with its path and
 * size, and its content; binary ones in hexadecimal digits. src/kernsmith/machine/look.py reads it.
 */
void look(void);

/* The build id of the running kernel, hexadecimal; empty where it tells none. */
void running_build_id(char *text, unsigned long size);

#endif
