// SPDX-License-Identifier: GPL-2.0-or-later
#include "session.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { ORDER = 256, SAID = 1 << 16, NO_PROGRAM = 127 };

static const char clock_source[] =
	"/sys/devices/system/clocksource/clocksource0/current_clocksource";

static uint32_t crc32(const char *text, size_t length)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < length; i++) {
		crc ^= (unsigned char)text[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void say(const char *line, size_t length)
{
	printf("%.*s #%08x\n", (int)length, line, crc32(line, length));
}

/* Nothing is echoed, and every byte is what it is. */
static void quiet_line(void)
{
	struct termios line;

	if (tcgetattr(STDIN_FILENO, &line))
		return;
	cfmakeraw(&line);
	line.c_oflag |= OPOST | ONLCR;
	tcsetattr(STDIN_FILENO, TCSANOW, &line);
}

static void tell_clock(void)
{
	char name[64] = "unknown", line[128];
	int fd = open(clock_source, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t length = read(fd, name, sizeof(name) - 1);

		name[length > 0 ? length : 0] = '\0';
		name[strcspn(name, "\n")] = '\0';
		close(fd);
	}
	say(line, (size_t)snprintf(line, sizeof(line), "kernsmith: session clock=%s", name));
	fflush(stdout);
}

/* The workload's process, with what it says in a pipe; -1 where there is none. */
static pid_t start(const char *name, const char *rounds, const char *warmup, int *said)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid_t child = fork();

	if (child == 0) {
		/* Orders are not the workload's to read. */
		dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		execl("/proc/self/exe", "init", "--run", name, "--rounds", rounds, "--warmup",
		      warmup, (char *)NULL);
		_exit(NO_PROGRAM);
	}
	close(ends[1]);
	*said = ends[0];
	return child;
}

/* All that comes, as far as there is room; the rest is read and forgotten. */
static size_t listen_to(int said, char *text)
{
	char rest[4096];
	size_t length = 0;
	ssize_t got;

	do {
		size_t room = SAID - length;

		got = room ? read(said, text + length, room) : read(said, rest, sizeof(rest));
		length += room && got > 0 ? (size_t)got : 0;
	} while (got > 0);
	close(said);
	return length;
}

static int end_of(pid_t child)
{
	int status;
	pid_t ended;

	/* Process 1 is the parent of all that lost theirs. */
	do
		ended = waitpid(-1, &status, 0);
	while (ended > 0 && ended != child);
	if (ended < 0)
		return NO_PROGRAM;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void run(const char *number, const char *name, const char *rounds, const char *warmup)
{
	static char text[SAID];
	char last[128];
	int said = -1, count = 0, status = NO_PROGRAM;
	pid_t child = start(name, rounds, warmup, &said);
	size_t length = child < 0 ? 0 : listen_to(said, text);

	if (child > 0)
		status = end_of(child);
	for (char *line = text, *end; line < text + length; line = end + 1, count++) {
		end = memchr(line, '\n', (size_t)(text + length - line));
		if (!end)
			end = text + length;
		say(line, (size_t)(end - line));
	}
	length = (size_t)snprintf(last, sizeof(last), "kernsmith: ran %s lines=%d status=%d",
				  number, count, status);
	/* It is waited for: where the kernel has written into the first, there is the second. */
	say(last, length);
	say(last, length);
	fflush(stdout);
}

void session(void)
{
	char order[ORDER], number[16], name[64], rounds[16], warmup[16];

	quiet_line();
	tell_clock();
	while (fgets(order, sizeof(order), stdin))
		if (sscanf(order, "run %15s %63s %15s %15s", number, name, rounds, warmup) == 4)
			run(number, name, rounds, warmup);
}
