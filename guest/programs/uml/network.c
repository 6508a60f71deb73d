// SPDX-License-Identifier: GPL-2.0-or-later
/* Sockets over the loopback device, local ones, and the messages that tell of routes. */
#include "../program.h"

#include "calls.h"
#include "filter.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { SERVICE = 7000, STREAM = 7100, PACKETS = 7200 };

static long listener, client, server;

static struct sockaddr_in loopback(unsigned port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static void set(long fd, int level, int option, int value)
{
	call(SYS_setsockopt, fd, level, option, AT(&value), sizeof(value));
}

/* A socket at a port of its own: which one the kernel would choose depends on what was before. */
static long at_port(int type, unsigned port)
{
	struct sockaddr_in address = loopback(port);
	long fd = call(SYS_socket, AF_INET, type, 0);

	set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	call(SYS_bind, fd, AT(&address), sizeof(address));
	return fd;
}

static long connected(unsigned from, unsigned to)
{
	struct sockaddr_in address = loopback(to);
	long fd = at_port(SOCK_STREAM, from);

	call(SYS_connect, fd, AT(&address), sizeof(address));
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	return fd;
}

/* Without waiting for what is still under way: nothing of it stays. */
static void reset(long fd)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	call(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, AT(&linger), sizeof(linger));
	call(SYS_close, fd);
}

static int up(const char *device)
{
	struct ifreq request = { .ifr_flags = IFF_UP | IFF_RUNNING };
	long fd = call(SYS_socket, AF_INET, SOCK_DGRAM, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	call(SYS_ioctl, fd, SIOCSIFFLAGS, AT(&request));
	return (int)call(SYS_close, fd);
}

int set_up_network(void)
{
	up("lo");
	if (filter_packets())
		return -1;
	listener = at_port(SOCK_STREAM, SERVICE);
	call(SYS_listen, listener, 16);
	client = connected(STREAM, SERVICE);
	server = call(SYS_accept4, listener, 0, 0, 0);
	set(server, IPPROTO_TCP, TCP_NODELAY, 1);
	return 0;
}

/* Questions and answers of different sizes on one connection. */
uint64_t tcp_stream(unsigned number)
{
	struct pollfd ready[2] = {
		{ .fd = (int)server, .events = POLLIN }, { .fd = (int)client, .events = POLLIN },
	};
	uint64_t sum = 0;

	for (unsigned i = 0; i < 8; i++) {
		long size = 1 + (long)(number * 37 + i * i * 61) % 2500;

		call(SYS_sendto, client, AT(out), size, 0, 0, 0);
		sum = sum * 5 + (uint64_t)call(SYS_poll, AT(ready), 2, 0);
		for (long left = size; left > 0;)
			left -= call(SYS_recvfrom, server, AT(in), left < 1400 ? left : 1400, 0, 0, 0);
		call(SYS_write, server, AT(out + size), 20 + i);
		sum += (uint64_t)call(SYS_read, client, AT(in), 100);
		sum = fold(sum, in, 20);
	}
	return sum;
}

uint64_t tcp_connections(unsigned number)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 3; i++) {
		struct sockaddr_in peer;
		socklen_t size = sizeof(peer);
		long from = connected(STREAM + 1 + i, SERVICE);
		long to = call(SYS_accept4, listener, AT(&peer), AT(&size), SOCK_CLOEXEC);

		sum = sum * 7 + ntohs(peer.sin_port);
		call(SYS_write, from, AT(out), 200 + (number + i) % 100);
		sum += (uint64_t)call(SYS_read, to, AT(in), 1000);
		call(SYS_getsockname, to, AT(&peer), AT(&size));
		call(SYS_write, to, AT(out), 1100);
		sum += (uint64_t)call(SYS_read, from, AT(in), 2000);
		call(SYS_shutdown, from, SHUT_WR);
		sum += (uint64_t)call(SYS_read, to, AT(in), 10);
		reset(to);
		reset(from);
	}
	return sum;
}

