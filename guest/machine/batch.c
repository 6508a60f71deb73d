// SPDX-License-Identifier: GPL-2.0-or-later
#include "batch.h"

#include "../failure.h"
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int batch_open(struct batch *batch, const char *path)
{
	batch->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (batch->folder < 0)
		return failed(path);
	batch->results = openat(batch->folder, "results", O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC,
				0644);
	if (batch->results < 0)
		return failed("the batch's results");
	return fsync(batch->folder) ? failed("fsync of the batch") : line_finish(batch->results);
}

/* A file of the batch, to be closed by the caller. */
static FILE *file(const struct batch *batch, const char *name)
{
	int fd = openat(batch->folder, name, O_RDONLY | O_CLOEXEC);
	FILE *opened = fd < 0 ? NULL : fdopen(fd, "r");

	if (!opened)
		failed(name);
	return opened;
}

static int has_begun(const struct batch *batch, const char *name)
{
	FILE *results = file(batch, "results");
	char line[LINE_SIZE], begun[65];
	int found = 0;

	if (!results)
		return -errno;
	while (!found && fgets(line, sizeof(line), results)) {
		const char *text = line_checked(line);

		found = text && sscanf(text, "begin %64s", begun) == 1 && strcmp(begun, name) == 0;
	}
	fclose(results);
	return found;
}

static int parse(const char *text, struct trial *trial)
{
	return sscanf(text, "trial %64s %64s %d %d %d %ld %ld %64s", trial->name, trial->kernel,
		      &trial->processor, &trial->runs, &trial->seconds, &trial->rounds,
		      &trial->warmup, trial->workload) == 8;
}

int batch_next(const struct batch *batch, const char *kernel, struct trial *trial)
{
	FILE *plan = file(batch, "plan");
	char line[LINE_SIZE];
	int found = 0;

	if (!plan)
		return -errno;
	while (!found && fgets(line, sizeof(line), plan)) {
		const char *text = line_checked(line);

		if (!text || !parse(text, trial))
			continue;
		if (kernel && strcmp(trial->kernel, "-") != 0 && strcmp(trial->kernel, kernel) != 0)
			continue;
		int begun = has_begun(batch, trial->name);

		if (begun < 0)
			found = begun;
		else
			found = !begun;
	}
	fclose(plan);
	return found;
}
