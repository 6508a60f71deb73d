// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The runner of real machines (src/kernsmith/machine/ssh.py): the workloads of kernsmith-guest, what
 * is planned in a batch, and what the machine is like.
 */
#include "../failure.h"
#include "../nothing.h"
#include "batch.h"
#include "line.h"
#include "look.h"
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BUSY 3

static int usage(void)
{
	fputs("usage: kernsmith-runner look          what the machine is like\n"
	      "       kernsmith-runner run BATCH     all that is planned for the running kernel\n"
	      "       kernsmith-runner start BATCH SAID   the same in the background; errors go to SAID\n"
	      "       kernsmith-runner wait BATCH    until nothing runs any more\n"
	      "       kernsmith-runner next BATCH    the build id of the kernel to boot next\n",
	      stderr);
	return 2;
}

static int complain(void)
{
	fprintf(stderr, "kernsmith-runner: %s\n", failure_text());
	return 1;
}

static void read_boot(char *boot, size_t size)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, boot, size - 1);

	boot[length > 0 ? length : 0] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
	if (!*boot)
		snprintf(boot, size, "-");
	if (fd >= 0)
		close(fd);
}

static int run(const struct batch *batch)
{
	char boot[40], kernel[65];
	struct trial trial;
	int left;

	read_boot(boot, sizeof(boot));
	running_build_id(kernel, sizeof(kernel));
	int error = line_append(batch->results, "boot %s %s", boot, *kernel ? kernel : "-");

	while (!error && (left = batch_next(batch, kernel, &trial)))
		error = left < 0 ? -left : trial_run(batch, &trial, boot);
	return error ? complain() : 0;
}

/* The runner goes on when who started it, and the network, are gone. said: where errors go. */
static int run_behind(const struct batch *batch, const char *said)
{
	int errors = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (errors < 0) {
		failed(said);
		return complain();
	}
	pid_t child = fork();

	if (child < 0) {
		failed("fork");
		return complain();
	}
	if (child)
		return 0;
	setsid();
	int nothing = open("/dev/null", O_RDWR);

	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	return run(batch);
}

static int next(const struct batch *batch)
{
	struct trial trial;
	int found = batch_next(batch, NULL, &trial);

	if (found < 0)
		return complain();
	if (found)
		puts(trial.kernel);
	return 0;
}

int main(int argc, char **argv)
{
	struct batch batch;

	if (argc > 1 && strcmp(argv[1], NOTHING_OPTION) == 0)
		return NOTHING_STATUS;
	if (argc == 2 && strcmp(argv[1], "look") == 0) {
		look();
		return 0;
	}
	int behind = argc == 4 && strcmp(argv[1], "start") == 0;

	if (argc != 3 && !behind)
		return usage();
	if (batch_open(&batch, argv[2]))
		return complain();
	if (strcmp(argv[1], "next") == 0)
		return next(&batch);
	if (strcmp(argv[1], "wait") == 0)
		return flock(batch.folder, LOCK_SH) ? 1 : 0;
	if (strcmp(argv[1], "run") != 0 && !behind)
		return usage();
	if (flock(batch.folder, LOCK_EX | LOCK_NB)) {
		fputs("kernsmith-runner: the batch is being run already\n", stderr);
		return BUSY;
	}
	return behind ? run_behind(&batch, argv[3]) : run(&batch);
}
