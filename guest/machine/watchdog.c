// SPDX-License-Identifier: GPL-2.0-or-later
#include "watchdog.h"

#include <fcntl.h>
#include <linux/watchdog.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int device = -1;

void watchdog_open(void)
{
	int seconds = 60;

	device = open("/dev/watchdog", O_WRONLY | O_CLOEXEC);
	if (device >= 0)
		ioctl(device, WDIOC_SETTIMEOUT, &seconds);
}

void watchdog_touch(void)
{
	if (device >= 0)
		ioctl(device, WDIOC_KEEPALIVE, 0);
}

void watchdog_close(void)
{
	if (device < 0)
		return;
	/* The magic letter (Documentation/watchdog/watchdog-api.rst): this is no death. */
	if (write(device, "V", 1) != 1)
		watchdog_touch();
	close(device);
	device = -1;
}
