// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs the kernel's own selftests, one after the other, and prints what each says as KTAP on the
 * console: `run PROGRAM…`, programs of the current folder. Each is a test of the report, with its own
 * tests below it. It ends with 0 whatever they say: who reads the report judges.
 *
 * A selftest ends with 4 where the kernel lacks what it is about (tools/testing/selftests/kselftest.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MOST_SECONDS = 20, /* of one program, by the guest's clock */
	SKIPPED = 4,
	INDENT = 4,
};

static FILE *console;

/* In the child: a group of its own, so that what it leaves behind can be ended with it. */
static _Noreturn void become(const char *program, int output)
{
	char path[256];

	setpgid(0, 0);
	if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(127);
	snprintf(path, sizeof(path), "./%s", program);
	execl(path, path, (char *)NULL);
	printf("# it cannot be started: %s\n", strerror(errno));
	fflush(stdout);
	_exit(127);
}

static volatile sig_atomic_t running;

static void too_late(int signal)
{
	(void)signal;
	if (running > 0)
		kill(-running, SIGKILL);
}

/* Copies lines to the console, farther right. */
static void copy(int input)
{
	char line[1024];
	FILE *lines = fdopen(input, "r");

	if (!lines)
		return;
	for (;;) {
		errno = 0;
		if (!fgets(line, sizeof(line), lines)) {
			if (ferror(lines) && errno == EINTR) {
				clearerr(lines);
				continue;
			}
			break;
		}
		fprintf(console, "%*s%s%s", INDENT, "", line, strchr(line, '\n') ? "" : "\n");
	}
	fclose(lines);
}

static void report(int number, const char *program, int status)
{
	if (WIFSIGNALED(status))
		fprintf(console, "%*s# killed by signal %d\nnot ok %d %s\n", INDENT, "", WTERMSIG(status),
			number, program);
	else if (WEXITSTATUS(status) == SKIPPED)
		fprintf(console, "ok %d %s # SKIP\n", number, program);
	else if (WEXITSTATUS(status))
		fprintf(console, "%*s# ended with status %d\nnot ok %d %s\n", INDENT, "",
			WEXITSTATUS(status), number, program);
	else
		fprintf(console, "ok %d %s\n", number, program);
	fflush(console);
}

static int run(int number, const char *program)
{
	int ends[2], status = 0;

	fprintf(console, "%*s# Subtest: %s\n", INDENT, "", program);
	fflush(console);
	if (pipe(ends))
		return -1;
	pid_t child = fork();
	if (child < 0)
		return -1;
	if (child == 0) {
		close(ends[0]);
		become(program, ends[1]);
	}
	close(ends[1]);
	setpgid(child, child);
	running = child;
	alarm(MOST_SECONDS);
	copy(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	alarm(0);
	running = 0;
	kill(-child, SIGKILL);
	report(number, program, status);
	return 0;
}

int main(int count, char **programs)
{
	struct sigaction late = {.sa_handler = too_late};

	sigaction(SIGALRM, &late, NULL);
	console = fopen("/dev/console", "w");
	if (!console) {
		perror("/dev/console");
		return 1;
	}
	/* Some look at themselves, or make files in memory. */
	mount("proc", "/proc", "proc", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	fprintf(console, "KTAP version 1\n1..%d\n", count - 1);
	for (int number = 1; number < count; number++) {
		if (run(number, programs[number])) {
			perror(programs[number]);
			return 1;
		}
	}
	fclose(console);
	return 0;
}
