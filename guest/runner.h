/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KERNSMITH_RUNNER_H
#define KERNSMITH_RUNNER_H

/*
 * Run a workload by name: set-up, ARM, warm-up rounds, BEGIN, rounds, END, and its lines on
 * standard output:
 *
 *	kernsmith: begin NAME
 *	kernsmith: metric seconds=1.234567890
 *	kernsmith: metric user_seconds=...
 *	kernsmith: metric sys_seconds=...
 *	kernsmith: end NAME status=ERRNO message
 *
 * A negative number of rounds stands for the workload's own default. Returns 0 or an errno.
 */
int run_workload(const char *name, long rounds, long warmup);

#endif
