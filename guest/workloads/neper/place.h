/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where client and server are, and what is between them. */
#ifndef KERNSMITH_NEPER_PLACE_H
#define KERNSMITH_NEPER_PLACE_H

#include <netinet/in.h>
#include <stdbool.h>

enum place {
	LOOPBACK,		/* the loopback device */
	VETH,			/* a pair of veth devices, between two network namespaces */
	NAT,			/* a router that masquerades (router.h) */
};

/*
 * Makes a socket of the server's, bound to `address`, which is filled in, and waiting for connections
 * if it is a stream. Afterwards this process is where the client is. 0, or an errno.
 */
int place_server(enum place place, int type, int *fd, struct sockaddr_in *address);

/* Whether the server may see such a peer: behind a router that masquerades, this router alone. */
bool place_expects(const struct sockaddr_in *peer);

void place_tear_down(void);

#endif
