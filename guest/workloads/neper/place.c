// SPDX-License-Identifier: GPL-2.0-or-later
#include "place.h"

#include "device.h"
#include "failure.h"
#include "namespace.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

/* Indices that no kernel has given to devices which it makes itself in each new namespace. */
enum { INDEX = 100, BACKLOG = 1024 };

static const struct device of_client = { "eth0", INDEX, 1, "192.168.1.1" };
static const struct device of_server = { "eth0", INDEX, 2, "192.168.1.2" };

static int client = -1, server = -1;	/* network namespaces */

/* Ends in the server's namespace. */
static int connect_both(void)
{
	int error = namespace_make(&client);

	if (!error)
		error = namespace_make(&server);
	if (!error)
		error = device_pair(&of_server, &of_client, client);
	return error ? error : device_up(&of_server);
}

static int listen_at(const char *host, int type, int *fd, struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = inet_addr(host),
	};
	*fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return failed("socket");
	if (bind(*fd, (struct sockaddr *)address, size))
		return failed("bind");
	if (type == SOCK_STREAM && listen(*fd, BACKLOG))
		return failed("listen");
	return getsockname(*fd, (struct sockaddr *)address, &size) ? failed("getsockname") : 0;
}

int place_server(bool veth, int type, int *fd, struct sockaddr_in *address)
{
	if (!veth)
		return listen_at("127.0.0.1", type, fd, address);
	int error = connect_both();

	if (!error)
		error = listen_at(of_server.address, type, fd, address);
	if (!error)
		error = namespace_enter(client);
	return error ? error : device_up(&of_client);
}

void place_tear_down(void)
{
	if (client >= 0)
		close(client);
	if (server >= 0)
		close(server);
}
