/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KERNSMITH_SNAPSHOT_H
#define KERNSMITH_SNAPSHOT_H

/*
 * A guest that does not know its workload while it boots: it comes to hold(), where its machine
 * may take a snapshot, and reads then what it is to run from the last WORKLOAD_BYTES of the disk.
 * machine/snapshot.py writes them: an archive (cpio, newc) with a file `run`, which says NAME ROUNDS
 * WARMUP, and what lies in /workload.
 */
enum { WORKLOAD_BYTES = 4 << 20 };

void hold(void);	/* does nothing */

/* hold(), then run the workload that is there. Returns 0 or an errno, which was told. */
int run_from_snapshot(void);

#endif
