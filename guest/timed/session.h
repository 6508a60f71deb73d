/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many runs in one boot: what process 1 does where the clock is a real one. It reads its orders from
 * the serial line, a line each, and says what came of them, every line with the CRC-32 (ISO 3309, as
 * zlib's) of what stands before it:
 *
 *	kernsmith: session clock=tsc #0badcafe
 *	> run 7 pipe 100 10			(number, workload, rounds, warm-up)
 *	kernsmith: begin pipe #0badcafe
 *	...
 *	kernsmith: ran 7 lines=12 status=0 #0badcafe	(twice)
 *
 * A workload is a process of its own (this program, with --run), and says nothing on the line before
 * it has ended. status is its exit status, or 128 and the signal that ended it.
 */
#ifndef KERNSMITH_TIMED_SESSION_H
#define KERNSMITH_TIMED_SESSION_H

void session(void);	/* until the line ends; whoever has booted the guest switches it off */

#endif
