// SPDX-License-Identifier: GPL-2.0-or-later
#include "algorithm.h"

#include "failure.h"

#include <linux/if_alg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int with_key(int fd, const char *type, const char *name, const void *key, size_t key_size)
{
	struct sockaddr_alg address = { .salg_family = AF_ALG };

	snprintf((char *)address.salg_type, sizeof(address.salg_type), "%s", type);
	snprintf((char *)address.salg_name, sizeof(address.salg_name), "%s", name);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return failed(name);
	if (key_size && setsockopt(fd, SOL_ALG, ALG_SET_KEY, key, (socklen_t)key_size))
		return failed("ALG_SET_KEY");
	return 0;
}

int algorithm_open(const char *type, const char *name, const void *key, size_t key_size, int *fd)
{
	int transform = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (transform < 0)
		return failed("socket AF_ALG");
	int error = with_key(transform, type, name, key, key_size);

	if (!error) {
		*fd = accept4(transform, NULL, NULL, SOCK_CLOEXEC);
		if (*fd < 0)
			error = failed("accept");
	}
	close(transform);
	return error;
}
