// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "workload.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static pid_t parent;
static int priority;
static int zero = -1;

static int set_up(void)
{
	parent = getppid();
	priority = getpriority(PRIO_PROCESS, 0);
	zero = open("/dev/null", O_RDWR | O_CLOEXEC);
	return zero < 0 ? failed("open /dev/null") : 0;
}

static int ask_for_identity(unsigned number)
{
	mode_t mask = (mode_t)(number & 0777);
	char name[16] = "";

	if (syscall(SYS_getppid) != parent)
		return wrong("getppid");
	if (syscall(SYS_getuid) != syscall(SYS_geteuid))
		return wrong("getuid");
	mode_t old = umask(mask);

	if (umask(old) != mask)
		return wrong("umask");
	if (syscall(SYS_getpgid, 0) < 0 || syscall(SYS_gettid) != syscall(SYS_getpid))
		return wrong("gettid");
	if (prctl(PR_GET_NAME, name) || !*name)
		return wrong("prctl");
	if (getpriority(PRIO_PROCESS, 0) != priority)
		return wrong("getpriority");
	return 0;
}

static int ask_for_the_rest(void)
{
	struct rlimit limit;
	struct rusage usage;
	struct stat status;
	struct timespec time;
	struct utsname system;
	cpu_set_t cpus;
	char byte = 'x';

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > limit.rlim_max)
		return wrong("getrlimit");
	/* Through the kernel, not through the vDSO. */
	if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time) || time.tv_nsec > 999999999)
		return wrong("clock_gettime");
	if (getrusage(RUSAGE_SELF, &usage) || usage.ru_maxrss <= 0)
		return wrong("getrusage");
	if (sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) == 0)
		return wrong("sched_getaffinity");
	if (uname(&system) || !*system.release)
		return wrong("uname");
	if (fcntl(zero, F_GETFD) != FD_CLOEXEC)
		return wrong("fcntl");
	if (fstat(zero, &status) || !S_ISCHR(status.st_mode))
		return wrong("fstat");
	if (write(zero, &byte, 1) != 1 || read(zero, &byte, 1) != 0)
		return wrong("write and read of /dev/null");
	return 0;
}

static int play(unsigned number)
{
	int error = ask_for_identity(number);

	return error ? error : ask_for_the_rest();
}

static void tear_down(void)
{
	if (zero >= 0)
		close(zero);
}

WORKLOAD(null_syscall) = {
	.name = "null-syscall",
	.sets = "lab process",
	.description = "Twenty system calls that do next to nothing: getppid, umask, fcntl, uname and the like",
	.needs = "CONFIG_MULTIUSER",
	.rounds = 5000,
	.warmup = 400,
	.application = 28,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
