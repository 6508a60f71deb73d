// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A user's own workload: a program that came into the guest in OWN_FOLDER. Files there: `words`
 * (what to execute: words that each end with a zero byte), `status` (the exit status that it must
 * have, a number), `output` (what it must print, if that is checked).
 */
#include "failure.h"
#include "workload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_FOLDER "/workload"
#define PRINTED "/tmp/kernsmith-printed"
#define MOST_WORDS 256
#define CHUNK 65536

static char *arguments[MOST_WORDS + 1];
static int expected_status, expected = -1, printed = -1;

/* All of a file, with a zero byte behind it; NULL when it cannot be read. */
static char *whole_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat s;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &s) == 0 && (text = malloc((size_t)s.st_size + 1))) {
		ssize_t length = read(fd, text, (size_t)s.st_size);

		*size = length > 0 ? (size_t)length : 0;
		text[*size] = '\0';
	}
	close(fd);
	return text;
}

static int set_up(void)
{
	size_t size = 0, count = 0;
	char *words = whole_file(OWN_FOLDER "/words", &size);

	if (!words)
		return failed("open " OWN_FOLDER "/words");
	for (char *word = words; word < words + size && count < MOST_WORDS; word += strlen(word) + 1)
		arguments[count++] = word;
	char *status = whole_file(OWN_FOLDER "/status", &size);

	if (!count || !status)
		return wrong(OWN_FOLDER " has not all that it must have");
	expected_status = atoi(status);
	free(status);
	expected = open(OWN_FOLDER "/output", O_RDONLY | O_CLOEXEC);
	printed = open(PRINTED, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return printed < 0 ? failed("open " PRINTED) : 0;
}

static _Noreturn void execute(void)
{
	static char home[] = "HOME=/tmp", path[] = "PATH=" OWN_FOLDER;
	char *environment[] = { home, path, NULL };
	int nothing = open("/dev/null", O_RDONLY);

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(printed, STDOUT_FILENO) < 0 ||
	    chdir(OWN_FOLDER))
		_exit(126);
	execve(arguments[0], arguments, environment);
	_exit(127);
}

/* Whether the program has printed what it must: the same bytes, and no more. */
static int check_output(void)
{
	static char is[CHUNK], should_be[CHUNK];
	off_t at = 0;

	if (expected < 0)
		return 0;
	for (;;) {
		ssize_t one = pread(printed, is, CHUNK, at), other = pread(expected, should_be, CHUNK, at);

		if (one < 0 || other < 0)
			return failed("read what the program has printed");
		if (one != other || memcmp(is, should_be, (size_t)one) != 0)
			return wrong("the program printed something else than expected");
		if (one == 0)
			return 0;
		at += one;
	}
}

static int play(unsigned number)
{
	static char told[96];
	int status;

	(void)number;
	if (ftruncate(printed, 0) || lseek(printed, 0, SEEK_SET) < 0)
		return failed("empty " PRINTED);
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork");
	if (pid == 0)
		execute();
	if (waitpid(pid, &status, 0) != pid)
		return failed("waitpid");
	if (WIFSIGNALED(status)) {
		snprintf(told, sizeof(told), "the program was killed by signal %d", WTERMSIG(status));
		return wrong(told);
	}
	if (WEXITSTATUS(status) != expected_status) {
		snprintf(told, sizeof(told), "the program ended with status %d, not %d",
			 WEXITSTATUS(status), expected_status);
		return wrong(told);
	}
	return check_output();
}

/* What went wrong is told with the program's last words. */
static void tear_down(void)
{
	static char last[512];
	struct stat s;

	if (!*failure_text() || printed < 0 || fstat(printed, &s))
		return;
	off_t from = s.st_size > (off_t)sizeof(last) ? s.st_size - (off_t)sizeof(last) : 0;
	ssize_t length = pread(printed, last, sizeof(last), from);

	if (length > 0)
		printf("%.*s\n", (int)length, last);
}

static const struct workload own = {
	.name = "own",
	.application = 384,
	.rounds = 1,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};

/* The catalogue of this program: one workload, of any name. */
const struct workload *workload_find(const char *name)
{
	(void)name;
	return &own;
}

void workload_list(void)
{
	printf("{\"workloads\":[]}\n");
}
