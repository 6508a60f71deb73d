// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lmbench's lat_select: which of 200 descriptors of one file can be written to, and, in every other
 * round, which of 200 of one TCP connection. All can, and select() does not wait.
 */
#include "failure.h"
#include "loopback.h"
#include "scratch.h"
#include "workload.h"

#include <sys/select.h>
#include <unistd.h>

enum { COUNT = 200 };

/* Copies of one descriptor, and the number behind the highest of them. */
struct many {
	fd_set set;
	int end;
};

static struct many of_file, of_connection;
static int file = -1, near = -1, far = -1;

static int copy(int fd, struct many *many)
{
	FD_ZERO(&many->set);
	for (unsigned i = 0; i < COUNT; i++) {
		int one = dup(fd);

		if (one < 0 || one >= FD_SETSIZE)
			return failed("dup");
		FD_SET(one, &many->set);
		many->end = one + 1;
	}
	return 0;
}

static int set_up(void)
{
	int error = scratch_file(1, &file);

	if (!error)
		error = loopback_connect(&near, &far);
	if (!error)
		error = copy(file, &of_file);
	return error ? error : copy(near, &of_connection);
}

static int play(unsigned number)
{
	const struct many *many = number % 2 ? &of_connection : &of_file;
	struct timeval at_once = { 0, 0 };
	fd_set ready = many->set;

	if (select(many->end, NULL, &ready, NULL, &at_once) != COUNT)
		return wrong("number of select");
	return FD_ISSET(many->end - 1, &ready) ? 0 : wrong("set of select");
}

WORKLOAD(selecting) = {
	.name = "lmbench-select",
	.sets = "lmbench",
	.description = "lat_select: select of 200 descriptors of a file, or of a TCP connection, in turn",
	.needs = "CONFIG_INET CONFIG_TMPFS",
	.rounds = 1000,
	.warmup = 80,
	.application = 128,
	.set_up = set_up,
	.round = play,
};
