// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "partner.h"
#include "transfer.h"
#include "workload.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LARGEST = 8192, ROUNDS_PER_CONNECTION = 16 };

static struct sockaddr_un address;
static socklen_t address_size;
static int listener = -1, connection = -1;
static char buffer[LARGEST];

static size_t size_of(unsigned number)
{
	static const size_t sizes[] = { 16, 256, 1500, 16, 4096, 64, LARGEST };

	return sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* Serves one connection after the other; an empty one is the sign to stop. */
static int echo(int unused)
{
	char copy[LARGEST];

	(void)unused;
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		ssize_t length;
		bool empty = true;

		if (fd < 0)
			return errno;
		while ((length = recv(fd, copy, sizeof(copy), 0)) > 0) {
			empty = false;
			if (send(fd, copy, (size_t)length, MSG_NOSIGNAL) != length)
				return EIO;
		}
		close(fd);
		if (length < 0 || empty)
			return length ? EIO : 0;
	}
}

/* An abstract address: no file is left behind. */
static int set_up(void)
{
	address.sun_family = AF_UNIX;
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			      "kernsmith-%d", (int)getpid());

	address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0)
		return failed("socket");
	if (bind(listener, (struct sockaddr *)&address, address_size))
		return failed("bind");
	if (listen(listener, 4))
		return failed("listen");
	return partner_start(echo, 0);
}

static int reconnect(void)
{
	if (connection >= 0)
		close(connection);
	connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection < 0)
		return failed("socket");
	if (connect(connection, (struct sockaddr *)&address, address_size))
		return failed("connect");
	return 0;
}

static int play(unsigned number)
{
	size_t size = size_of(number);
	int error = 0;

	if (connection < 0 || number % ROUNDS_PER_CONNECTION == 0)
		error = reconnect();
	if (error)
		return error;
	pattern_fill(buffer, size, number);
	error = send_all(connection, buffer, size);
	if (error)
		return error;
	pattern_fill(buffer, size, ~number);
	error = receive_all(connection, buffer, size);
	if (!error && !pattern_matches(buffer, size, number))
		error = wrong("echo through a unix socket");
	return error;
}

static void tear_down(void)
{
	reconnect();
	close(connection);
	close(listener);
}

WORKLOAD(unix_socket) = {
	.name = "unix-socket",
	.sets = "lab ipc net",
	.description = "Round trips over unix stream sockets, 16 bytes to 8 KiB, 16 to a connection",
	.needs = "CONFIG_UNIX",
	.rounds = 1800,
	.warmup = 160,
	.application = 64,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
