// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lmbench's lat_proc: a child that exits, and, in every other round, one that executes another program.
 * Of its third kind, `sh -c`, the guest has no shell.
 */
#include "failure.h"
#include "nothing.h"
#include "workload.h"

#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void execute(void)
{
	static char name[] = "hello", option[] = NOTHING_OPTION;
	char *arguments[] = { name, option, NULL }, *environment[] = { NULL };

	execve("/proc/self/exe", arguments, environment);
	_exit(127);
}

static int play(unsigned number)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork");
	if (pid == 0) {
		if (number % 2)
			execute();
		_exit(NOTHING_STATUS);
	}
	if (waitpid(pid, &status, 0) != pid)
		return failed("waitpid");
	return WIFEXITED(status) && WEXITSTATUS(status) == NOTHING_STATUS ? 0 : wrong("a child's end");
}

WORKLOAD(process) = {
	.name = "lmbench-process",
	.sets = "lmbench",
	.description = "lat_proc: forks a child that exits, or that executes another program, in turn",
	.needs = "CONFIG_BINFMT_ELF CONFIG_PROC_FS",
	.rounds = 130,
	.warmup = 12,
	.application = 384,
	.round = play,
};
