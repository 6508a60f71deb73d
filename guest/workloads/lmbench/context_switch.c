// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lmbench's lat_ctx with eight processes and 16 KiB: a token goes around a ring of processes through
 * pipes, and each looks at an array of its own before it passes the token on.
 */
#include "failure.h"
#include "partner.h"
#include "transfer.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

enum { PROCESSES = 8, BYTES = 16384, LINE = 64 };

/* Process i reads from ring[i] and writes to ring[i + 1]; this process is number 0. */
static int ring[PROCESSES][2];
static unsigned char array[BYTES];

/* One byte of each cache line, all of which are 1. */
static uint32_t sum_of_array(void)
{
	const volatile unsigned char *at = array;
	uint32_t sum = 0;

	for (unsigned i = 0; i < BYTES; i += LINE)
		sum += at[i];
	return sum;
}

static void keep_only(int from, int to)
{
	for (int i = 0; i < PROCESSES; i++) {
		if (i != from)
			close(ring[i][0]);
		if (i != to)
			close(ring[i][1]);
	}
}

static int pass_on(int own)
{
	int next = (own + 1) % PROCESSES;
	uint32_t token;
	ssize_t length;

	keep_only(own, next);
	for (unsigned i = 0; i < BYTES; i++)	/* a copy of its own, as in lat_ctx */
		array[i] = 1;
	while ((length = read(ring[own][0], &token, sizeof(token))) == sizeof(token)) {
		token += sum_of_array();
		if (write(ring[next][1], &token, sizeof(token)) != sizeof(token))
			return EIO;
	}
	return length ? EIO : 0;
}

static int set_up(void)
{
	int error = 0;

	for (int i = 0; i < PROCESSES; i++)
		if (pipe2(ring[i], O_CLOEXEC))
			return failed("pipe2");
	for (int i = 1; i < PROCESSES && !error; i++)
		error = partner_start(pass_on, i);
	keep_only(0, 1);
	for (unsigned i = 0; i < BYTES; i++)
		array[i] = 1;
	return error;
}

static int play(unsigned number)
{
	uint32_t token = number + sum_of_array(), passed = number + PROCESSES * BYTES / LINE;
	int error = send_all(ring[1][1], &token, sizeof(token));

	if (!error)
		error = receive_all(ring[0][0], &token, sizeof(token));
	if (!error && token != passed)
		error = wrong("token of the ring");
	return error;
}

static void tear_down(void)
{
	close(ring[1][1]);
	close(ring[0][0]);
}

WORKLOAD(context_switch) = {
	.name = "lmbench-context-switch",
	.sets = "lmbench",
	.description = "lat_ctx: a token around a ring of eight processes, each of which looks at 16 KiB",
	.needs = "",
	.rounds = 500,
	.warmup = 40,
	.application = 192,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
