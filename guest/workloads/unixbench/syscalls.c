// SPDX-License-Identifier: GPL-2.0-or-later
/* UnixBench's syscall, its mix: close(dup(0)), getpid(), getuid() and umask(022). */
#include "test.h"

#include "failure.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MASK = 022 };

static pid_t own;

static int set_up(void)
{
	own = getpid();
	umask(MASK);
	return 0;
}

static int loop(unsigned number)
{
	(void)number;
	if (close(dup(STDOUT_FILENO)))
		return failed("dup or close");
	if (syscall(SYS_getpid) != own)
		return wrong("getpid");
	if (syscall(SYS_getuid) < 0)
		return wrong("getuid");
	return umask(MASK) == MASK ? 0 : wrong("umask");
}

static const struct test syscalls = { .loops = 16, .turns = 8, .set_up = set_up, .loop = loop };

TEST(syscalls, "unixbench-syscall", "CONFIG_MULTIUSER",
     "System call overhead: dup, close, getpid, getuid and umask", 1500, 10);
