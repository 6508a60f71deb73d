// SPDX-License-Identifier: GPL-2.0-or-later
#include "own/usage.h"

#include <stdio.h>
#include <sys/resource.h>

static struct rusage before;

void usage_begin(void)
{
	getrusage(RUSAGE_CHILDREN, &before);
}

static void tell(const char *name, long now, long then)
{
	printf("kernsmith: metric %s=%ld\n", name, now - then);
}

void usage_tell(void)
{
	struct rusage after;

	getrusage(RUSAGE_CHILDREN, &after);
	/* A maximum, not a sum: of any process since the guest's start, the set-up's among them. */
	tell("max_rss", after.ru_maxrss, 0);
	tell("minor_faults", after.ru_minflt, before.ru_minflt);
	tell("major_faults", after.ru_majflt, before.ru_majflt);
	tell("voluntary_switches", after.ru_nvcsw, before.ru_nvcsw);
	tell("involuntary_switches", after.ru_nivcsw, before.ru_nivcsw);
	tell("blocks_read", after.ru_inblock, before.ru_inblock);
	tell("blocks_written", after.ru_oublock, before.ru_oublock);
}
