// SPDX-License-Identifier: GPL-2.0-or-later
/* lmbench's lat_sig: a handler is installed, and signals are sent to itself and handled. */
#include "failure.h"
#include "workload.h"

#include <signal.h>
#include <unistd.h>

enum { TIMES = 4 };

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	handled = handled + 1;
}

static int play(unsigned number)
{
	struct sigaction action = { .sa_handler = handle };
	pid_t own = getpid();

	(void)number;
	handled = 0;
	for (int i = 0; i < TIMES; i++)
		if (sigaction(SIGUSR1, &action, NULL))
			return failed("sigaction");
	for (int i = 0; i < TIMES; i++)
		if (kill(own, SIGUSR1))
			return failed("kill");
	return handled == TIMES ? 0 : wrong("number of signals");
}

WORKLOAD(signals) = {
	.name = "lmbench-signal",
	.sets = "lmbench",
	.description = "lat_sig: installs a handler four times, and handles four signals",
	.needs = "CONFIG_MULTIUSER",
	.rounds = 2000,
	.warmup = 160,
	.application = 64,
	.round = play,
};
