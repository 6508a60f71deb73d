// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "loopback.h"
#include "partner.h"
#include "transfer.h"
#include "workload.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

enum { PIECE = 16384, ROUNDS_PER_RECEIPT = 32 };

static int near = -1, far = -1;
static char buffer[PIECE];

/* Checks every piece and confirms each ROUNDS_PER_RECEIPT of them with their number. */
static int receive(int fd)
{
	static char piece[PIECE];

	close(near);
	for (uint32_t number = 0;; number++) {
		size_t filled = 0;

		while (filled < PIECE) {
			ssize_t length = read(fd, piece + filled, PIECE - filled);

			if (length <= 0)
				return length ? errno : filled ? EIO : 0;
			filled += (size_t)length;
		}
		if (!pattern_matches(piece, PIECE, number))
			return EBADMSG;
		if (number % ROUNDS_PER_RECEIPT == ROUNDS_PER_RECEIPT - 1 &&
		    write(fd, &number, sizeof(number)) != sizeof(number))
			return EIO;
	}
}

static int set_up(void)
{
	int error = loopback_connect(&near, &far);

	if (!error)
		error = partner_start(receive, far);
	close(far);
	return error;
}

static int play(unsigned number)
{
	uint32_t receipt;

	pattern_fill(buffer, PIECE, number);
	int error = send_all(near, buffer, PIECE);

	if (error || number % ROUNDS_PER_RECEIPT != ROUNDS_PER_RECEIPT - 1)
		return error;
	error = receive_all(near, &receipt, sizeof(receipt));
	if (!error && receipt != number)
		error = wrong("receipt of a TCP stream");
	return error;
}

static void tear_down(void)
{
	close(near);
}

WORKLOAD(tcp_stream) = {
	.name = "tcp-stream",
	.sets = "lab net",
	.description = "A stream of 16 KiB pieces over a TCP connection of the loopback device",
	.needs = "CONFIG_INET",
	.rounds = 2048,
	.warmup = 160,
	.application = 64,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
