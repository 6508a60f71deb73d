// SPDX-License-Identifier: GPL-2.0-or-later
/* UnixBench's context1: a growing number goes to a child through a pipe, and comes back by another. */
#include "test.h"

#include "failure.h"
#include "partner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

static int there[2] = { -1, -1 }, back[2] = { -1, -1 };

static int answer(int unused)
{
	uint32_t number;
	ssize_t length;

	(void)unused;
	close(there[1]);
	close(back[0]);
	while ((length = read(there[0], &number, sizeof(number))) == sizeof(number))
		if (write(back[1], &number, sizeof(number)) != sizeof(number))
			return EIO;
	return length ? EIO : 0;
}

static int set_up(void)
{
	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		return failed("pipe2");
	int error = partner_start(answer, 0);

	close(there[0]);
	close(back[1]);
	return error;
}

static int loop(unsigned number)
{
	uint32_t sent = number, is;

	if (write(there[1], &sent, sizeof(sent)) != sizeof(sent))
		return failed("write");
	if (read(back[0], &is, sizeof(is)) != sizeof(is))
		return failed("read");
	return is == sent ? 0 : wrong("a number that came back");
}

static void tear_down(void)
{
	close(there[1]);
	close(back[0]);
}

static const struct test context = {
	.loops = 4, .turns = 8, .set_up = set_up, .loop = loop, .tear_down = tear_down,
};

TEST(context, "unixbench-context", "",
     "Pipe-based context switching: a growing number goes to another process and back", 800, 10);
