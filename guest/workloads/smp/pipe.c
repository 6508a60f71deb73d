// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpus.h"

#include "failure.h"
#include "transfer.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

static int there[2] = { -1, -1 };	/* from this process to the partner */
static int back[2] = { -1, -1 };

/* What the partner makes of a token; it ends when no more come. */
static uint64_t answer(uint64_t token)
{
	return token * 3 + 1;
}

static int serve(int unused)
{
	(void)unused;
	close(there[1]);
	close(back[0]);
	for (;;) {
		uint64_t token;
		ssize_t length = read(there[0], &token, sizeof(token));

		if (length <= 0)
			return length ? errno : 0;
		token = answer(token);
		if (write(back[1], &token, sizeof(token)) != sizeof(token))
			return EIO;
	}
}

static int set_up(void)
{
	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		return failed("pipe2");
	int error = start_on_second(serve);

	close(there[0]);
	close(back[1]);
	return error;
}

static int play(unsigned number)
{
	uint64_t token = number, returned = 0;
	int error = send_all(there[1], &token, sizeof(token));

	if (!error)
		error = receive_all(back[0], &returned, sizeof(returned));
	if (!error && returned != answer(token))
		error = wrong("the token that came back from the other CPU");
	return error;
}

static void tear_down(void)
{
	close(there[1]);
	close(back[0]);
}

WORKLOAD(cpu_pipe) = {
	.name = "cpu-pipe",
	.sets = "smp",
	.description = "A token through two pipes to a process on another CPU, and back",
	.needs = "CONFIG_SMP",
	.rounds = 2000,
	.warmup = 200,
	.application = 48,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
