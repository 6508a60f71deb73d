/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A TCP connection over the loopback device, for the workloads of the network. */
#ifndef KERNSMITH_LOOPBACK_H
#define KERNSMITH_LOOPBACK_H

/* Both ends of a fresh connection without Nagle's delay: 0, or an errno. */
int loopback_connect(int *near, int *far);

#endif
