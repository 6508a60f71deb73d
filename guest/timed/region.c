// SPDX-License-Identifier: GPL-2.0-or-later
#include "region.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define CACHE_MISSES(cache)							\
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |	\
	 PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

/*
 * Events of all that the one processor executes, interrupts and other threads too: that to which
 * the program is bound, or which is the only one. A PMU has few counters: whoever comes first in
 * this list gets one for the whole region, or nobody does.
 */
static struct event {
	const char *name;
	uint32_t type;
	uint64_t config;
	int user;		/* of programs; else of the kernel */
	int fd;
	int error;
} events[] = {
	{ "kernel_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, -1, 0 },
	{ "kernel_instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, -1, 0 },
	{ "pmu_l1i_misses", PERF_TYPE_HW_CACHE, CACHE_MISSES(L1I), 0, -1, 0 },
	{ "pmu_itlb_misses", PERF_TYPE_HW_CACHE, CACHE_MISSES(ITLB), 0, -1, 0 },
	{ "pmu_branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0, -1, 0 },
	{ "user_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1, -1, 0 },
	{ "user_instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1, -1, 0 },
};

enum { EVENTS = sizeof(events) / sizeof(*events), CHUNKS = 64, IN_A_LINE = 16 };

/*
 * Of the clock: how many of its steps are looked at, how many readings one may take that stands
 * still, and the nanoseconds from which a step is one of a timer's (1,000 a second at most).
 */
enum { STEPS = 8, MOST_READS = 2000000, COARSE = 500000 };

/* What a read gives (perf_event_open(2)): times tell whether it counted all the while. */
struct counted {
	uint64_t value;
	uint64_t enabled;
	uint64_t running;
};

static struct timespec began, ended;
static uint64_t first_tick, last_tick;

/* When each chunk was over; chunks: how many the region has, 0 before it. */
static uint64_t chunk_ends[CHUNKS];
static unsigned chunks, rounds_of_region, rounds_over;

/* The only processor that the program may run on; -1 where there are several. */
static int own_processor(void)
{
	cpu_set_t processors;

	CPU_ZERO(&processors);
	if (sched_getaffinity(0, sizeof(processors), &processors) || CPU_COUNT(&processors) != 1)
		return -1;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)i, &processors))
			return i;
	return -1;
}

static void open_event(struct event *event, int processor)
{
	struct perf_event_attr attributes = {
		.type = event->type,
		.size = sizeof(attributes),
		.config = event->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.pinned = 1,
		.exclude_user = !event->user,
		.exclude_kernel = event->user,
		.exclude_hv = 1,
	};

	event->fd = (int)syscall(SYS_perf_event_open, &attributes, -1, processor, -1,
				 PERF_FLAG_FD_CLOEXEC);
	event->error = event->fd < 0 ? errno : 0;
}

void region_prepare(void)
{
	int processor = own_processor();

	for (int i = 0; i < EVENTS; i++) {
		events[i].fd = -1;
		events[i].error = EXDEV;
		if (processor >= 0)
			open_event(&events[i], processor);
	}
}

/* Nothing before it is still on its way, and nothing behind it has begun. */
static uint64_t tick(void)
{
	_mm_lfence();
	uint64_t ticks = __rdtsc();

	_mm_lfence();
	return ticks;
}

void region_begin(unsigned rounds)
{
	rounds_of_region = rounds;
	chunks = rounds < CHUNKS ? rounds : CHUNKS;
	for (int i = 0; i < EVENTS; i++)
		if (events[i].fd >= 0)
			ioctl(events[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	clock_gettime(CLOCK_MONOTONIC_RAW, &began);
	first_tick = tick();
}

void region_round(void)
{
	if (!chunks)
		return;
	uint64_t before = (uint64_t)rounds_over++ * chunks / rounds_of_region;
	uint64_t over = (uint64_t)rounds_over * chunks / rounds_of_region;

	if (over > before)
		chunk_ends[before] = tick();
}

void region_end(void)
{
	last_tick = tick();
	clock_gettime(CLOCK_MONOTONIC_RAW, &ended);
	for (int i = 0; i < EVENTS; i++)
		if (events[i].fd >= 0)
			ioctl(events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

static const char *why(int error)
{
	switch (error) {
	case EXDEV:
		return "the program is bound to no processor";
	case ENOSYS:
		return "the kernel has no CONFIG_PERF_EVENTS";
	case ENOENT:
	case EOPNOTSUPP:
		return "there is no PMU, or it has no such event";
	default:
		return strerror(error);
	}
}

static void tell_event(const struct event *event)
{
	struct counted counted = { 0 };

	if (event->error) {
		printf("kernsmith: absent %s: %s\n", event->name, why(event->error));
		return;
	}
	/* A pinned event that got no counter reads as the end of a file. */
	if (read(event->fd, &counted, sizeof(counted)) != sizeof(counted) || !counted.running ||
	    counted.running < counted.enabled)
		printf("kernsmith: absent %s: no counter was free\n", event->name);
	else
		printf("kernsmith: metric %s=%llu\n", event->name,
		       (unsigned long long)counted.value);
}

/*
 * By how many nanoseconds the clock went on, at least, from one reading to the next that differed.
 * clock_getres() says less: it is the resolution of timers, which stays a tick until the kernel has
 * made them fine, however fine the clock is. An interrupt may lie in one step, hence the least of
 * some.
 */
static long long step_of_clock(void)
{
	struct timespec before, now;
	long long least = LLONG_MAX;
	int steps = 0;

	clock_gettime(CLOCK_MONOTONIC_RAW, &before);
	for (int reads = 0; reads < MOST_READS && steps < STEPS; reads++) {
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		long long step = (now.tv_sec - before.tv_sec) * 1000000000LL +
				 (now.tv_nsec - before.tv_nsec);

		if (!step)
			continue;
		least = step < least ? step : least;
		before = now;
		steps++;
	}
	return least;
}

/* A kernel without another clock than its timer's counts ticks, of milliseconds each. */
static void tell_seconds(void)
{
	double seconds = (double)(ended.tv_sec - began.tv_sec) +
			 (double)(ended.tv_nsec - began.tv_nsec) * 1e-9;
	long long step = step_of_clock();

	if (step == LLONG_MAX)
		printf("kernsmith: absent seconds: the kernel's clock stands still\n");
	else if (step >= COARSE)
		printf("kernsmith: absent seconds: the kernel's clock goes by ticks of %lld us\n",
		       step / 1000);
	else
		printf("kernsmith: metric seconds=%.9f\n", seconds);
}

static void tell_chunks(void)
{
	for (unsigned i = 0; i < chunks; i++) {
		uint64_t began_at = i ? chunk_ends[i - 1] : first_tick;

		printf("%s%llu%s", i % IN_A_LINE ? " " : "kernsmith: chunks ",
		       (unsigned long long)(chunk_ends[i] - began_at),
		       i % IN_A_LINE == IN_A_LINE - 1 || i == chunks - 1 ? "\n" : "");
	}
}

void region_tell(void)
{
	printf("kernsmith: metric reference_cycles=%llu\n",
	       (unsigned long long)(last_tick - first_tick));
	tell_seconds();
	tell_chunks();
	for (int i = 0; i < EVENTS; i++)
		tell_event(&events[i]);
}
