// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "workload.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static volatile int value;
static char *guarded;
static sigjmp_buf away;

static void on_signal(int number)
{
	(void)number;
	handled = handled + 1;
}

static void on_queued(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	value = info->si_value.sival_int;
}

static void on_fault(int number)
{
	(void)number;
	siglongjmp(away, 1);
}

static int set_up(void)
{
	guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return guarded == MAP_FAILED ? failed("mmap") : 0;
}

static int raised(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	if (sigaction(SIGUSR1, &action, NULL))
		return failed("sigaction");
	handled = 0;
	for (int i = 0; i < 4; i++)
		if (raise(SIGUSR1))
			return failed("raise");
	return handled == 4 ? 0 : wrong("raise");
}

/* Two of a blocked classic signal become one. */
static int blocked(void)
{
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	handled = 0;
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return failed("sigprocmask");
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR1);
	if (sigpending(&pending) || sigismember(&pending, SIGUSR1) != 1 || handled)
		return wrong("sigpending");
	if (sigprocmask(SIG_UNBLOCK, &set, NULL))
		return failed("sigprocmask");
	return handled == 1 ? 0 : wrong("a blocked signal");
}

static int queued(unsigned number)
{
	struct sigaction action = { .sa_sigaction = on_queued, .sa_flags = SA_SIGINFO };
	union sigval sent = { .sival_int = (int)(number & 0xffff) };

	if (sigaction(SIGRTMIN, &action, NULL) || sigqueue(getpid(), SIGRTMIN, sent))
		return failed("sigqueue");
	return value == sent.sival_int ? 0 : wrong("sigqueue");
}

static int faulted(void)
{
	struct sigaction action = { .sa_handler = on_fault };

	if (sigaction(SIGSEGV, &action, NULL))
		return failed("sigaction");
	if (sigsetjmp(away, 1) == 0) {
		*(volatile char *)guarded = 1;
		return wrong("a fault that did not come");
	}
	action.sa_handler = SIG_DFL;
	return sigaction(SIGSEGV, &action, NULL) ? failed("sigaction") : 0;
}

static int play(unsigned number)
{
	int error = raised();

	if (!error)
		error = blocked();
	if (!error)
		error = queued(number);
	return error ? error : faulted();
}

WORKLOAD(signals) = {
	.name = "signal",
	.sets = "lab process",
	.description = "Install, raise, block, queue and handle signals, and handle a page fault",
	.needs = "CONFIG_MULTIUSER",
	.rounds = 1000,
	.warmup = 80,
	.application = 96,
	.set_up = set_up,
	.round = play,
};
