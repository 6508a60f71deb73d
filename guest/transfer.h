/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole buffers through pipes and sockets, and contents that can be checked. */
#ifndef KERNSMITH_TRANSFER_H
#define KERNSMITH_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

/* All of `size` bytes: 0, or an errno. The end of the conversation is EPIPE. */
int send_all(int fd, const void *data, size_t size);
int receive_all(int fd, void *data, size_t size);

/*
 * A pattern that depends on `seed`, one word every STRIDE bytes: enough to see a lost, repeated or
 * misplaced piece, and few user instructions.
 */
enum { PATTERN_STRIDE = 256 };
void pattern_fill(void *data, size_t size, unsigned seed);
bool pattern_matches(const void *data, size_t size, unsigned seed);

#endif
