// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "workload.h"

#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned touched[2048];

/* The child writes to a page that it shares with its parent, which must not see it. */
static int play(unsigned number)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork");
	if (pid == 0) {
		touched[1024] = number + 1;
		_exit((int)(number & 63));
	}
	if (waitpid(pid, &status, 0) != pid)
		return failed("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != (int)(number & 63) || touched[1024])
		return wrong("fork and exit");
	return 0;
}

WORKLOAD(fork_exit) = {
	.name = "fork",
	.sets = "lab process",
	.description = "A process that forks a child, which writes to one page and exits",
	.needs = "CONFIG_MULTIUSER",
	.rounds = 220,
	.warmup = 20,
	.application = 384,
	.round = play,
};
