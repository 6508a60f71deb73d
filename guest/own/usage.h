/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel counts of the processes that a workload has started and waited for, in the region:
 * page faults, switches, blocks of devices. Only the program of users' own workloads tells it; others
 * have no processes but those that they are about.
 */
#ifndef KERNSMITH_USAGE_H
#define KERNSMITH_USAGE_H

void usage_begin(void);
void usage_tell(void);	/* at the region's end, as metrics */

#endif
