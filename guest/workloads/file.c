// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "transfer.h"
#include "workload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGEST = 16384, FOLDERS = 4 };

static char top[] = "/tmp/kernsmith-XXXXXX";
static bool made;
static char data[LARGEST], copy[LARGEST];

static size_t size_of(unsigned number)
{
	static const size_t sizes[] = { 300, 4096, 1, 9000, 512, LARGEST, 2500, 5000 };

	return sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
}

static void folder_name(char *name, size_t size, unsigned folder)
{
	snprintf(name, size, "a%u/deeper%u", folder % FOLDERS, folder % FOLDERS);
}

/* Everything happens under `top`, by relative names: paths are the same on every machine. */
static int set_up(void)
{
	char name[64];

	if (!mkdtemp(top))
		return failed("mkdtemp");
	made = true;
	if (chdir(top))
		return failed("chdir");
	for (unsigned i = 0; i < FOLDERS; i++) {
		snprintf(name, sizeof(name), "a%u", i);
		if (mkdir(name, 0755))
			return failed("mkdir");
		folder_name(name, sizeof(name), i);
		if (mkdir(name, 0755))
			return failed("mkdir");
	}
	return 0;
}

static int write_in_two(int fd, size_t size)
{
	size_t half = size / 2;
	struct iovec rest = { data + half, size - half };

	if (write(fd, data, half) != (ssize_t)half)
		return failed("write");
	if (writev(fd, &rest, 1) != (ssize_t)(size - half))
		return failed("writev");
	return 0;
}

static int create(const char *path, size_t size)
{
	struct stat status;
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		return failed("create");
	int error = write_in_two(fd, size);

	if (!error && (fstat(fd, &status) || (size_t)status.st_size != size))
		error = wrong("fstat");
	if (close(fd) && !error)
		error = failed("close");
	return error;
}

static int read_back(const char *path, size_t size, unsigned number)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return failed("open");
	int error = receive_all(fd, copy, size);

	if (!error && !pattern_matches(copy, size, number))
		error = wrong("contents of a file");
	if (!error && read(fd, copy, 1) != 0)
		error = wrong("end of a file");
	if (!error && lseek(fd, 0, SEEK_SET) != 0)
		error = failed("lseek");
	if (!error && pread(fd, copy, 1, (off_t)size - 1) != 1)
		error = failed("pread");
	if (!error && ftruncate(fd, (off_t)size / 2))
		error = failed("ftruncate");
	close(fd);
	return error;
}

static int rename_and_look(const char *path, const char *moved, size_t size)
{
	struct stat status;
	char target[64];

	if (access(path, R_OK) || chmod(path, 0600))
		return failed("access or chmod");
	if (symlink(path, "link"))
		return failed("symlink");
	if (readlink("link", target, sizeof(target)) != (ssize_t)strlen(path))
		return wrong("readlink");
	if (stat("link", &status) || (size_t)status.st_size != size / 2)
		return wrong("stat");
	if (unlink("link"))
		return failed("unlink of a link");
	if (rename(path, moved))
		return failed("rename");
	if (stat(path, &status) == 0 || errno != ENOENT)
		return wrong("stat of a file that was moved");
	return 0;
}

/* The entries of a folder: ".", ".." and one file. */
static int list(const char *folder)
{
	char entries[1024];
	unsigned count = 0;
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return failed("open of a folder");
	long length = syscall(SYS_getdents64, fd, entries, sizeof(entries));

	close(fd);
	for (long at = 0; at < length; count++)
		at += ((struct dirent64 *)(entries + at))->d_reclen;
	return count == 3 ? 0 : wrong("getdents64");
}

static int play(unsigned number)
{
	char path[64], moved[64], folder[48], other[48];
	size_t size = size_of(number);

	folder_name(folder, sizeof(folder), number);
	folder_name(other, sizeof(other), number + 1);
	snprintf(path, sizeof(path), "%s/file-%u", folder, number);
	snprintf(moved, sizeof(moved), "%s/moved", other);
	pattern_fill(data, size, number);
	int error = create(path, size);

	if (!error)
		error = read_back(path, size, number);
	if (!error)
		error = rename_and_look(path, moved, size);
	if (!error)
		error = list(other);
	if (!error && unlink(moved))
		error = failed("unlink");
	return error;
}

static void tear_down(void)
{
	char name[64];

	if (!made)
		return;
	for (unsigned i = 0; i < FOLDERS; i++) {
		folder_name(name, sizeof(name), i);
		rmdir(name);
		snprintf(name, sizeof(name), "a%u", i);
		rmdir(name);
	}
	if (chdir("/") == 0)
		rmdir(top);
}

WORKLOAD(file) = {
	.name = "file",
	.sets = "lab fs",
	.description = "Files of 1 byte to 16 KiB on tmpfs: create, write, stat, read, truncate, link, "
		       "rename, list, unlink",
	.needs = "CONFIG_TMPFS",
	.rounds = 400,
	.warmup = 32,
	.application = 256,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
