// SPDX-License-Identifier: GPL-2.0-or-later
/* The format is that of Documentation/driver-api/early-userspace/buffer-format.rst. */
#include "snapshot.h"

#include "failure.h"
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 110, MODE = 1, SIZE = 6, NAME = 11 };

static const char disk[] = "/dev/mtdblock0", magic[] = "070701", last[] = "TRAILER!!!";

static char name[64];
static long rounds = -1, warmup = -1;

/* One of the thirteen numbers of a header, of eight digits each. */
static size_t number(const char *header, int which)
{
	char digits[9] = "";

	memcpy(digits, header + 6 + which * 8, 8);
	return strtoul(digits, NULL, 16);
}

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static int write_file(const char *path, const char *data, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0)
		return failed(path);
	int error = write(fd, data, size) == (ssize_t)size ? 0 : failed(path);

	close(fd);
	return error;
}

static int take_member(const char *path, const char *data, size_t size, mode_t mode)
{
	static char in_root[512];

	if (strcmp(path, "run") == 0)
		return sscanf(data, "%63s %ld %ld", name, &rounds, &warmup) == 3 ? 0 : wrong(path);
	snprintf(in_root, sizeof(in_root), "/%s", path);
	if (S_ISDIR(mode))
		return mkdir(in_root, mode & 07777) && errno != EEXIST ? failed(path) : 0;
	return write_file(in_root, data, size, mode & 07777);
}

static int take_all(const char *archive)
{
	const char *at = archive;

	while (at + HEADER < archive + WORKLOAD_BYTES && memcmp(at, magic, sizeof(magic) - 1) == 0) {
		const char *path = at + HEADER;
		size_t size = number(at, SIZE);
		const char *data = at + padded(HEADER + number(at, NAME));

		if (strcmp(path, last) == 0)
			return *name ? 0 : wrong("the disk says of no workload");
		if (size > (size_t)(archive + WORKLOAD_BYTES - data))
			break;
		int error = take_member(path, data, size, (mode_t)number(at, MODE));

		if (error)
			return error;
		at = data + padded(size);
	}
	return wrong("the disk has no workload behind its end");
}

/* Past the page cache, which may have what was there before. */
static int take_workload(void)
{
	int fd = open(disk, O_RDONLY | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		return failed(disk);
	off_t from = lseek(fd, 0, SEEK_END) - WORKLOAD_BYTES;
	char *archive = mmap(NULL, WORKLOAD_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error = 0;

	if (archive == MAP_FAILED)
		error = failed("memory for a workload");
	else if (pread(fd, archive, WORKLOAD_BYTES, from) != WORKLOAD_BYTES)
		error = failed("read of a workload");
	else
		error = take_all(archive);
	if (archive != MAP_FAILED)
		munmap(archive, WORKLOAD_BYTES);
	close(fd);
	return error;
}

int run_from_snapshot(void)
{
	hold();
	int error = take_workload();

	if (error)
		printf("kernsmith: end init status=%d %s\n", error, failure_text());
	return error ? error : run_workload(name, rounds, warmup);
}
