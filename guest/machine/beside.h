/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes on on the machine beside a run. */
#ifndef KERNSMITH_BESIDE_H
#define KERNSMITH_BESIDE_H

struct beside {
	long long asleep;	/* nanoseconds since the boot that the machine slept */
	double busy;		/* seconds that all processors have worked since the boot */
	double own;		/* of these, for the runner's children that have ended */
};

/*
 * How many people are at work on the machine: sessions with a terminal or a display. What ssh runs
 * without one, as kernsmith does, is none.
 */
int people(void);

void beside_look(struct beside *seen);

#endif
