// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lmbench's lat_mmap: a file is mapped, some bytes are written there, and it is unmapped. These are one
 * in 16 KiB of its first tenth, or, in every other round, one in 160 KiB of all of it.
 */
#include "failure.h"
#include "scratch.h"
#include "workload.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PIECES = 32, SIZE = PIECES * PIECE, STEP = 16384, PART = 10 };

static int file = -1;

static int set_up(void)
{
	return scratch_file(PIECES, &file);
}

static int play(unsigned number)
{
	size_t end = number % 2 ? SIZE : SIZE / PART, step = number % 2 ? PART * STEP : STEP;
	size_t last = (end - 1) / step * step;
	char is, byte = (char)number;
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (at == MAP_FAILED)
		return failed("mmap");
	for (size_t i = 0; i < end; i += step)
		at[i] = byte;
	if (munmap(at, SIZE))
		return failed("munmap");
	if (pread(file, &is, sizeof(is), (off_t)last) != sizeof(is) || is != byte)
		return wrong("a byte that was written where the file was mapped");
	return 0;
}

static void tear_down(void)
{
	close(file);
}

WORKLOAD(mapping) = {
	.name = "lmbench-mmap",
	.sets = "lmbench",
	.description = "lat_mmap: maps a file of 2 MiB, writes a byte here and there, and unmaps it",
	.needs = "CONFIG_TMPFS",
	.rounds = 800,
	.warmup = 64,
	.application = 256,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
