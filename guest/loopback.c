// SPDX-License-Identifier: GPL-2.0-or-later
#include "loopback.h"

#include "failure.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static int without_delay(int fd)
{
	int on = 1;

	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ? failed("setsockopt") : 0;
}

static int connect_to(int listener, int *near, int *far)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);

	if (bind(listener, (struct sockaddr *)&address, size))
		return failed("bind");
	if (listen(listener, 1))
		return failed("listen");
	if (getsockname(listener, (struct sockaddr *)&address, &size))
		return failed("getsockname");
	*near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*near < 0)
		return failed("socket");
	if (connect(*near, (struct sockaddr *)&address, size))
		return failed("connect");
	*far = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return *far < 0 ? failed("accept") : 0;
}

int loopback_connect(int *near, int *far)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0)
		return failed("socket");
	int error = connect_to(listener, near, far);

	close(listener);
	if (!error)
		error = without_delay(*near);
	if (!error)
		error = without_delay(*far);
	return error;
}
