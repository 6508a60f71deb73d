// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpus.h"

#include "failure.h"
#include "workload.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum turn { OURS, THEIRS, OVER };

/* In memory of both processes. */
static struct shared {
	_Atomic uint32_t turn;
	uint32_t token;
} *shared = MAP_FAILED;

static long futex(int operation, uint32_t value)
{
	return syscall(SYS_futex, &shared->turn, operation, value, NULL, NULL, 0);
}

static int hand_over(enum turn to)
{
	atomic_store(&shared->turn, to);
	return futex(FUTEX_WAKE, 1) < 0 ? failed("futex: wake") : 0;
}

/* Sleeps as long as it is still this turn. */
static int wait_while(enum turn this)
{
	while (atomic_load(&shared->turn) == this) {
		if (futex(FUTEX_WAIT, this) && errno != EAGAIN && errno != EINTR)
			return failed("futex: wait");
	}
	return 0;
}

static uint32_t answer(uint32_t token)
{
	return token * 3 + 1;
}

static int serve(int unused)
{
	int error = 0;

	(void)unused;
	while (!error) {
		error = wait_while(OURS);
		if (atomic_load(&shared->turn) == OVER)
			break;
		shared->token = answer(shared->token);
		if (!error)
			error = hand_over(OURS);
	}
	return error;
}

static int set_up(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED ? failed("mmap") : start_on_second(serve);
}

static int play(unsigned number)
{
	shared->token = number;
	int error = hand_over(THEIRS);

	if (!error)
		error = wait_while(THEIRS);
	if (!error && shared->token != answer(number))
		error = wrong("the token that came back from the other CPU");
	return error;
}

static void tear_down(void)
{
	if (shared != MAP_FAILED)
		hand_over(OVER);
}

WORKLOAD(cpu_futex) = {
	.name = "cpu-futex",
	.sets = "smp",
	.description = "A token handed to a process on another CPU and back, each woken by a futex",
	.needs = "CONFIG_SMP CONFIG_FUTEX CONFIG_SHMEM",
	.rounds = 3000,
	.warmup = 300,
	.application = 48,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
