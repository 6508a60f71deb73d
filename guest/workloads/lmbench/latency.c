// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lmbench's lat_pipe, lat_unix, lat_tcp and lat_udp: a token of one byte (four by UDP) goes to another
 * process and back. A round is one round trip.
 */
#include "failure.h"
#include "datagram.h"
#include "loopback.h"
#include "partner.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* What this process reads and writes, and the other one; the same twice for sockets. */
static int from = -1, to = -1, their_from = -1, their_to = -1;

/* Sends every token back until there are no more. An empty datagram is the end, too. */
static int echo(int unused)
{
	uint32_t token;
	ssize_t length;

	(void)unused;
	close(from);
	if (to != from)
		close(to);
	while ((length = read(their_from, &token, sizeof(token))) > 0)
		if (write(their_to, &token, (size_t)length) != length)
			return EIO;
	return length ? errno : 0;
}

static int begin(int error)
{
	if (!error)
		error = partner_start(echo, 0);
	close(their_from);
	if (their_to != their_from)
		close(their_to);
	return error;
}

static int set_up_pipe(void)
{
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		return failed("pipe2");
	their_from = there[0];
	to = there[1];
	from = back[0];
	their_to = back[1];
	return begin(0);
}

static int set_up_unix(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return failed("socketpair");
	from = to = ends[0];
	their_from = their_to = ends[1];
	return begin(0);
}

static int set_up_tcp(void)
{
	int error = loopback_connect(&from, &their_from);

	to = from;
	their_to = their_from;
	return begin(error);
}

static int set_up_udp(void)
{
	int error = datagram_pair(&from, &their_from);

	to = from;
	their_to = their_from;
	return begin(error);
}

static int round_trip(uint32_t token, size_t size)
{
	uint32_t answer = 0;

	if (write(to, &token, size) != (ssize_t)size)
		return failed("write of a token");
	ssize_t length = read(from, &answer, sizeof(answer));

	if (length < 0)
		return failed("read of a token");
	return (size_t)length == size && answer == token ? 0 : wrong("a token's way back");
}

static int play(unsigned number)
{
	return round_trip(number & 0xff, 1);
}

static int play_udp(unsigned number)
{
	return round_trip(number, sizeof(uint32_t));
}

static void tear_down(void)
{
	close(from);
	if (to != from)
		close(to);
}

static void tear_down_udp(void)
{
	send(to, NULL, 0, 0);
	tear_down();
}

WORKLOAD(latency_pipe) = {
	.name = "lmbench-pipe-latency",
	.sets = "lmbench",
	.description = "lat_pipe: round trips of one byte between two processes through two pipes",
	.needs = "",
	.rounds = 2400,
	.warmup = 200,
	.application = 48,
	.set_up = set_up_pipe,
	.round = play,
	.tear_down = tear_down,
};

WORKLOAD(latency_tcp) = {
	.name = "lmbench-tcp-latency",
	.sets = "lmbench",
	.description = "lat_tcp: round trips of one byte over TCP on the loopback device",
	.needs = "CONFIG_INET",
	.rounds = 1200,
	.warmup = 100,
	.application = 64,
	.set_up = set_up_tcp,
	.round = play,
	.tear_down = tear_down,
};

WORKLOAD(latency_udp) = {
	.name = "lmbench-udp-latency",
	.sets = "lmbench",
	.description = "lat_udp: round trips of a word over UDP on the loopback device",
	.needs = "CONFIG_INET",
	.rounds = 1500,
	.warmup = 120,
	.application = 64,
	.set_up = set_up_udp,
	.round = play_udp,
	.tear_down = tear_down_udp,
};

WORKLOAD(latency_unix) = {
	.name = "lmbench-unix-latency",
	.sets = "lmbench",
	.description = "lat_unix: round trips of one byte through a unix stream socket",
	.needs = "CONFIG_UNIX",
	.rounds = 2400,
	.warmup = 200,
	.application = 64,
	.set_up = set_up_unix,
	.round = play,
	.tear_down = tear_down,
};
