// SPDX-License-Identifier: GPL-2.0-or-later
#include "line.h"

#include "../failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUM_LETTERS 8

/* The reflected polynomial 0xedb88320 (ISO 3309), bit by bit: lines are few and short. */
static uint32_t sum_of(const char *text, size_t length)
{
	uint32_t sum = 0xffffffff;

	for (size_t i = 0; i < length; i++) {
		sum ^= (unsigned char)text[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
	}
	return ~sum;
}

char *line_checked(char *line)
{
	char *end, *text = line + SUM_LETTERS + 1;

	line[strcspn(line, "\n")] = '\0';
	if (strlen(line) <= SUM_LETTERS || line[SUM_LETTERS] != ' ')
		return NULL;
	unsigned long sum = strtoul(line, &end, 16);

	return end == line + SUM_LETTERS && sum == sum_of(text, strlen(text)) ? text : NULL;
}

int line_append(int fd, const char *format, ...)
{
	char text[LINE_SIZE - SUM_LETTERS - 2], line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	text[strcspn(text, "\n")] = '\0';
	int length = snprintf(line, sizeof(line), "%08x %s\n", sum_of(text, strlen(text)), text);
	ssize_t written = write(fd, line, (size_t)length);

	if (written == length)
		return fsync(fd) ? failed("fsync of the results") : 0;
	if (written >= 0)
		errno = ENOSPC;
	return failed("write of the results");
}

int line_finish(int fd)
{
	char last;
	off_t size = lseek(fd, 0, SEEK_END);

	if (size <= 0)
		return 0;
	if (pread(fd, &last, 1, size - 1) != 1)
		return failed("read of the results");
	return last == '\n' || write(fd, "\n", 1) == 1 ? 0 : failed("write of the results");
}
