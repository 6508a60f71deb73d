// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "loopback.h"
#include "partner.h"
#include "transfer.h"
#include "workload.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGEST = 1400 };

static int near = -1, far = -1;
static char buffer[LARGEST];

static size_t size_of(unsigned number)
{
	static const size_t sizes[] = { 4, 100, LARGEST, 32, 600 };

	return sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
}

static int echo(int fd)
{
	char copy[LARGEST];
	ssize_t length;

	close(near);
	while ((length = recv(fd, copy, sizeof(copy), 0)) > 0)
		if (send(fd, copy, (size_t)length, MSG_NOSIGNAL) != length)
			return EIO;
	return length ? errno : 0;
}

static int set_up(void)
{
	int error = loopback_connect(&near, &far);

	if (!error)
		error = partner_start(echo, far);
	close(far);
	return error;
}

static int play(unsigned number)
{
	size_t size = size_of(number);

	pattern_fill(buffer, size, number);
	int error = send_all(near, buffer, size);

	if (error)
		return error;
	pattern_fill(buffer, size, ~number);
	error = receive_all(near, buffer, size);
	if (!error && !pattern_matches(buffer, size, number))
		error = wrong("echo over TCP");
	return error;
}

static void tear_down(void)
{
	close(near);
}

WORKLOAD(tcp_latency) = {
	.name = "tcp-latency",
	.sets = "lab net",
	.description = "Round trips over a TCP connection of the loopback device, 4 to 1400 bytes",
	.needs = "CONFIG_INET",
	.rounds = 1200,
	.warmup = 100,
	.application = 64,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
