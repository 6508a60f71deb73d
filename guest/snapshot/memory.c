// SPDX-License-Identifier: GPL-2.0-or-later
#include "snapshot.h"

#include "failure.h"
#include "runner.h"

#include <stdio.h>

volatile char told[TOLD_BYTES];

int run_from_snapshot(void)
{
	char words[TOLD_BYTES], name[TOLD_BYTES];
	long rounds, warmup;

	/* Whose page that is, is decided before the machine writes there. */
	told[0] = '\0';
	hold();
	for (size_t i = 0; i < sizeof(words); i++)
		words[i] = told[i];
	words[sizeof(words) - 1] = '\0';
	if (sscanf(words, "%s %ld %ld", name, &rounds, &warmup) == 3)
		return run_workload(name, rounds, warmup);
	int error = wrong("nobody has said what to run");

	printf("kernsmith: end init status=%d %s\n", error, failure_text());
	return error;
}
