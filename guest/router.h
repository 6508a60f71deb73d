/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Three hosts in one guest, each of them a network namespace: a client in a private network, a
 * router that masquerades what leaves for the outside, and a server there.
 *
 *	client                     router                       server
 *	192.168.1.2 eth0 --- lan 192.168.1.1
 *	                         wan 203.0.113.1 --- eth0 203.0.113.2
 *
 * The server knows a way back to the private network, which no server has: so a packet that was
 * not masqueraded arrives all the same, and is seen to come from the client.
 */
#ifndef KERNSMITH_ROUTER_H
#define KERNSMITH_ROUTER_H

#define ROUTER_ADDRESS "203.0.113.1"	/* as the server sees it */
#define SERVER_ADDRESS "203.0.113.2"

/* Both return 0, or an errno. The process is where it was before. */
int router_set_up(void);
int router_sockets(int type, int *client, int *server);

void router_tear_down(void);

#endif
