// SPDX-License-Identifier: GPL-2.0-or-later
#include "scratch.h"

#include "failure.h"
#include "transfer.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int scratch_file(unsigned pieces, int *fd)
{
	static char piece[PIECE];
	char name[64];
	int error = 0;

	snprintf(name, sizeof(name), "/tmp/kernsmith-%d", (int)getpid());
	*fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (*fd < 0 || unlink(name))
		return failed(name);
	for (unsigned i = 0; i < pieces && !error; i++) {
		pattern_fill(piece, PIECE, i);
		error = send_all(*fd, piece, PIECE);
	}
	return error;
}
