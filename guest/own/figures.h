/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of a workload's own. Its file names them (OWN_FOLDER/metrics: names that each end with a
 * zero byte), and its program adds lines NAME=NUMBER to the file that the environment calls
 * KERNSMITH_METRICS. What is told is the mean of each name's numbers that were written in the region.
 */
#ifndef KERNSMITH_FIGURES_H
#define KERNSMITH_FIGURES_H

#define OWN_METRICS "/workload/metrics"
#define FIGURES "/tmp/kernsmith-metrics"

int figures_begin(const char *names);	/* what was written before counts no more */
int figures_tell(const char *names);	/* as metrics; 0, or errno where one was not written */

#endif
