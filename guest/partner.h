/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that a workload talks to. A partner ends when its end of the conversation is closed;
 * one that fails ends early, which the other side sees as the end of the conversation.
 */
#ifndef KERNSMITH_PARTNER_H
#define KERNSMITH_PARTNER_H

#include <time.h>

/* Forks; the child runs serve(argument) and exits with what it returns (0, or an errno). */
int partner_start(int (*serve)(int argument), int argument);

/* Waits for all partners. 0, or the errno that one of them ended with. */
int partners_wait(void);

/* CPU time of all partners so far. */
struct timespec partners_time(void);

#endif
