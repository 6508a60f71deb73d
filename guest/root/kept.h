/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KERNSMITH_KEPT_H
#define KERNSMITH_KEPT_H

/*
 * A guest that does not know its workload while it boots: it comes to hold(), where its machine
 * may keep it, and reads then what it is to run from the last KEPT_BYTES of the disk.
 * machine/kept_boot.py writes them: an archive (cpio, newc) with a file `run`, which says NAME ROUNDS
 * WARMUP, and what lies in /workload.
 */
enum { KEPT_BYTES = 4 << 20 };

void hold(void);	/* does nothing */

/* hold(), then run the workload that is there. Returns 0 or an errno, which was told. */
int run_kept(void);

#endif
