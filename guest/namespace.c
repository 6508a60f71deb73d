// SPDX-License-Identifier: GPL-2.0-or-later
#include "namespace.h"

#include "failure.h"

#include <fcntl.h>
#include <sched.h>

int namespace_current(int *fd)
{
	*fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? failed("open the network namespace") : 0;
}

int namespace_make(int *fd)
{
	if (unshare(CLONE_NEWNET))
		return failed("make a network namespace");
	return namespace_current(fd);
}

int namespace_enter(int fd)
{
	return setns(fd, CLONE_NEWNET) ? failed("enter a network namespace") : 0;
}
