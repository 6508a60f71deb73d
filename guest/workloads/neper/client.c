// SPDX-License-Identifier: GPL-2.0-or-later
#include "client.h"

#include "failure.h"
#include "partner.h"
#include "place.h"
#include "server.h"
#include "transfer.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, PATIENCE = 5000 /* ms, for what takes microseconds */ };

static struct sockaddr_in address;
static int kind, listener = -1, queue = -1, receipts[2] = { -1, -1 };
static int flow[MANY_FLOWS];
static unsigned flows;

static int connect_flow(unsigned i)
{
	int on = 1;

	flow[i] = socket(AF_INET, kind | SOCK_CLOEXEC, 0);
	if (flow[i] < 0)
		return failed("socket");
	if (connect(flow[i], (struct sockaddr *)&address, sizeof(address)))
		return failed("connect");
	if (kind == SOCK_STREAM && setsockopt(flow[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		return failed("setsockopt");
	return 0;
}

static int watch_flow(unsigned i)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

	return epoll_ctl(queue, EPOLL_CTL_ADD, flow[i], &event) ? failed("epoll_ctl") : 0;
}

static int answer_requests(int socket)
{
	return kind == SOCK_DGRAM ? serve_datagrams(socket) : serve_streams(socket, ANSWER, -1, 0);
}

static int take_streams(int socket)
{
	close(receipts[0]);
	return serve_streams(socket, TAKE, receipts[1], (unsigned long)flows * PIECE);
}

/* Starts the server's process, before there is a connection that it could hold open. */
static int prepare(enum place place, int type, unsigned count, int (*serve)(int))
{
	kind = type;
	flows = count;
	for (unsigned i = 0; i < flows; i++)
		flow[i] = -1;
	int error = place_server(place, type, &listener, &address);

	if (!error)
		error = partner_start(serve, listener);
	queue = epoll_create1(EPOLL_CLOEXEC);
	return error ? error : queue < 0 ? failed("epoll_create1") : 0;
}

int client_set_up(enum place place, int type, unsigned count)
{
	int error = prepare(place, type, count, answer_requests);

	for (unsigned i = 0; i < flows && !error; i++) {
		error = connect_flow(i);
		if (!error)
			error = watch_flow(i);
	}
	return error;
}

int client_set_up_fresh(enum place place, unsigned count)
{
	return prepare(place, SOCK_STREAM, count, answer_requests);
}

int client_set_up_stream(enum place place, unsigned count)
{
	if (pipe2(receipts, O_CLOEXEC))
		return failed("pipe2");
	int error = prepare(place, SOCK_STREAM, count, take_streams);

	for (unsigned i = 0; i < flows && !error; i++)
		error = connect_flow(i);
	close(receipts[1]);
	return error;
}

static char request_of(unsigned number, unsigned i)
{
	return (char)(number + i);
}

static int send_request(unsigned number, unsigned i)
{
	char byte = request_of(number, i);

	return send(flow[i], &byte, sizeof(byte), 0) == sizeof(byte) ? 0 : failed("send");
}

static int receive_answer(unsigned number, unsigned i)
{
	char byte;

	if (recv(flow[i], &byte, sizeof(byte), 0) != sizeof(byte))
		return failed("recv");
	return byte == request_of(number, i) ? 0 : wrong("an answer");
}

/* The answers of all flows, as they come. */
static int receive_answers(unsigned number, bool fresh)
{
	struct epoll_event events[EVENTS];
	int error = 0;

	for (unsigned answered = 0; answered < flows && !error;) {
		int count = epoll_wait(queue, events, EVENTS, PATIENCE);

		if (count < 1)
			return count ? failed("epoll_wait") : wrong("no answer");
		for (int i = 0; i < count && !error; i++, answered++) {
			error = receive_answer(number, events[i].data.u32);
			if (fresh)
				close(flow[events[i].data.u32]);
		}
	}
	return error;
}

int client_requests(unsigned number)
{
	int error = 0;

	for (unsigned i = 0; i < flows && !error; i++)
		error = send_request(number, i);
	return error ? error : receive_answers(number, false);
}

int client_fresh_requests(unsigned number)
{
	int error = 0;

	for (unsigned i = 0; i < flows && !error; i++) {
		error = connect_flow(i);
		if (!error)
			error = watch_flow(i);
		if (!error)
			error = send_request(number, i);
	}
	return error ? error : receive_answers(number, true);
}

int client_stream(unsigned number)
{
	static char piece[PIECE];
	char receipt;
	int error = 0;

	(void)number;
	if (piece[1] != (char)stream_byte(1))
		for (unsigned long i = 0; i < PIECE; i++)
			piece[i] = (char)stream_byte(i);
	for (unsigned i = 0; i < flows && !error; i++)
		error = send_all(flow[i], piece, PIECE);
	return error ? error : receive_all(receipts[0], &receipt, sizeof(receipt));
}

/* A listener that is shut down, or an empty datagram, tells the server that it is over. */
void client_tear_down(void)
{
	if (kind == SOCK_DGRAM && flow[0] >= 0)
		send(flow[0], NULL, 0, 0);
	else
		shutdown(listener, SHUT_RDWR);
	close(listener);
	close(receipts[0]);
	place_tear_down();
}
