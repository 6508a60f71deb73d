// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A user's own workload: a program that came into the guest in OWN_FOLDER, or one of the guest's root
 * file system. Files there: `words` (what to execute: words that each end with a zero byte), `set-up`
 * (the same, of what is executed once before: none, if it is empty), `status` (the exit status that
 * it must have, a number), `output` (what it must print, if that is checked), `metrics` (own/figures.h).
 */
#include "failure.h"
#include "own/figures.h"
#include "workload.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_FOLDER "/workload"
#define PRINTED "/tmp/kernsmith-printed"
#define PROGRAMS "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define MOST_WORDS 256
#define CHUNK 65536

static char *arguments[MOST_WORDS + 1];
static char program[PATH_MAX];
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

/* The words of a file, with NULL behind the last; they stay in memory. Returns how many. */
static size_t read_words(const char *path, char *words[MOST_WORDS + 1])
{
	size_t size = 0, count = 0;
	char *text = whole_file(path, &size);

	for (char *word = text; text && word < text + size && count < MOST_WORDS;
	     word += strlen(word) + 1)
		words[count++] = word;
	words[count] = NULL;
	return count;
}

/* Where a program is: a word without a slash is looked for where shells do. */
static int find_program(const char *word)
{
	static char told[96];
	const char *folder = PROGRAMS;

	if (strchr(word, '/')) {
		snprintf(program, sizeof(program), "%s", word);
		if (access(program, X_OK) == 0)
			return 0;
		folder = "";
	}
	while (*folder) {
		int length = (int)strcspn(folder, ":");

		snprintf(program, sizeof(program), "%.*s/%s", length, folder, word);
		if (access(program, X_OK) == 0)
			return 0;
		folder += length + (folder[length] == ':');
	}
	snprintf(told, sizeof(told), "the guest has no program %.60s", word);
	return wrong(told);
}

static _Noreturn void execute(char *const words[])
{
	static char home[] = "HOME=/tmp", path[] = "PATH=" PROGRAMS ":" OWN_FOLDER;
	static char language[] = "LC_ALL=C.UTF-8";
	static char metrics[] = "KERNSMITH_METRICS=" FIGURES;
	char *environment[] = { home, path, language, NULL, NULL };
	int nothing = open("/dev/null", O_RDONLY);

	if (access(OWN_METRICS, R_OK) == 0)
		environment[3] = metrics;
	signal(SIGPIPE, SIG_DFL);	/* which the runner ignores */
	if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(printed, STDOUT_FILENO) >= 0)
		execve(program, words, environment);
	perror(program);
	_exit(127);
}

/* Runs a program to its end. who: what a failure calls it. */
static int run(const char *who, char *const words[], int must_be)
{
	static char told[128];
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork");
	if (pid == 0)
		execute(words);
	if (waitpid(pid, &status, 0) != pid)
		return failed("waitpid");
	if (WIFSIGNALED(status))
		snprintf(told, sizeof(told), "%s was killed by signal %d", who, WTERMSIG(status));
	else if (WEXITSTATUS(status) != must_be)
		snprintf(told, sizeof(told), "%s ended with status %d, not %d", who,
			 WEXITSTATUS(status), must_be);
	else
		return 0;
	return wrong(told);
}

static int set_up(void)
{
	static char *words[MOST_WORDS + 1];
	size_t size = 0;
	char *status = whole_file(OWN_FOLDER "/status", &size);

	if (!status || !read_words(OWN_FOLDER "/words", arguments))
		return wrong(OWN_FOLDER " has not all that it must have");
	expected_status = atoi(status);
	free(status);
	expected = open(OWN_FOLDER "/output", O_RDONLY | O_CLOEXEC);
	printed = open(PRINTED, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (printed < 0)
		return failed("open " PRINTED);
	if (chdir(OWN_FOLDER))
		return failed(OWN_FOLDER);
	int error = 0;

	if (read_words(OWN_FOLDER "/set-up", words)) {
		error = find_program(words[0]);
		if (!error)
			error = run("the set-up", words, 0);
	}
	return error ? error : find_program(arguments[0]);
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
	(void)number;
	if (ftruncate(printed, 0) || lseek(printed, 0, SEEK_SET) < 0)
		return failed("empty " PRINTED);
	int error = run("the program", arguments, expected_status);

	return error ? error : check_output();
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
