// SPDX-License-Identifier: GPL-2.0-or-later
#include "init.h"

#include "failure.h"
#include "runner.h"
#ifdef KERNSMITH_TIMED
#include "timed/session.h"
#endif
#ifdef KERNSMITH_SNAPSHOT
#include "snapshot/snapshot.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

static int mount_all(void)
{
	if (mount("proc", "/proc", "proc", 0, NULL))
		return failed("mount /proc");
	if (mount("sysfs", "/sys", "sysfs", 0, NULL))
		return failed("mount /sys");
	if (mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777"))
		return failed("mount /tmp");
	/* The initramfs has the nodes that are needed, should the kernel lack devtmpfs. */
	if (mount("devtmpfs", "/dev", "devtmpfs", 0, NULL) && errno != ENODEV)
		return failed("mount /dev");
	return 0;
}

static int loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		/* A kernel without IPv4, or without any network: for workloads that need none. */
		return errno == EAFNOSUPPORT || errno == ENOSYS ? 0 : failed("socket");
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	int error = ioctl(fd, SIOCSIFFLAGS, &request) ? failed("bring lo up") : 0;

	close(fd);
	return error;
}

#if !defined(KERNSMITH_TIMED) && !defined(KERNSMITH_SNAPSHOT)
/* The value of `key` (which ends in "=") on the kernel command line, in `value`; "" when absent. */
static void command_line_value(const char *line, const char *key, char *value, size_t size)
{
	const char *at = line;

	value[0] = '\0';
	while ((at = strstr(at, key))) {
		if (at == line || at[-1] == ' ') {
			at += strlen(key);
			snprintf(value, size, "%.*s", (int)strcspn(at, " \n"), at);
			return;
		}
		at++;
	}
}

static long number_or_default(const char *text)
{
	return *text ? strtol(text, NULL, 10) : -1;
}

static void run_from_command_line(void)
{
	char line[4096] = "", name[64], rounds[32], warmup[32];
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t length = read(fd, line, sizeof(line) - 1);

		line[length > 0 ? length : 0] = '\0';
		close(fd);
	}
	command_line_value(line, "kernsmith.workload=", name, sizeof(name));
	command_line_value(line, "kernsmith.rounds=", rounds, sizeof(rounds));
	command_line_value(line, "kernsmith.warmup=", warmup, sizeof(warmup));
	run_workload(name, number_or_default(rounds), number_or_default(warmup));
}

#endif

_Noreturn void init(void)
{
	int error = mount_all();

	if (!error)
		error = loopback_up();
	if (error)
		printf("kernsmith: end init status=%d %s\n", error, failure_text());
	else
#ifdef KERNSMITH_TIMED
		session();
#elif defined(KERNSMITH_SNAPSHOT)
		run_from_snapshot();
#else
		run_from_command_line();
#endif
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
