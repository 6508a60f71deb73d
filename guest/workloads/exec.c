// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "nothing.h"
#include "workload.h"

#include <sys/wait.h>
#include <unistd.h>

static int play(unsigned number)
{
	static char name[] = "kernsmith-guest", option[] = NOTHING_OPTION, home[] = "HOME=/";
	char *arguments[] = { name, option, NULL };
	char *environment[] = { home, NULL };
	int status;
	pid_t pid = number % 2 ? vfork() : fork();

	if (pid < 0)
		return failed("fork");
	if (pid == 0) {
		execve("/proc/self/exe", arguments, environment);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		return failed("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != NOTHING_STATUS)
		return wrong("execve");
	return 0;
}

WORKLOAD(fork_exec) = {
	.name = "exec",
	.sets = "lab process",
	.description = "A process that forks (or vforks) a child, which executes this program anew",
	.needs = "CONFIG_BINFMT_ELF CONFIG_PROC_FS",
	.rounds = 90,
	.warmup = 8,
	.application = 384,
	.round = play,
};
