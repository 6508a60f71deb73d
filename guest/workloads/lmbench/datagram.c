// SPDX-License-Identifier: GPL-2.0-or-later
#include "datagram.h"

#include "failure.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { PATIENCE = 5 };	/* seconds, for what takes microseconds */

static int bound(int *fd, struct sockaddr_in *address)
{
	struct timeval patience = { .tv_sec = PATIENCE };
	socklen_t size = sizeof(*address);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return failed("socket");
	if (setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return failed("setsockopt");
	if (bind(*fd, (struct sockaddr *)address, size) ||
	    getsockname(*fd, (struct sockaddr *)address, &size))
		return failed("bind");
	return 0;
}

int datagram_pair(int *near, int *far)
{
	struct sockaddr_in here, there;
	int error = bound(near, &here);

	if (!error)
		error = bound(far, &there);
	if (!error && (connect(*near, (struct sockaddr *)&there, sizeof(there)) ||
		       connect(*far, (struct sockaddr *)&here, sizeof(here))))
		error = failed("connect");
	return error;
}
