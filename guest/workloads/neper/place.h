/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where client and server are: both on the loopback device, or with a pair of veth devices between. */
#ifndef KERNSMITH_NEPER_PLACE_H
#define KERNSMITH_NEPER_PLACE_H

#include <netinet/in.h>
#include <stdbool.h>

/*
 * Makes a socket of the server's, bound to `address`, which is filled in, and waiting for connections
 * if it is a stream. Afterwards this process is where the client is. 0, or an errno.
 */
int place_server(bool veth, int type, int *fd, struct sockaddr_in *address);

void place_tear_down(void);

#endif
