// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "partner.h"
#include "transfer.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { LARGEST = 4096 };

static int there[2] = { -1, -1 };	/* from this process to the partner */
static int back[2] = { -1, -1 };
static char buffer[LARGEST];

static size_t size_of(unsigned number)
{
	static const size_t sizes[] = { 4, 64, 1024, 4, 512, 16, LARGEST, 128 };

	return sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
}

static int echo(int unused)
{
	char copy[LARGEST];

	(void)unused;
	close(there[1]);
	close(back[0]);
	for (;;) {
		ssize_t length = read(there[0], copy, sizeof(copy));

		if (length <= 0)
			return length ? errno : 0;
		if (write(back[1], copy, (size_t)length) != length)
			return EIO;
	}
}

static int set_up(void)
{
	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		return failed("pipe2");
	int error = partner_start(echo, 0);

	close(there[0]);
	close(back[1]);
	return error;
}

static int play(unsigned number)
{
	size_t size = size_of(number);

	pattern_fill(buffer, size, number);
	int error = send_all(there[1], buffer, size);

	if (error)
		return error;
	pattern_fill(buffer, size, ~number);
	error = receive_all(back[0], buffer, size);
	if (!error && !pattern_matches(buffer, size, number))
		error = wrong("echo through pipes");
	return error;
}

static void tear_down(void)
{
	close(there[1]);
	close(back[0]);
}

WORKLOAD(pipes) = {
	.name = "pipe",
	.sets = "lab ipc",
	.description = "Round trips between two processes through two pipes, 4 bytes to 4 KiB",
	.needs = "CONFIG_TTY",
	.rounds = 2400,
	.warmup = 200,
	.application = 48,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
