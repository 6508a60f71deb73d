/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the workload `exec` executes: this program, which then ends at once. */
#ifndef KERNSMITH_NOTHING_H
#define KERNSMITH_NOTHING_H

#define NOTHING_OPTION "--nop"
#define NOTHING_STATUS 42

#endif
