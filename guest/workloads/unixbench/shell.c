// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UnixBench's shell1 and shell8: a shell starts one script, or eight at once, each of which sorts a
 * text, dumps it, sorts the dump, looks for a word and counts. Shell and programs are those of busybox.
 */
#include "test.h"

#include "failure.h"
#include "transfer.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 30, WORDS = 9, ARGUMENTS = 4 };

#define BUSYBOX "/bin/busybox"

static const char *const programs[] = { "sh", "sort", "od", "grep", "tee", "wc", "rm", NULL };

/* What tst.sh of UnixBench does, with a check of what was counted. */
static const char one_script[] =
	"sort text >sort.$$ && od sort.$$ | sort -n -k 1 >od.$$ &&\n"
	"grep the sort.$$ | tee grep.$$ | wc >wc.$$ && read lines words bytes <wc.$$ &&\n"
	"rm sort.$$ grep.$$ od.$$ wc.$$ && [ $lines = %u ]\n";

/* What multi.sh of UnixBench does, with the exit status of each script. */
static const char all_scripts[] =
	"all=; i=1; while [ $i -le $1 ]; do sh one & all=\"$all $!\"; i=$((i + 1)); done\n"
	"for one in $all; do wait $one || exit 1; done\n";

static char folder[64], path[80];

static int write_file(const char *name, const char *content)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return failed(name);
	int error = send_all(fd, content, strlen(content));

	close(fd);
	return error;
}

/* A text of LINES lines; returns in how many of them "the" is. */
static unsigned make_text(char *text, size_t size)
{
	static const char *const words[] = {
		"inode", "the", "queue", "buffer", "page", "timer", "group", "lock", "node", "entry",
		"device", "socket", "frame", "state", "cache", "event", "packet", "index",
	};
	unsigned with_the = 0;
	uint32_t random = 1;
	size_t at = 0;

	for (unsigned line = 0; line < LINES; line++) {
		unsigned found = 0;

		for (unsigned i = 0; i < WORDS; i++) {
			random = random * 1664525u + 1013904223u;	/* Knuth, TAOCP 2, 3.3.4 */
			const char *word = words[(random >> 16) % (sizeof(words) / sizeof(*words))];

			found |= strcmp(word, "the") == 0;
			at += (size_t)snprintf(text + at, size - at, "%s ", word);
		}
		with_the += found;
		text[at - 1] = '\n';
	}
	return with_the;
}

static int make_links(void)
{
	if (access(BUSYBOX, X_OK))
		return failed(BUSYBOX " (of the package busybox-static)");
	for (const char *const *program = programs; *program; program++)
		if (symlink(BUSYBOX, *program))
			return failed(*program);
	return 0;
}

/* Texts, scripts and links to programs, in a folder of this process's own. */
static int set_up(void)
{
	static char text[LINES * WORDS * 8], script[sizeof(one_script) + 16];

	snprintf(folder, sizeof(folder), "/tmp/kernsmith-%d", (int)getpid());
	snprintf(path, sizeof(path), "PATH=%s", folder);
	if (mkdir(folder, 0700) || chdir(folder))
		return failed(folder);
	snprintf(script, sizeof(script), one_script, make_text(text, sizeof(text)));
	int error = make_links();

	if (!error)
		error = write_file("text", text);
	if (!error)
		error = write_file("one", script);
	return error ? error : write_file("all", all_scripts);
}

/* The shell's own shells are the same program. */
static int run_scripts(const char *count)
{
	static char shell[] = "sh", script[] = "all";
	char copy[8], *arguments[ARGUMENTS] = { shell, script, copy, NULL };
	char *environment[] = { path, NULL };
	int status;

	snprintf(copy, sizeof(copy), "%s", count);
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork");
	if (pid == 0) {
		execve(BUSYBOX, arguments, environment);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		return failed("waitpid");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : wrong("a shell's scripts");
}

static int loop_one(unsigned number)
{
	(void)number;
	return run_scripts("1");
}

static int loop_eight(unsigned number)
{
	(void)number;
	return run_scripts("8");
}

static void tear_down(void)
{
	static const char *const files[] = { "text", "one", "all", NULL };

	for (const char *const *file = files; *file; file++)
		unlink(*file);
	for (const char *const *program = programs; *program; program++)
		unlink(*program);
	if (*folder && chdir("/") == 0)
		rmdir(folder);
}

static const struct test one = {
	.loops = 1, .turns = 1, .set_up = set_up, .loop = loop_one, .tear_down = tear_down,
};
static const struct test eight = {
	.loops = 1, .turns = 1, .set_up = set_up, .loop = loop_eight, .tear_down = tear_down,
};

TEST(one, "unixbench-shell1", "CONFIG_BINFMT_ELF CONFIG_TMPFS",
     "Shell scripts: one that sorts, dumps, greps and counts", 10, 10);
TEST(eight, "unixbench-shell8", "CONFIG_BINFMT_ELF CONFIG_TMPFS",
     "Shell scripts: eight at once that sort, dump, grep and count", 5, 5);
