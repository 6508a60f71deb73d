/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine's watchdog, if it has one that nobody else holds: it restarts the machine when a
 * workload has brought it to a stop.
 */
#ifndef KERNSMITH_WATCHDOG_H
#define KERNSMITH_WATCHDOG_H

#define WATCHDOG_PERIOD 10000	/* milliseconds between touches at most */

void watchdog_open(void);
void watchdog_touch(void);
void watchdog_close(void);

#endif
