// SPDX-License-Identifier: GPL-2.0-or-later
/* UnixBench's execl: a process that replaces itself by its own program, again and again. */
#include "test.h"

#include "failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHAIN = 4, DONE = 43 };

#define OPTION "--replace"

/* Replaces this process, which has to do it `left` times more. */
static _Noreturn void replace(int left)
{
	char word[16];

	snprintf(word, sizeof(word), "%d", left - 1);
	execl("/proc/self/exe", "kernsmith-guest-unixbench", OPTION, word, NULL);
	_exit(127);
}

/* Runs before main(), as the program that a process was replaced by. */
__attribute__((constructor)) static void begin(int argc, char **argv)
{
	if (argc != 3 || strcmp(argv[1], OPTION) != 0)
		return;
	int left = atoi(argv[2]);

	if (left == 0)
		_exit(DONE);
	replace(left);
}

/* A chain of CHAIN programs: of UnixBench's loops as many. */
static int loop(unsigned number)
{
	int status;
	pid_t pid = fork();

	(void)number;
	if (pid < 0)
		return failed("fork");
	if (pid == 0)
		replace(CHAIN);
	if (waitpid(pid, &status, 0) != pid)
		return failed("waitpid");
	return WIFEXITED(status) && WEXITSTATUS(status) == DONE ? 0 : wrong("a chain of programs");
}

static const struct test execs = { .loops = 1, .turns = 2, .loop = loop };

TEST(execs, "unixbench-execl", "CONFIG_BINFMT_ELF CONFIG_PROC_FS",
     "Execl throughput: a process that replaces itself by its own program", 40, 10);
