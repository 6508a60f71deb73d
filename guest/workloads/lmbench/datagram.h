/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDP over the loopback device. */
#ifndef KERNSMITH_LMBENCH_DATAGRAM_H
#define KERNSMITH_LMBENCH_DATAGRAM_H

/* Two sockets, each of them connected to the other, that wait for seconds at most: 0, or an errno. */
int datagram_pair(int *near, int *far);

#endif
