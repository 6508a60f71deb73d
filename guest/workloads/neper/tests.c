// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * neper's tcp_rr, tcp_crr, udp_rr and tcp_stream with one flow and with many, on the loopback device,
 * between two network namespaces, and through a router that masquerades.
 */
#include "client.h"
#include "nat.h"
#include "workload.h"

#include <sys/socket.h>

#define NEEDS "CONFIG_INET CONFIG_EPOLL"
#define VETH_NEEDS NEEDS " CONFIG_NET_NS CONFIG_VETH"
#define ROUTER_NEEDS "CONFIG_EPOLL " NAT_NEEDS

/* One test in one place; `prepare` uses `place`. */
#define TEST(identifier, title, set, in, need, text, count, play, prepare)		\
	static int set_up_##identifier(void)						\
	{										\
		const enum place place = in;						\
											\
		return prepare;								\
	}										\
	WORKLOAD(identifier) = {							\
		.name = title,								\
		.sets = set,								\
		.description = text,							\
		.needs = need,								\
		.rounds = count,							\
		.warmup = count / 10,							\
		.application = 64,							\
		.set_up = set_up_##identifier,						\
		.round = play,								\
		.tear_down = client_tear_down,						\
	}

/* The same test in all places. */
#define TESTS(identifier, title, text, count, play, prepare)				\
	TEST(identifier, title, "neper", LOOPBACK, NEEDS, text " on the loopback device",	\
	     count, play, prepare);							\
	TEST(identifier##_veth, title "-veth", "neper-veth", VETH, VETH_NEEDS,		\
	     text " between two network namespaces", count, play, prepare);		\
	TEST(identifier##_nat, title "-nat", "neper-nat", NAT, ROUTER_NEEDS,		\
	     text " through a router that masquerades", count, play, prepare)

TESTS(tcp_rr, "neper-tcp-rr", "tcp_rr: requests and answers of one byte over TCP, one flow,", 1000,
      client_requests, client_set_up(place, SOCK_STREAM, 1));
TESTS(tcp_rr_many, "neper-tcp-rr-many", "tcp_rr: requests and answers of one byte over TCP, 100 flows,",
      20, client_requests, client_set_up(place, SOCK_STREAM, MANY_FLOWS));
TESTS(tcp_crr, "neper-tcp-crr",
      "tcp_crr: a connection for each request and answer of one byte, one flow,",
      300, client_fresh_requests, client_set_up_fresh(place, 1));
TESTS(tcp_crr_many, "neper-tcp-crr-many",
      "tcp_crr: a connection for each request and answer of one byte, 100 flows,", 10,
      client_fresh_requests, client_set_up_fresh(place, MANY_FLOWS));
TESTS(udp_rr, "neper-udp-rr", "udp_rr: requests and answers of one byte over UDP, one flow,", 1500,
      client_requests, client_set_up(place, SOCK_DGRAM, 1));
TESTS(udp_rr_many, "neper-udp-rr-many", "udp_rr: requests and answers of one byte over UDP, 100 flows,",
      20, client_requests, client_set_up(place, SOCK_DGRAM, MANY_FLOWS));
TESTS(tcp_stream, "neper-tcp-stream", "tcp_stream: pieces of 16 KiB over TCP, one flow,", 1500,
      client_stream, client_set_up_stream(place, 1));
TESTS(tcp_stream_many, "neper-tcp-stream-many", "tcp_stream: pieces of 16 KiB over TCP, 100 flows,", 20,
      client_stream, client_set_up_stream(place, MANY_FLOWS));
