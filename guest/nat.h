/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets of one size through a router that masquerades (see router.h): what the workloads
 * nat-udp-64 and its like have in common. A round is NAT_PACKETS packets from the client to the
 * server, and a receipt back.
 */
#ifndef KERNSMITH_NAT_H
#define KERNSMITH_NAT_H

#include <stddef.h>

enum { NAT_PACKETS = 8 };

#define NAT_NEEDS "CONFIG_INET CONFIG_NET_NS CONFIG_VETH CONFIG_NF_CONNTRACK " \
		  "CONFIG_NF_TABLES CONFIG_NF_TABLES_IPV4 CONFIG_NFT_NAT CONFIG_NFT_MASQ"

/*
 * type: SOCK_DGRAM or SOCK_STREAM. bytes: of an IP packet with its headers, at most 1,500.
 * Fails if the server does not see the router as its peer.
 */
int nat_set_up(int type, size_t bytes);
int nat_round(unsigned number);
void nat_tear_down(void);

#endif
