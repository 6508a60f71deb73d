/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KERNSMITH_INIT_H
#define KERNSMITH_INIT_H

/*
 * The duties of process 1: mount file systems, bring the loopback device up, run the workload that
 * the kernel command line names (kernsmith.workload=, kernsmith.rounds=, kernsmith.warmup=), and
 * reboot, which ends the virtual machine.
 */
_Noreturn void init(void);

#endif
