// SPDX-License-Identifier: GPL-2.0-or-later
#include "region.h"

#include "../marker.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Each by itself: children that come later inherit no groups. A processor without as many counters
 * takes turns; such a figure would be an estimate, and is left out.
 */
static struct counter {
	const char *name;
	uint32_t type;
	uint64_t config;
	int user, kernel;
	int fd;
} counters[] = {
	{ "core_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1, 1, -1 },
	{ "kernel_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, 1, -1 },
	{ "kernel_instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, 1, -1 },
	{ "user_instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1, 0, -1 },
	{ "page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1, 1, -1 },
	{ "context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 1, -1 },
};

#define EACH_COUNTER(c) \
	for (struct counter *c = counters; c < counters + sizeof(counters) / sizeof(*counters); c++)

static struct timespec began, ended;

void region_prepare(void)
{
	EACH_COUNTER(c) {
		struct perf_event_attr attributes = {
			.size = sizeof(attributes),
			.type = c->type,
			.config = c->config,
			.disabled = 1,
			.inherit = 1,
			.exclude_user = !c->user,
			.exclude_kernel = !c->kernel,
			.exclude_hv = 1,
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		};

		c->fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
}

static void switch_counters(unsigned long request)
{
	EACH_COUNTER(c)
		if (c->fd >= 0)
			ioctl(c->fd, request, 0);
}

/* The clock is read next to the region, the counters are switched outside of it. */
void region_mark(int operation)
{
	if (operation == MARKER_BEGIN) {
		switch_counters(PERF_EVENT_IOC_ENABLE);
		clock_gettime(CLOCK_MONOTONIC_RAW, &began);
	} else if (operation == MARKER_END) {
		clock_gettime(CLOCK_MONOTONIC_RAW, &ended);
		switch_counters(PERF_EVENT_IOC_DISABLE);
	}
}

void region_tell(void)
{
	struct { uint64_t value, enabled, running; } count;
	double seconds = (double)(ended.tv_sec - began.tv_sec) +
			 (double)(ended.tv_nsec - began.tv_nsec) * 1e-9;

	if (!ended.tv_sec && !ended.tv_nsec)
		return;
	printf(REGION_METRICS "raw_seconds=%.9f\n", seconds);
	EACH_COUNTER(c)
		if (c->fd >= 0 && read(c->fd, &count, sizeof(count)) == sizeof(count) &&
		    count.enabled && count.enabled == count.running)
			printf(REGION_METRICS "%s=%llu\n", c->name, (unsigned long long)count.value);
}
