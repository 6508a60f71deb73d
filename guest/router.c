// SPDX-License-Identifier: GPL-2.0-or-later
#include "router.h"

#include "device.h"
#include "failure.h"
#include "masquerade.h"
#include "namespace.h"

#include <sys/socket.h>
#include <unistd.h>

/* Indices that no kernel has given to devices which it makes itself in each new namespace. */
enum { NEAR_INDEX = 100, FAR_INDEX = 101 };

static const struct device lan = { "lan", NEAR_INDEX, 1, "192.168.1.1" };
static const struct device wan = { "wan", FAR_INDEX, 2, ROUTER_ADDRESS };
static const struct device of_client = { "eth0", NEAR_INDEX, 3, "192.168.1.2" };
static const struct device of_server = { "eth0", NEAR_INDEX, 4, SERVER_ADDRESS };

static int home = -1, client = -1, router = -1, server = -1;

/* The client's or the server's end of a pair whose other end the router has. */
static int connect_host(int host, const struct device *device, const struct device *gateway)
{
	int error = namespace_enter(host);

	if (!error)
		error = device_up(device);
	if (!error)
		error = device_default_route(device, gateway->address);
	return error;
}

static int connect_router(void)
{
	int error = namespace_enter(router);

	if (!error)
		error = device_pair(&lan, &of_client, client);
	if (!error)
		error = device_pair(&wan, &of_server, server);
	if (!error)
		error = device_up(&lan);
	if (!error)
		error = device_up(&wan);
	if (!error)
		error = device_forwards(&lan);
	if (!error)
		error = device_forwards(&wan);
	if (!error)
		error = masquerade_at(wan.name);
	return error;
}

static int connect_all(void)
{
	int error = namespace_make(&client);

	if (!error)
		error = namespace_make(&server);
	if (!error)
		error = namespace_make(&router);
	if (!error)
		error = connect_router();
	if (!error)
		error = connect_host(client, &of_client, &lan);
	if (!error)
		error = connect_host(server, &of_server, &wan);
	return error;
}

/* What was begun elsewhere ends at home, whatever came of it. */
static int return_home(int error)
{
	int lost = namespace_enter(home);

	return error ? error : lost;
}

int router_set_up(void)
{
	int error = namespace_current(&home);

	return error ? error : return_home(connect_all());
}

static int socket_of(int host, int type, int *fd)
{
	int error = namespace_enter(host);

	if (error)
		return error;
	*fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	return *fd < 0 ? failed("socket") : 0;
}

int router_sockets(int type, int *of_the_client, int *of_the_server)
{
	int error = socket_of(client, type, of_the_client);

	if (!error)
		error = socket_of(server, type, of_the_server);
	return return_home(error);
}

void router_tear_down(void)
{
	close(client);
	close(router);
	close(server);
	close(home);
}
