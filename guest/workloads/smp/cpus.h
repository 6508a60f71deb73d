/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two processes on two CPUs: a workload of this folder is its process 1, and a partner. */
#ifndef KERNSMITH_CPUS_H
#define KERNSMITH_CPUS_H

enum { FIRST, SECOND };

/* Binds this process to a CPU. 0, or an errno; one that is not there has failed. */
int bind_to(int cpu);

/* Binds this process to the first CPU, and starts a partner that serves on the second. */
int start_on_second(int (*serve)(int argument));

#endif
