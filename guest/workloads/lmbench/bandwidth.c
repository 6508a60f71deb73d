// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lmbench's bw_pipe, bw_unix and bw_tcp: another process writes pieces of 64 KiB as long as somebody
 * reads, and this one reads them. A round is PIECES of them.
 */
#include "failure.h"
#include "loopback.h"
#include "partner.h"
#include "scratch.h"
#include "transfer.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECES = 4 };

static int near = -1, far = -1;	/* this process reads from `near` */
static char buffer[PIECE];

/* Until nobody reads any more, which is how it ends. */
static int write_pieces(int fd)
{
	static char piece[PIECE];

	close(near);
	for (unsigned number = 0;; number++) {
		pattern_fill(piece, PIECE, number);
		int error = send_all(fd, piece, PIECE);

		if (error)
			return error == EPIPE || error == ECONNRESET ? 0 : error;
	}
}

static int begin(int error)
{
	if (!error)
		error = partner_start(write_pieces, far);
	close(far);
	return error;
}

static int set_up_pipe(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return failed("pipe2");
	near = ends[0];
	far = ends[1];
	return begin(0);
}

static int set_up_unix(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return failed("socketpair");
	near = ends[0];
	far = ends[1];
	return begin(0);
}

static int set_up_tcp(void)
{
	return begin(loopback_connect(&near, &far));
}

static int play(unsigned number)
{
	for (unsigned i = 0; i < PIECES; i++) {
		int error = receive_all(near, buffer, PIECE);

		if (error)
			return error;
		if (!pattern_matches(buffer, PIECE, number * PIECES + i))
			return wrong("a piece of the stream");
	}
	return 0;
}

static void tear_down(void)
{
	close(near);
}

WORKLOAD(bandwidth_pipe) = {
	.name = "lmbench-pipe-bandwidth",
	.sets = "lmbench",
	.description = "bw_pipe: pieces of 64 KiB from another process through a pipe",
	.needs = "",
	.rounds = 300,
	.warmup = 24,
	.application = 256,
	.set_up = set_up_pipe,
	.round = play,
	.tear_down = tear_down,
};

WORKLOAD(bandwidth_tcp) = {
	.name = "lmbench-tcp-bandwidth",
	.sets = "lmbench",
	.description = "bw_tcp: pieces of 64 KiB from another process over TCP on the loopback device",
	.needs = "CONFIG_INET",
	.rounds = 300,
	.warmup = 24,
	.application = 256,
	.set_up = set_up_tcp,
	.round = play,
	.tear_down = tear_down,
};

WORKLOAD(bandwidth_unix) = {
	.name = "lmbench-unix-bandwidth",
	.sets = "lmbench",
	.description = "bw_unix: pieces of 64 KiB from another process through a unix stream socket",
	.needs = "CONFIG_UNIX",
	.rounds = 300,
	.warmup = 24,
	.application = 256,
	.set_up = set_up_unix,
	.round = play,
	.tear_down = tear_down,
};
