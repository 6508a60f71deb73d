// SPDX-License-Identifier: GPL-2.0-or-later
/* UnixBench's spawn: a child that exits at once, and that is waited for. */
#include "test.h"

#include "failure.h"

#include <sys/wait.h>
#include <unistd.h>

static int loop(unsigned number)
{
	int status, expected = (int)(number & 63);
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork");
	if (pid == 0)
		_exit(expected);
	if (waitpid(pid, &status, 0) != pid)
		return failed("waitpid");
	return WIFEXITED(status) && WEXITSTATUS(status) == expected ? 0 : wrong("a child's end");
}

static const struct test spawn = { .loops = 2, .turns = 8, .loop = loop };

TEST(spawn, "unixbench-spawn", "CONFIG_MULTIUSER", "Process creation: a child that exits at once", 120, 10);
