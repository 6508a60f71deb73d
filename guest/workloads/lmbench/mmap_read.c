// SPDX-License-Identifier: GPL-2.0-or-later
/* lmbench's bw_mmap_rd: a cached file is mapped, read there and unmapped. */
#include "failure.h"
#include "scratch.h"
#include "transfer.h"
#include "workload.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PIECES = 8, SIZE = PIECES * PIECE };

static int file = -1;

static int set_up(void)
{
	return scratch_file(PIECES, &file);
}

static int play(unsigned number)
{
	char *at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);

	(void)number;
	if (at == MAP_FAILED)
		return failed("mmap");
	for (unsigned i = 0; i < PIECES; i++)
		if (!pattern_matches(at + i * PIECE, PIECE, i))
			return wrong("contents of a mapped file");
	return munmap(at, SIZE) ? failed("munmap") : 0;
}

static void tear_down(void)
{
	close(file);
}

WORKLOAD(mmap_read) = {
	.name = "lmbench-mmap-read",
	.sets = "lmbench",
	.description = "bw_mmap_rd: maps a cached file of 512 KiB, reads it there and unmaps it",
	.needs = "CONFIG_TMPFS",
	.rounds = 300,
	.warmup = 24,
	.application = 256,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
