// SPDX-License-Identifier: GPL-2.0-or-later
#include "runner.h"

#include "application.h"
#include "failure.h"
#include "marker.h"
#include "partner.h"
#include "workload.h"
#ifdef KERNSMITH_TIMED
#include "timed/region.h"
#endif
#ifdef KERNSMITH_OWN
#include "own/figures.h"
#include "own/usage.h"
#endif

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

/* Seconds of the wall clock, and of CPU time of this process, its partners and its children. */
struct times {
	double wall;
	double user;
	double sys;
};

static double seconds(struct timespec t)
{
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double of_timeval(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/*
 * The kernel tells the CPU time of a running partner, but not how it is divided. A partner does
 * nothing but system calls, so all of it counts as system time.
 */
static struct times now(void)
{
	struct rusage self, children;
	struct timespec wall;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	clock_gettime(CLOCK_MONOTONIC, &wall);
	return (struct times){
		.wall = seconds(wall),
		.user = of_timeval(self.ru_utime) + of_timeval(children.ru_utime),
		.sys = of_timeval(self.ru_stime) + of_timeval(children.ru_stime) +
		       seconds(partners_time()),
	};
}

/*
 * Who is woken up does not interrupt who runs, here and in every partner and child. Otherwise a few
 * nanoseconds would decide, and not the same way in every kernel.
 */
static int take_turns(void)
{
	struct sched_param none = { 0 };

	return sched_setscheduler(0, SCHED_BATCH, &none) ? failed("sched_setscheduler") : 0;
}

/*
 * A real clock has something to say itself. What the preprocessor leaves of this in the other
 * programs is what they were: their figures stay.
 */
#ifdef KERNSMITH_TIMED
#define AROUND(what) what
enum { TENTH = 100000000, SECOND = 1000000000 };
#else
#define AROUND(what)
#endif

/* Users' own workloads are processes, of which the kernel counts more than their times. */
#ifdef KERNSMITH_OWN
#define OF_PROCESSES(what) what
#else
#define OF_PROCESSES(what)
#endif

/*
 * Sleeps until a second of the clock is full. Timer ticks then come at the same places of the
 * workload, however long the kernel took to boot: which process has used up its slice at a tick
 * is no matter of luck.
 */
static int wait_for_second(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
#ifdef KERNSMITH_TIMED
	/* There are many runs, and ticks are at full tenths, too. */
	t.tv_nsec = (t.tv_nsec / TENTH + 1) * TENTH;
	t.tv_sec += t.tv_nsec / SECOND;
	t.tv_nsec %= SECOND;
#else
	t = (struct timespec){ .tv_sec = t.tv_sec + 1 };
#endif
	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	return errno ? failed("clock_nanosleep") : 0;
}

static int play(const struct workload *w, unsigned first, unsigned count)
{
	int error = 0;

	for (unsigned i = first; i < first + count && !error; i++) {
		application_run(w->application);
		error = w->round(i);
		AROUND(region_round());
	}
	return error;
}

static int measure(const struct workload *w, unsigned rounds, unsigned warmup)
{
	int error = wait_for_second();

	if (error)
		return error;
	MARK(MARKER_ARM);
	error = play(w, 0, warmup);

	if (error)
		return error;
	struct times begin = now();

	OF_PROCESSES(error = figures_begin(OWN_METRICS));
	if (error)
		return error;
	OF_PROCESSES(usage_begin());
	AROUND(region_begin(rounds));
	MARK(MARKER_BEGIN);
	error = play(w, warmup, rounds);
	MARK(MARKER_END);
	AROUND(region_end());
	struct times end = now();

	if (error)
		return error;
#ifdef KERNSMITH_TIMED
	region_tell();
#else
	printf("kernsmith: metric seconds=%.9f\n", end.wall - begin.wall);
#endif
	printf("kernsmith: metric user_seconds=%.9f\n", end.user - begin.user);
	printf("kernsmith: metric sys_seconds=%.9f\n", end.sys - begin.sys);
	OF_PROCESSES(usage_tell());
	OF_PROCESSES(error = figures_tell(OWN_METRICS));
	return error;
}

int run_workload(const char *name, long rounds, long warmup)
{
	const struct workload *w = workload_find(name);
	int error = w ? 0 : EINVAL;

	signal(SIGPIPE, SIG_IGN);
	application_prepare();
	printf("kernsmith: begin %s\n", name);
	fflush(stdout);
	if (!w) {
		printf("kernsmith: end %s status=%d unknown workload\n", name, error);
		return error;
	}
	AROUND(region_prepare());
	error = take_turns();
	if (!error && w->set_up)
		error = w->set_up();
	if (!error)
		error = measure(w, rounds < 0 ? w->rounds : (unsigned)rounds,
				warmup < 0 ? w->warmup : (unsigned)warmup);
	if (w->tear_down)
		w->tear_down();
	int partners = partners_wait();

	if (!error && partners) {
		errno = partners;
		error = failed("a partner process");
	}
	printf("kernsmith: end %s status=%d%s%s\n", name, error, error ? " " : "",
	       error ? failure_text() : "");
	fflush(stdout);
	return error;
}
