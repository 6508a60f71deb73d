// SPDX-License-Identifier: GPL-2.0-or-later
#include "nat.h"
#include "workload.h"

#include <sys/socket.h>

#define NAT_WORKLOAD(protocol, type, size, packets)						\
	static int set_up_##protocol##_##size(void)						\
	{											\
		return nat_set_up(type, size);							\
	}											\
	WORKLOAD(nat_##protocol##_##size) = {							\
		.name = "nat-" #protocol "-" #size,						\
		.sets = "nat",									\
		.description = packets " through a router that masquerades, in network namespaces",	\
		.needs = NAT_NEEDS,								\
		.rounds = 250,									\
		.warmup = 25,									\
		.application = 96,								\
		.set_up = set_up_##protocol##_##size,						\
		.round = nat_round,								\
		.tear_down = nat_tear_down,							\
	}

NAT_WORKLOAD(tcp, SOCK_STREAM, 1500, "TCP packets of 1,500 bytes");
NAT_WORKLOAD(tcp, SOCK_STREAM, 64, "TCP packets of 64 bytes");
NAT_WORKLOAD(udp, SOCK_DGRAM, 1500, "UDP packets of 1,500 bytes");
NAT_WORKLOAD(udp, SOCK_DGRAM, 64, "UDP packets of 64 bytes");
