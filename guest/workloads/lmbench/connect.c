// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lmbench's lat_connect: a TCP connection to another process is made and closed. That process closes it
 * as soon as it has it, so that both keep in step and no port waits for its end on this side.
 */
#include "failure.h"
#include "partner.h"
#include "workload.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener = -1;
static struct sockaddr_in address;

/* Until nobody can connect any more, which accept() calls EINVAL. */
static int serve(int unused)
{
	(void)unused;
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return errno == EINVAL ? 0 : errno;
		close(fd);
	}
}

static int set_up(void)
{
	socklen_t size = sizeof(address);

	address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0)
		return failed("socket");
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4))
		return failed("bind or listen");
	if (getsockname(listener, (struct sockaddr *)&address, &size))
		return failed("getsockname");
	return partner_start(serve, 0);
}

static int play(unsigned number)
{
	char nothing;
	int error = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)number;
	if (fd < 0)
		return failed("socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		error = failed("connect");
	else if (read(fd, &nothing, sizeof(nothing)) != 0)
		error = wrong("end of a connection");
	close(fd);
	return error;
}

static void tear_down(void)
{
	shutdown(listener, SHUT_RDWR);
	close(listener);
}

WORKLOAD(tcp_connect) = {
	.name = "lmbench-tcp-connect",
	.sets = "lmbench",
	.description = "lat_connect: makes and closes TCP connections on the loopback device",
	.needs = "CONFIG_INET",
	.rounds = 400,
	.warmup = 32,
	.application = 128,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
