// SPDX-License-Identifier: GPL-2.0-or-later
#include "transfer.h"

#include "failure.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

int send_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t done = write(fd, at, size);

		if (done < 0)
			return failed("write");
		at += done;
		size -= (size_t)done;
	}
	return 0;
}

int receive_all(int fd, void *data, size_t size)
{
	char *at = data;

	while (size > 0) {
		ssize_t done = read(fd, at, size);

		if (done == 0)
			errno = EPIPE;
		if (done <= 0)
			return failed("read");
		at += done;
		size -= (size_t)done;
	}
	return 0;
}

static uint32_t pattern_word(size_t offset, unsigned seed)
{
	return ((uint32_t)offset + seed) * 2654435761u;
}

void pattern_fill(void *data, size_t size, unsigned seed)
{
	for (size_t i = 0; i + sizeof(uint32_t) <= size; i += PATTERN_STRIDE) {
		uint32_t word = pattern_word(i, seed);

		memcpy((char *)data + i, &word, sizeof(word));
	}
}

bool pattern_matches(const void *data, size_t size, unsigned seed)
{
	for (size_t i = 0; i + sizeof(uint32_t) <= size; i += PATTERN_STRIDE) {
		uint32_t word = pattern_word(i, seed);

		if (memcmp((const char *)data + i, &word, sizeof(word)))
			return false;
	}
	return true;
}
