/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KERNSMITH_SNAPSHOT_H
#define KERNSMITH_SNAPSHOT_H

/*
 * A guest that does not know its workload while it boots: it comes to hold(), where its machine
 * may take a snapshot, and learns then what it is to run (machine/snapshot.py).
 *
 * With a root file system, from the last WORKLOAD_BYTES of the disk (disk.c): an archive (cpio, newc) with
 * a file `run`, which says NAME ROUNDS WARMUP, and what lies in /workload. Without one, in the
 * TOLD_BYTES of its memory into which these three are written (memory.c).
 */
enum { WORKLOAD_BYTES = 4 << 20, TOLD_BYTES = 128 };

void hold(void);	/* does nothing */

extern volatile char told[TOLD_BYTES];

/* hold(), then run the workload that was told. Returns 0 or an errno, which was told. */
int run_from_snapshot(void);

#endif
