// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpus.h"

#include "failure.h"
#include "partner.h"

#include <sched.h>
#include <unistd.h>

int bind_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? failed("sched_setaffinity: no such CPU") : 0;
}

static int (*wanted)(int argument);

static int bound(int argument)
{
	int error = bind_to(SECOND);

	return error ? error : wanted(argument);
}

int start_on_second(int (*serve)(int argument))
{
	/* What a partner says of its failure is not heard: this process tries it first. */
	int error = bind_to(SECOND);

	if (!error)
		error = bind_to(FIRST);
	wanted = serve;
	return error ? error : partner_start(bound, 0);
}
