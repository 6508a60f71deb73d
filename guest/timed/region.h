/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a real processor says of the region of interest, in programs for machines whose clock is
 * real (build/guest/timed): its clock, the time stamp counter, and the PMU's events, the kernel's
 * apart from the programs'. The region's rounds are in CHUNKS parts, or as many as it has rounds:
 * what each took, in ticks of the time stamp counter, comes in lines of up to 16. Lines on standard
 * output:
 *
 *	kernsmith: metric reference_cycles=123456789
 *	kernsmith: chunks 1929012 1929102 ...
 *	kernsmith: metric seconds=0.058422982
 *	kernsmith: metric kernel_cycles=...
 *	kernsmith: absent pmu_l1i_misses: there is no PMU, or it has no such event
 */
#ifndef KERNSMITH_TIMED_REGION_H
#define KERNSMITH_TIMED_REGION_H

void region_prepare(void);	/* once, before the set-up: opens what there is */
void region_begin(unsigned rounds);	/* how many there will be */
void region_round(void);	/* after each, and after those of before the region */
void region_end(void);
void region_tell(void);

#endif
