// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "partner.h"
#include "transfer.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

enum { PROCESSES = 8 };	/* in the ring, this one included */

/* Process i reads from ring[i] and writes to ring[i + 1]; this process is number 0. */
static int ring[PROCESSES][2];

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
	uint64_t token;
	ssize_t length;

	keep_only(own, next);
	while ((length = read(ring[own][0], &token, sizeof(token))) == sizeof(token)) {
		token += (uint64_t)own;
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
	return error;
}

static int play(unsigned number)
{
	uint64_t token = number, passed = number + PROCESSES * (PROCESSES - 1) / 2;
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
	.name = "context-switch",
	.sets = "lab process",
	.description = "A token that goes around a ring of eight processes and their pipes",
	.needs = "CONFIG_MULTIUSER",
	.rounds = 500,
	.warmup = 40,
	.application = 192,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
