// SPDX-License-Identifier: GPL-2.0-or-later
#include "nat.h"
#include "workload.h"

#include <sys/socket.h>

static int set_up(void)
{
	return nat_set_up(SOCK_STREAM, 64);
}

WORKLOAD(nat_tcp_64) = {
	.name = "nat-tcp-64",
	.sets = "nat",
	.description = "TCP packets of 64 bytes through a router that masquerades, in network namespaces",
	.needs = NAT_NEEDS,
	.rounds = 250,
	.warmup = 25,
	.application = 96,
	.set_up = set_up,
	.round = nat_round,
	.tear_down = nat_tear_down,
};
