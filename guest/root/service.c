// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What runs the workload where process 1 is the root's own systemd: a unit starts it when all others
 * are up. It does what init.c does as process 1, but mount and bring lo up, which systemd has done.
 */
#include "failure.h"
#ifdef KERNSMITH_SNAPSHOT
#include "snapshot/snapshot.h"
#endif
#include "runner.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <termios.h>
#include <unistd.h>

int main(void)
{
#ifdef KERNSMITH_SNAPSHOT
	run_from_snapshot();
#else
	char line[4096] = "", name[64] = "";
	long rounds = -1, warmup = -1;
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);

	line[length > 0 ? length : 0] = '\0';
	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		sscanf(word, "kernsmith.workload=%63s", name);
		sscanf(word, "kernsmith.rounds=%ld", &rounds);
		sscanf(word, "kernsmith.warmup=%ld", &warmup);
	}
	run_workload(name, rounds, warmup);
#endif
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	return failed("reboot");
}
