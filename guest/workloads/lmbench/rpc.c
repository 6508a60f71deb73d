// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lmbench's lat_rpc: a remote procedure call (ONC RPC, RFC 5531) with one byte as argument and result,
 * over UDP and over TCP in turn. Client and server wait by poll(), as the libraries for RPC do.
 */
#include "datagram.h"
#include "failure.h"
#include "loopback.h"
#include "partner.h"
#include "transfer.h"
#include "workload.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* RFC 5531, sections 9 and 11; the program's number is lmbench's, of those for everybody's own use. */
enum {
	CALL = 0, REPLY = 1, MSG_ACCEPTED = 0, SUCCESS = 0, RPC_VERSION = 2, AUTH_NONE = 0,
	PROGRAM = 404040, VERSION = 1, PROCEDURE = 2,
};
enum { CALL_WORDS = 11, REPLY_WORDS = 7, PATIENCE = 5000 /* ms */ };
#define LAST_FRAGMENT 0x80000000u

/* A message with the length before it that TCP needs and UDP does not. */
struct message {
	uint32_t length;
	uint32_t words[CALL_WORDS];
};

static int datagrams[2] = { -1, -1 }, stream[2] = { -1, -1 };	/* here, there */

static void put(struct message *m, const uint32_t *words, unsigned count)
{
	m->length = htonl(LAST_FRAGMENT | count * (uint32_t)sizeof(uint32_t));
	for (unsigned i = 0; i < count; i++)
		m->words[i] = htonl(words[i]);
}

static int send_message(int fd, const struct message *m, unsigned count, bool with_length)
{
	size_t size = count * sizeof(uint32_t);

	return with_length ? send_all(fd, m, size + sizeof(m->length)) : send_all(fd, m->words, size);
}

/* EPIPE when the other side has ended; for datagrams that is an empty one. */
static int receive_message(int fd, struct message *m, unsigned count, bool with_length)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };
	size_t size = count * sizeof(uint32_t);

	if (poll(&one, 1, PATIENCE) != 1)
		return failed("poll");
	if (with_length) {
		int error = receive_all(fd, m, size + sizeof(m->length));

		if (!error && m->length != htonl(LAST_FRAGMENT | (uint32_t)size))
			error = wrong("length of a record");
		return error;
	}
	ssize_t length = recv(fd, m->words, size, 0);

	if (length < 0)
		return failed("recv");
	return length == 0 ? EPIPE : (size_t)length == size ? 0 : wrong("length of a message");
}

static int answer(int fd, bool with_length)
{
	struct message m;
	int error = receive_message(fd, &m, CALL_WORDS, with_length);

	if (error)
		return error;
	if (ntohl(m.words[1]) != CALL || ntohl(m.words[2]) != RPC_VERSION ||
	    ntohl(m.words[3]) != PROGRAM || ntohl(m.words[5]) != PROCEDURE)
		return EBADMSG;
	const uint32_t reply[REPLY_WORDS] = {
		ntohl(m.words[0]), REPLY, MSG_ACCEPTED, AUTH_NONE, 0, SUCCESS, ntohl(m.words[10]),
	};

	put(&m, reply, REPLY_WORDS);
	return send_message(fd, &m, REPLY_WORDS, with_length);
}

/* Calls by both ways, until the stream ends. */
static int serve(int unused)
{
	struct pollfd both[] = {
		{ .fd = datagrams[1], .events = POLLIN },
		{ .fd = stream[1], .events = POLLIN },
	};
	int error = 0;

	(void)unused;
	close(datagrams[0]);
	close(stream[0]);
	while (!error) {
		if (poll(both, 2, -1) < 1)
			return errno;
		if (both[0].revents)
			error = answer(datagrams[1], false);
		if (!error && both[1].revents)
			error = answer(stream[1], true);
	}
	return error == EPIPE ? 0 : error;
}

static int set_up(void)
{
	int error = datagram_pair(&datagrams[0], &datagrams[1]);

	if (!error)
		error = loopback_connect(&stream[0], &stream[1]);
	if (!error)
		error = partner_start(serve, 0);
	close(datagrams[1]);
	close(stream[1]);
	return error;
}

static int play(unsigned number)
{
	const uint32_t call[CALL_WORDS] = {
		number, CALL, RPC_VERSION, PROGRAM, VERSION, PROCEDURE, AUTH_NONE, 0, AUTH_NONE, 0,
		number & 0xff,
	};
	bool by_tcp = number % 2;
	int fd = by_tcp ? stream[0] : datagrams[0];
	struct message m;

	put(&m, call, CALL_WORDS);
	int error = send_message(fd, &m, CALL_WORDS, by_tcp);

	if (!error)
		error = receive_message(fd, &m, REPLY_WORDS, by_tcp);
	if (!error && (ntohl(m.words[0]) != number || ntohl(m.words[1]) != REPLY ||
		       ntohl(m.words[5]) != SUCCESS || ntohl(m.words[6]) != (number & 0xff)))
		error = wrong("reply of a remote procedure");
	return error;
}

static void tear_down(void)
{
	close(datagrams[0]);
	close(stream[0]);
}

WORKLOAD(rpc) = {
	.name = "lmbench-rpc-latency",
	.sets = "lmbench",
	.description = "lat_rpc: remote procedure calls (RFC 5531) with one byte, over UDP and over TCP "
		       "in turn",
	.needs = "CONFIG_INET",
	.rounds = 1000,
	.warmup = 80,
	.application = 64,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
