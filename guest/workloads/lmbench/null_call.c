// SPDX-License-Identifier: GPL-2.0-or-later
/* lmbench's lat_syscall null: getppid(), the least that a system call can be. */
#include "failure.h"
#include "workload.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 16 };

static pid_t parent;

static int set_up(void)
{
	parent = getppid();
	return 0;
}

static int play(unsigned number)
{
	(void)number;
	for (int i = 0; i < CALLS; i++)
		if (syscall(SYS_getppid) != parent)
			return wrong("getppid");
	return 0;
}

WORKLOAD(null_call) = {
	.name = "lmbench-syscall",
	.sets = "lmbench",
	.description = "lat_syscall: getppid, sixteen times",
	.needs = "CONFIG_MULTIUSER",
	.rounds = 8000,
	.warmup = 640,
	.application = 16,
	.set_up = set_up,
	.round = play,
};
