/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The region of interest on a real machine. Where the tracer sees a mark, the runner here calls
 * region_mark: BEGIN reads the clock and starts the processor's counters, END stops both.
 */
#ifndef KERNSMITH_REGION_H
#define KERNSMITH_REGION_H

#define REGION_METRICS "kernsmith: metric "

void region_prepare(void);	/* opens the counters that there are, for this process and its children */
void region_mark(int operation);
void region_tell(void);		/* the region's figures, as lines that begin with REGION_METRICS */

#endif
