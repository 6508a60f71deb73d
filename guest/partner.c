// SPDX-License-Identifier: GPL-2.0-or-later
#include "partner.h"

#include "failure.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARTNERS = 64 };

static pid_t partners[PARTNERS];
static unsigned count;

int partner_start(int (*serve)(int argument), int argument)
{
	if (count == PARTNERS) {
		errno = EAGAIN;
		return failed("too many partners");
	}
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(serve(argument));
	}
	partners[count++] = pid;
	return 0;
}

int partners_wait(void)
{
	int worst = 0;

	while (count > 0) {
		int status = 0;

		if (waitpid(partners[--count], &status, 0) < 0)
			worst = failed("waitpid");
		else if (WIFSIGNALED(status))
			worst = EINTR;
		else if (WEXITSTATUS(status))
			worst = WEXITSTATUS(status);
	}
	return worst;
}

struct timespec partners_time(void)
{
	struct timespec sum = { 0, 0 };

	for (unsigned i = 0; i < count; i++) {
		struct timespec one;
		clockid_t clock;

		if (clock_getcpuclockid(partners[i], &clock) || clock_gettime(clock, &one))
			continue;
		sum.tv_sec += one.tv_sec;
		sum.tv_nsec += one.tv_nsec;
		if (sum.tv_nsec >= 1000000000L) {
			sum.tv_sec++;
			sum.tv_nsec -= 1000000000L;
		}
	}
	return sum;
}
