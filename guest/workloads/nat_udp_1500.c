// SPDX-License-Identifier: GPL-2.0-or-later
#include "nat.h"
#include "workload.h"

#include <sys/socket.h>

static int set_up(void)
{
	return nat_set_up(SOCK_DGRAM, 1500);
}

WORKLOAD(nat_udp_1500) = {
	.name = "nat-udp-1500",
	.sets = "nat",
	.description = "UDP packets of 1,500 bytes through a router that masquerades, in network namespaces",
	.needs = NAT_NEEDS,
	.rounds = 250,
	.warmup = 25,
	.application = 96,
	.set_up = set_up,
	.round = nat_round,
	.tear_down = nat_tear_down,
};
