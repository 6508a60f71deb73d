/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of a batch's files: what is in them is true or is not there. A line is the CRC-32 (that of
 * zlib, eight hexadecimal digits) of all that follows the space behind it, and that:
 *
 *	3f1a22c0 end 5b2c 1 0 812345678 1767225600000000000
 *
 * Who dies while writing leaves a line that is not whole: its sum is wrong, and it is skipped.
 */
#ifndef KERNSMITH_LINE_H
#define KERNSMITH_LINE_H

#define LINE_SIZE 512

/* What stands behind the sum of a line, which loses its end; NULL when the sum is wrong. */
char *line_checked(char *line);

/* Append a line and bring it to the disk; longer ones are cut. Returns 0 or an errno. */
int line_append(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Give a file that ends within a line its end, so that the next line is one of its own. */
int line_finish(int fd);

#endif
