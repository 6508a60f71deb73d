// SPDX-License-Identifier: GPL-2.0-or-later
#include "beside.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <utmpx.h>

/* systemd's own notes of sessions (src/login/logind-session.c: session_save). */
static const char sessions[] = "/run/systemd/sessions/*";

static int has_seat(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[256];
	int found = 0;

	if (!file)
		return 0;
	while (!found && fgets(line, sizeof(line), file))
		found = (strncmp(line, "TTY=", 4) == 0 && line[4] != '\n') ||
			(strncmp(line, "DISPLAY=", 8) == 0 && line[8] != '\n') ||
			strcmp(line, "TYPE=wayland\n") == 0;
	fclose(file);
	return found;
}

static int in_sessions(void)
{
	glob_t all;
	int count = 0;

	if (glob(sessions, 0, NULL, &all) == 0)
		for (size_t i = 0; i < all.gl_pathc; i++)
			count += has_seat(all.gl_pathv[i]);
	globfree(&all);
	return count;
}

static int in_utmp(void)
{
	const struct utmpx *entry;
	int count = 0;

	setutxent();
	while ((entry = getutxent()))
		count += entry->ut_type == USER_PROCESS;
	endutxent();
	return count;
}

int people(void)
{
	int first = in_sessions(), second = in_utmp();

	return first > second ? first : second;
}

static long long since(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal, in ticks. */
static double worked(void)
{
	unsigned long long user = 0, nice = 0, kernel = 0, irq = 0, soft = 0;
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return 0;
	if (fscanf(file, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice, &kernel, &irq,
		   &soft) != 5)
		user = nice = kernel = irq = soft = 0;
	fclose(file);
	return (double)(user + nice + kernel + irq + soft) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

void beside_look(struct beside *seen)
{
	struct rusage children;

	getrusage(RUSAGE_CHILDREN, &children);
	seen->own = seconds(children.ru_utime) + seconds(children.ru_stime);
	seen->busy = worked();
	seen->asleep = since(CLOCK_BOOTTIME) - since(CLOCK_MONOTONIC);
}
