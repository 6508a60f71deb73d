// SPDX-License-Identifier: GPL-2.0-or-later
#include "place.h"

#include "device.h"
#include "failure.h"
#include "namespace.h"
#include "router.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Indices that no kernel has given to devices which it makes itself in each new namespace. */
enum { INDEX = 100, BACKLOG = 1024 };

static const struct device of_client = { "eth0", INDEX, 1, "192.168.1.1" };
static const struct device of_server = { "eth0", INDEX, 2, "192.168.1.2" };

static enum place where;
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

/* Has a socket wait for connections, or datagrams. */
static int wait_at(const char *host, int type, int fd, struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = inet_addr(host),
	};
	if (bind(fd, (struct sockaddr *)address, size))
		return failed("bind");
	if (type == SOCK_STREAM && listen(fd, BACKLOG))
		return failed("listen");
	return getsockname(fd, (struct sockaddr *)address, &size) ? failed("getsockname") : 0;
}

static int listen_at(const char *host, int type, int *fd, struct sockaddr_in *address)
{
	*fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *fd < 0 ? failed("socket") : wait_at(host, type, *fd, address);
}

static int between_namespaces(int type, int *fd, struct sockaddr_in *address)
{
	int error = connect_both();

	if (!error)
		error = listen_at(of_server.address, type, fd, address);
	if (!error)
		error = namespace_enter(client);
	return error ? error : device_up(&of_client);
}

/* The client's network namespace is that of a socket of its. */
static int enter_client(int socket)
{
	client = ioctl(socket, SIOCGSKNS);
	close(socket);
	return client < 0 ? failed("SIOCGSKNS") : namespace_enter(client);
}

static int behind_router(int type, int *fd, struct sockaddr_in *address)
{
	int near = -1;
	int error = router_set_up();

	if (!error)
		error = router_sockets(type | SOCK_NONBLOCK, &near, fd);
	if (!error)
		error = wait_at(SERVER_ADDRESS, type, *fd, address);
	return error ? error : enter_client(near);
}

int place_server(enum place place, int type, int *fd, struct sockaddr_in *address)
{
	where = place;
	if (where == NAT)
		return behind_router(type, fd, address);
	if (where == VETH)
		return between_namespaces(type, fd, address);
	return listen_at("127.0.0.1", type, fd, address);
}

bool place_expects(const struct sockaddr_in *peer)
{
	return where != NAT || peer->sin_addr.s_addr == inet_addr(ROUTER_ADDRESS);
}

void place_tear_down(void)
{
	if (where == NAT)
		router_tear_down();
	if (client >= 0)
		close(client);
	if (server >= 0)
		close(server);
}
