// SPDX-License-Identifier: GPL-2.0-or-later
#include "nat.h"

#include "failure.h"
#include "partner.h"
#include "router.h"
#include "transfer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	LARGEST = 1500,
	IP_HEADER = 20,
	UDP_HEADER = 8,
	TCP_HEADER = 32,	/* with time stamps, in every packet but the first ones */
	CLIENT_PORT = 5001,
	SERVER_PORT = 5201,
	PATIENCE = 5,		/* seconds, for what takes microseconds */
};

/* What the server says of the packets that it has received since the beginning. */
struct receipt {
	uint32_t round;
	uint32_t packets;
};

static int kind;
static size_t payload;
static int client = -1, server = -1;
static char buffer[LARGEST];

/* Datagrams are counted as they are read, which for a stream says nothing: so ask the socket. */
static int count_packets(int fd, uint32_t *packets)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	if (kind == SOCK_DGRAM) {
		*packets += NAT_PACKETS;
		return 0;
	}
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		return errno;
	*packets = info.tcpi_data_segs_in;
	return 0;
}

/* The server: an empty packet, or the end of the stream, is the sign to stop. */
static int serve(int fd)
{
	static char piece[LARGEST];
	struct receipt receipt = { 0, 0 };

	close(client);
	for (;; receipt.round++) {
		for (unsigned i = 0; i < NAT_PACKETS; i++) {
			ssize_t length = recv(fd, piece, payload, MSG_WAITALL);

			if (length <= 0)
				return length ? errno : 0;
			if ((size_t)length != payload)
				return EIO;
			if (!pattern_matches(piece, payload, receipt.round * NAT_PACKETS + i))
				return EBADMSG;
		}
		int error = count_packets(fd, &receipt.packets);

		if (error)
			return error;
		if (send(fd, &receipt, sizeof(receipt), MSG_NOSIGNAL) != sizeof(receipt))
			return EIO;
	}
}

static struct sockaddr_in address_of(const char *host, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = inet_addr(host),
		.sin_port = htons(port),
	};
}

/* Fixed ports and no waiting: not for more data, and not for ever. */
static int prepare(int fd, const char *host, uint16_t port)
{
	struct sockaddr_in own = address_of(host, port);
	struct timeval patience = { .tv_sec = PATIENCE };
	int on = 1;

	if (bind(fd, (struct sockaddr *)&own, sizeof(own)))
		return failed("bind");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return failed("setsockopt");
	if (kind == SOCK_STREAM && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		return failed("setsockopt");
	return 0;
}

/* Instead of the listening socket, the connection that it has accepted. */
static int accept_client(struct sockaddr_in *peer)
{
	socklen_t size = sizeof(*peer);
	int listener = server;

	server = accept4(listener, (struct sockaddr *)peer, &size, SOCK_CLOEXEC);
	int error = server < 0 ? failed("accept") : 0;

	close(listener);
	return error;
}

/* A first datagram, from whose sender alone the server will take more. */
static int greet_server(struct sockaddr_in *peer)
{
	socklen_t size = sizeof(*peer);
	char greeting = 0;

	if (send(client, &greeting, sizeof(greeting), 0) != sizeof(greeting))
		return failed("send of a greeting");
	if (recvfrom(server, &greeting, sizeof(greeting), 0, (struct sockaddr *)peer, &size) < 0)
		return failed("receive a greeting");
	return connect(server, (struct sockaddr *)peer, size) ? failed("connect") : 0;
}

static int connect_both(struct sockaddr_in *peer)
{
	struct sockaddr_in far = address_of(SERVER_ADDRESS, SERVER_PORT);

	if (kind == SOCK_STREAM && listen(server, 1))
		return failed("listen");
	if (connect(client, (struct sockaddr *)&far, sizeof(far)))
		return failed("connect to the server");
	return kind == SOCK_STREAM ? accept_client(peer) : greet_server(peer);
}

int nat_set_up(int type, size_t bytes)
{
	struct sockaddr_in peer = { 0 };

	kind = type;
	payload = bytes - IP_HEADER - (type == SOCK_STREAM ? TCP_HEADER : UDP_HEADER);
	int error = router_set_up();

	if (!error)
		error = router_sockets(type, &client, &server);
	if (!error)
		error = prepare(client, "0.0.0.0", CLIENT_PORT);
	if (!error)
		error = prepare(server, SERVER_ADDRESS, SERVER_PORT);
	if (!error)
		error = connect_both(&peer);
	if (!error && peer.sin_addr.s_addr != inet_addr(ROUTER_ADDRESS))
		error = wrong("the server sees the client's own address: nothing is masqueraded");
	if (!error)
		error = partner_start(serve, server);
	close(server);
	return error;
}

int nat_round(unsigned number)
{
	struct receipt receipt;

	for (unsigned i = 0; i < NAT_PACKETS; i++) {
		pattern_fill(buffer, payload, number * NAT_PACKETS + i);
		int error = send_all(client, buffer, payload);

		if (error)
			return error;
	}
	int error = receive_all(client, &receipt, sizeof(receipt));

	if (!error && receipt.round != number)
		error = wrong("round of a receipt");
	/* A packet may be repeated on a machine that stalls; two of them must never become one. */
	if (!error && receipt.packets < (number + 1) * NAT_PACKETS)
		error = wrong("number of packets that went through the router");
	return error;
}

void nat_tear_down(void)
{
	if (kind == SOCK_DGRAM)
		send(client, NULL, 0, 0);
	close(client);
	router_tear_down();
}