uint64_t udp_packets(unsigned number)
{
	struct sockaddr_in address = loopback(PACKETS + 1);
	long one = at_port(SOCK_DGRAM, PACKETS), other = at_port(SOCK_DGRAM, PACKETS + 1);
	char control[128];
	uint64_t sum = 0;

	set(other, IPPROTO_IP, IP_PKTINFO, 1);
	for (unsigned i = 0; i < 8; i++) {
		struct iovec part = { in, 1500 };
		struct msghdr message = {
			.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};

		call(SYS_sendto, one, AT(out + i), 40 + (number * 13 + i * 97) % 1200, 0,
		     AT(&address), sizeof(address));
		sum = sum * 3 + (uint64_t)call(SYS_recvmsg, other, AT(&message), 0);
		sum = fold(sum, in, 16) + message.msg_controllen;
	}
	call(SYS_connect, one, AT(&address), sizeof(address));
	for (unsigned i = 0; i < 4; i++) {
		call(SYS_write, one, AT(out), 300);
		sum += (uint64_t)call(SYS_read, other, AT(in), 1500);
	}
	call(SYS_close, one);
	call(SYS_close, other);
	return sum;
}

/* A file handed over with a message: who gets it reads by its own number. */
static uint64_t handed_over(const int pair[2], long file)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec part = { out, 5 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int got = (int)file;

	memcpy(CMSG_DATA(&control.header), &got, sizeof(got));
	call(SYS_sendmsg, pair[0], AT(&message), 0);
	part = (struct iovec){ in, 100 };
	message.msg_controllen = sizeof(control);
	long size = call(SYS_recvmsg, pair[1], AT(&message), 0);

	memcpy(&got, CMSG_DATA(&control.header), sizeof(got));
	call(SYS_close, got);
	return (uint64_t)size;
}

uint64_t local_sockets(unsigned number)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "service" };
	long service = call(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	uint64_t sum = 0;
	int pair[2];

	call(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, AT(pair));
	for (unsigned i = 0; i < 6; i++) {
		call(SYS_write, pair[0], AT(out), 30 + (number + i * 71) % 900);
		sum = sum * 3 + (uint64_t)call(SYS_read, pair[1], AT(in), 1000);
	}
	sum += handed_over(pair, service);
	call(SYS_bind, service, AT(&name), sizeof(name));
	call(SYS_listen, service, 4);
	for (unsigned i = 0; i < 2; i++) {
		long from = call(SYS_socket, AF_UNIX, SOCK_STREAM, 0), to;

		call(SYS_connect, from, AT(&name), sizeof(name));
		to = call(SYS_accept4, service, 0, 0, 0);
		call(SYS_write, from, AT(out), 1200);
		sum += (uint64_t)call(SYS_read, to, AT(in), 2000);
		call(SYS_close, from);
		call(SYS_close, to);
	}
	call(SYS_close, service);
	call(SYS_close, pair[0]);
	call(SYS_close, pair[1]);
	call(SYS_unlink, AT("service"));
	return sum;
}

/* Dumps of devices, addresses, routes and rules. */
uint64_t routing_messages(unsigned number)
{
	static const uint16_t dumps[] = { RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE, RTM_GETNEIGH };
	long fd = call(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	uint64_t sum = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct {
			struct nlmsghdr header;
			struct rtgenmsg family;
		} request = {
			{ sizeof(request), dumps[(number + i) % 4], NLM_F_REQUEST | NLM_F_DUMP, i, 0 },
			{ AF_INET },
		};
		int over = 0;

		call(SYS_sendto, fd, AT(&request), sizeof(request), 0, 0, 0);
		while (!over) {
			unsigned size = (unsigned)call(SYS_recvfrom, fd, AT(in), BUFFER, 0, 0, 0);
			const struct nlmsghdr *message = (const struct nlmsghdr *)in;

			for (; NLMSG_OK(message, size); message = NLMSG_NEXT(message, size)) {
				sum = sum * 3 + message->nlmsg_type;
				over |= message->nlmsg_type == NLMSG_DONE;
			}
		}
	}
	call(SYS_close, fd);
	return sum;
}
