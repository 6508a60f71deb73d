// SPDX-License-Identifier: GPL-2.0-or-later
#include "init.h"
#include "nothing.h"
#include "runner.h"
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int usage(void)
{
	fputs("usage: kernsmith-guest --list\n"
	      "       kernsmith-guest --run NAME [--rounds N] [--warmup N]\n", stderr);
	return 2;
}

/* A count of at least `least`, or -1. */
static long count(const char *text, long least)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *text && !*end && value >= least && value <= 1000000000 ? value : -1;
}

static int run(int argc, char **argv)
{
	long rounds = -1, warmup = -1;

	for (int i = 3; i < argc; i += 2) {
		long *option = strcmp(argv[i], "--rounds") == 0 ? &rounds :
			       strcmp(argv[i], "--warmup") == 0 ? &warmup : NULL;

		if (!option || i + 1 == argc)
			return usage();
		*option = count(argv[i + 1], option == &rounds);
		if (*option < 0)
			return usage();
	}
	return run_workload(argv[2], rounds, warmup) ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], NOTHING_OPTION) == 0)
		return NOTHING_STATUS;
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		workload_list();
		return 0;
	}
	if (argc >= 3 && strcmp(argv[1], "--run") == 0)
		return run(argc, argv);
	if (getpid() == 1)	/* whatever words of the kernel command line came along */
		init();
	return usage();
}
