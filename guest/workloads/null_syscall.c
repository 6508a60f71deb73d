// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "workload.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static pid_t parent;
static int zero = -1;

static int set_up(void)
{
	parent = getppid();
	zero = open("/dev/null", O_RDWR | O_CLOEXEC);
	return zero < 0 ? failed("open /dev/null") : 0;
}

static int play(unsigned number)
{
	struct rlimit limit;
	struct timespec time;
	mode_t mask = (mode_t)(number & 0777);
	char byte = 'x';

	if (syscall(SYS_getppid) != parent)
		return wrong("getppid");
	if (syscall(SYS_getuid) != syscall(SYS_geteuid))
		return wrong("getuid");
	mode_t old = umask(mask);

	if (umask(old) != mask)
		return wrong("umask");
	if (syscall(SYS_getpgid, 0) < 0 || syscall(SYS_gettid) != syscall(SYS_getpid))
		return wrong("gettid");
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > limit.rlim_max)
		return wrong("getrlimit");
	/* Through the kernel, not through the vDSO. */
	if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time) || time.tv_nsec > 999999999)
		return wrong("clock_gettime");
	if (fcntl(zero, F_GETFD) != FD_CLOEXEC)
		return wrong("fcntl");
	if (write(zero, &byte, 1) != 1 || read(zero, &byte, 1) != 0)
		return wrong("write and read of /dev/null");
	return 0;
}

static void tear_down(void)
{
	if (zero >= 0)
		close(zero);
}

WORKLOAD(null_syscall) = {
	.name = "null-syscall",
	.sets = "lab process",
	.description = "A dozen system calls that do next to nothing: getppid, umask, fcntl and the like",
	.needs = "CONFIG_MULTIUSER",
	.rounds = 8000,
	.warmup = 600,
	.application = 28,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
