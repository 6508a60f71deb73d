/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch: a folder with what a machine is to measure and what it has measured. Both files consist
 * of lines (line.h) that are only ever added; src/kernsmith/machine/batch.py writes the first one.
 *
 *	plan	batch 1
 *		trial NAME KERNEL PROCESSOR RUNS SECONDS ROUNDS WARMUP WORKLOAD
 *
 *	results	boot BOOT KERNEL
 *		begin NAME RUN BOOT RAW-CLOCK WALL-CLOCK
 *		metric NAME RUN FIGURE=VALUE
 *		said NAME RUN TEXT
 *		beside NAME RUN PEOPLE ASLEEP OTHERS
 *		end NAME RUN STATUS RAW-CLOCK WALL-CLOCK TEXT
 *		done NAME STATUS
 *
 * KERNEL is the build id of the kernel that a trial is of, or `-` for any; BOOT the boot's random
 * name; PROCESSOR a number, -1 for any, or -2 for the last; SECONDS how long a run may take; clocks are
 * in nanoseconds; PEOPLE how many were logged in with a terminal or a display; ASLEEP for how many
 * nanoseconds the machine slept; OTHERS for how many seconds processors worked for somebody else;
 * STATUS is 0 or an errno. What has begun and is not done was ended by the machine's death, and is
 * not tried again in this batch; or, where its last `end` is of ETIMEDOUT, it was killed and did not
 * die: the kernel that it is stuck in is left, and nothing more is measured there.
 */
#ifndef KERNSMITH_BATCH_H
#define KERNSMITH_BATCH_H

#include <stddef.h>

#define LAST_PROCESSOR (-2)

struct trial {
	char name[65], kernel[65], workload[65];
	int processor, runs, seconds;
	long rounds, warmup;
};

struct batch {
	int folder, results;
};

int batch_open(struct batch *batch, const char *path);	/* 0 or an errno */

/*
 * The first trial that has not begun, of this kernel, or with NULL of any. Returns 1, 0 when there is
 * none, or a negative errno.
 */
int batch_next(const struct batch *batch, const char *kernel, struct trial *trial);

#endif
