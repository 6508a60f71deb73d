/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server's process: waits by epoll for whoever has sent something, and answers. */
#ifndef KERNSMITH_NEPER_SERVER_H
#define KERNSMITH_NEPER_SERVER_H

#include <stdbool.h>

enum { PIECE = 16384 };		/* neper's size of a write of a stream */

/* What a connection is for. */
enum service {
	ANSWER,			/* each request of one byte is sent back */
	TAKE,			/* all is read */
};

/*
 * Serves until `socket` (a listener, or the socket of all datagrams) is shut down: 0, or an errno.
 * receipts: where TAKE says each time that `expected` more bytes have come: one byte. The bytes of
 * each connection must be those of `stream_byte`.
 */
int serve_streams(int socket, enum service service, int receipts, unsigned long expected);
int serve_datagrams(int socket);

/* What stands at an offset of a stream. */
unsigned char stream_byte(unsigned long offset);

#endif
