// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UnixBench's fsbuffer, fstime and fsdisk: a file is copied to another one, a buffer at a time, and
 * from the beginning when its end is reached. A loop is one buffer.
 */
#include "test.h"

#include "failure.h"
#include "transfer.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { LARGEST = 4096, KIB = 1024 };

static int from = -1, to = -1;
static size_t size;			/* of a buffer */
static unsigned buffers, next;		/* in the file; which is to be copied */
static char buffer[LARGEST];

static int open_file(const char *which, int *fd)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/kernsmith-%d-%s", (int)getpid(), which);
	*fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return *fd < 0 || unlink(name) ? failed(name) : 0;
}

/* bytes: of a buffer. blocks: of 1 KiB, in the file. */
static int prepare(size_t bytes, unsigned blocks)
{
	size = bytes;
	buffers = blocks * KIB / (unsigned)bytes;
	int error = open_file("from", &from);

	if (!error)
		error = open_file("to", &to);
	for (unsigned i = 0; i < buffers && !error; i++) {
		pattern_fill(buffer, size, i);
		error = send_all(from, buffer, size);
	}
	if (!error && lseek(from, 0, SEEK_SET))
		error = failed("lseek");
	return error;
}

static int begin_again(void)
{
	if (pread(to, buffer, size, (off_t)(size * (buffers - 1))) != (ssize_t)size ||
	    !pattern_matches(buffer, size, buffers - 1))
		return wrong("the end of a copy");
	next = 0;
	return lseek(from, 0, SEEK_SET) || lseek(to, 0, SEEK_SET) ? failed("lseek") : 0;
}

static int loop(unsigned number)
{
	(void)number;
	ssize_t length = read(from, buffer, size);

	if (length != (ssize_t)size)
		return failed("read");
	if (!pattern_matches(buffer, size, next))
		return wrong("contents of a file");
	if (write(to, buffer, size) != length)
		return failed("write");
	return ++next == buffers ? begin_again() : 0;
}

static int set_up_small(void)
{
	return prepare(256, 500);
}

static int set_up_middle(void)
{
	return prepare(1024, 2000);
}

static int set_up_large(void)
{
	return prepare(4096, 8000);
}

static void tear_down(void)
{
	close(from);
	close(to);
}

static const struct test small = {
	.loops = 16, .turns = 8, .set_up = set_up_small, .loop = loop, .tear_down = tear_down,
};
static const struct test middle = {
	.loops = 16, .turns = 8, .set_up = set_up_middle, .loop = loop, .tear_down = tear_down,
};
static const struct test large = {
	.loops = 16, .turns = 8, .set_up = set_up_large, .loop = loop, .tear_down = tear_down,
};

TEST(small, "unixbench-fsbuffer", "CONFIG_TMPFS",
     "File copy, buffers of 256 bytes, at most 500 blocks, on tmpfs", 800, 10);
TEST(middle, "unixbench-fstime", "CONFIG_TMPFS",
     "File copy, buffers of 1024 bytes, at most 2000 blocks, on tmpfs", 800, 10);
TEST(large, "unixbench-fsdisk", "CONFIG_TMPFS",
     "File copy, buffers of 4096 bytes, at most 8000 blocks, on tmpfs", 600, 10);
