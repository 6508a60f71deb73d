// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lmbench's lat_pagefault: a cached file is mapped, and one byte in 256 KiB is read, from its end to its
 * beginning, after its pages were taken from the mapping.
 */
#include "failure.h"
#include "scratch.h"
#include "workload.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PIECES = 128, SIZE = PIECES * PIECE, STEP = 256 * 1024, FROM_END = 16384 };

static int file = -1;
static char *mapped = MAP_FAILED;

/* Each byte that will be read is the number of its step. */
static int set_up(void)
{
	int error = scratch_file(PIECES, &file);

	if (error)
		return error;
	for (off_t at = SIZE - FROM_END; at > 0; at -= STEP) {
		unsigned char byte = (unsigned char)(at / STEP);

		if (pwrite(file, &byte, 1, at) != 1)
			return failed("pwrite");
	}
	mapped = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
	return mapped == MAP_FAILED ? failed("mmap") : 0;
}

static int play(unsigned number)
{
	(void)number;
	if (msync(mapped, SIZE, MS_INVALIDATE) || madvise(mapped, SIZE, MADV_DONTNEED))
		return failed("msync or madvise");
	for (long at = SIZE - FROM_END; at > 0; at -= STEP)
		if (*(volatile unsigned char *)(mapped + at) != (unsigned char)(at / STEP))
			return wrong("a byte of a mapped file");
	return 0;
}

static void tear_down(void)
{
	if (mapped != MAP_FAILED)
		munmap(mapped, SIZE);
	close(file);
}

WORKLOAD(page_fault) = {
	.name = "lmbench-page-fault",
	.sets = "lmbench",
	.description = "lat_pagefault: reads a byte in 256 KiB of a mapped file of 8 MiB, backwards",
	.needs = "CONFIG_TMPFS CONFIG_ADVISE_SYSCALLS",
	.rounds = 80,
	.warmup = 8,
	.application = 256,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
