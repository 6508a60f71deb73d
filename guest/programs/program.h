/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program of the silicon bench is: exactly the same work in every run, cut into units of
 * some hundred thousand cycles. program.c times them on a processor and marks them for the tracer.
 */
#ifndef KERNSMITH_PROGRAM_H
#define KERNSMITH_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* The program's name, and how many units are one region. */
extern const char *const program_name;
extern const unsigned program_units;

/* What all units share; no part of the region. Returns 0, or -1 when it went wrong. */
int program_set_up(void);

/*
 * One unit of work, 0 … program_units - 1. Leaves everything as it was, so that a unit does the
 * same whenever it is run. Returns a sum over what it computed: equal in every build.
 */
uint64_t program_unit(unsigned number);

/* Folds bytes into a sum (FNV-1a). */
static inline uint64_t fold(uint64_t sum, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ at[i]) * 0x100000001b3u;
	return sum;
}

#endif
