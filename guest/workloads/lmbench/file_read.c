// SPDX-License-Identifier: GPL-2.0-or-later
/* lmbench's bw_file_rd: a cached file, read from its beginning in pieces of 64 KiB. */
#include "failure.h"
#include "scratch.h"
#include "transfer.h"
#include "workload.h"

#include <unistd.h>

enum { PIECES = 8 };

static int file = -1;
static char buffer[PIECE];

static int set_up(void)
{
	return scratch_file(PIECES, &file);
}

static int play(unsigned number)
{
	(void)number;
	if (lseek(file, 0, SEEK_SET))
		return failed("lseek");
	for (unsigned i = 0; i < PIECES; i++) {
		if (read(file, buffer, PIECE) != PIECE)
			return failed("read");
		if (!pattern_matches(buffer, PIECE, i))
			return wrong("contents of a file");
	}
	return 0;
}

static void tear_down(void)
{
	close(file);
}

WORKLOAD(file_read) = {
	.name = "lmbench-file-read",
	.sets = "lmbench",
	.description = "bw_file_rd: reads a cached file of 512 KiB in pieces of 64 KiB",
	.needs = "CONFIG_TMPFS",
	.rounds = 300,
	.warmup = 24,
	.application = 256,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
