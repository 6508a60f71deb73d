// SPDX-License-Identifier: GPL-2.0-or-later
/* lmbench's lat_fs: files of 0, 1, 4 and 10 KiB are made in one folder, and then deleted. */
#include "failure.h"
#include "transfer.h"
#include "workload.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KINDS = 4, FILES = 3 /* of each size */, LARGEST = 10240 };

static const size_t sizes[KINDS] = { 0, 1024, 4096, LARGEST };
static char folder[64], content[LARGEST];

static int set_up(void)
{
	snprintf(folder, sizeof(folder), "/tmp/kernsmith-%d", (int)getpid());
	if (mkdir(folder, 0700) || chdir(folder))
		return failed(folder);
	return 0;
}

static void name_of(char *name, size_t size, unsigned file)
{
	snprintf(name, size, "f%u", file);
}

static int create(unsigned file)
{
	size_t size = sizes[file / FILES];
	char name[16];

	name_of(name, sizeof(name), file);
	int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return failed("create");
	int error = size ? send_all(fd, content, size) : 0;

	if (close(fd) && !error)
		error = failed("close");
	return error;
}

/* One file of each size is looked at first. */
static int delete(unsigned file)
{
	struct stat status;
	char name[16];

	name_of(name, sizeof(name), file);
	if (file % FILES == 0 &&
	    (stat(name, &status) || status.st_size != (off_t)sizes[file / FILES]))
		return wrong("size of a file");
	return unlink(name) ? failed("unlink") : 0;
}

static int play(unsigned number)
{
	int error = 0;

	pattern_fill(content, LARGEST, number);
	for (unsigned i = 0; i < KINDS * FILES && !error; i++)
		error = create(i);
	for (unsigned i = 0; i < KINDS * FILES && !error; i++)
		error = delete(i);
	return error;
}

static void tear_down(void)
{
	if (*folder && chdir("/") == 0)
		rmdir(folder);
}

WORKLOAD(file_create) = {
	.name = "lmbench-file-create",
	.sets = "lmbench",
	.description = "lat_fs: makes and deletes files of 0, 1, 4 and 10 KiB on tmpfs",
	.needs = "CONFIG_TMPFS",
	.rounds = 160,
	.warmup = 14,
	.application = 256,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
