// SPDX-License-Identifier: GPL-2.0-or-later
/* UnixBench's pipe: a process writes 512 bytes to a pipe, and reads them itself. */
#include "test.h"

#include "failure.h"
#include "transfer.h"

#include <fcntl.h>
#include <unistd.h>

enum { SIZE = 512 };

static int ends[2] = { -1, -1 };
static char buffer[SIZE];

static int set_up(void)
{
	return pipe2(ends, O_CLOEXEC) ? failed("pipe2") : 0;
}

static int loop(unsigned number)
{
	pattern_fill(buffer, SIZE, number);
	if (write(ends[1], buffer, SIZE) != SIZE || read(ends[0], buffer, SIZE) != SIZE)
		return failed("write or read");
	return pattern_matches(buffer, SIZE, number) ? 0 : wrong("what came through a pipe");
}

static const struct test pipes = { .loops = 16, .turns = 8, .set_up = set_up, .loop = loop };

TEST(pipes, "unixbench-pipe", "",
     "Pipe throughput: a process writes 512 bytes and reads them itself", 800, 10);
