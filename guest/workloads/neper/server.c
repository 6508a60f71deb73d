// SPDX-License-Identifier: GPL-2.0-or-later
#include "server.h"

#include "place.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, MOST = 1024 /* descriptors */ };

static unsigned long received[MOST];	/* bytes, by connection */

unsigned char stream_byte(unsigned long offset)
{
	return (unsigned char)(offset % PIECE * 2654435761u >> 16);
}

static int watch(int queue, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

/* All connections that wait; EINVAL when there will be none any more. */
static int accept_all(int queue, int listener)
{
	for (;;) {
		struct sockaddr_in peer;
		socklen_t size = sizeof(peer);
		int on = 1, flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
		int fd = accept4(listener, (struct sockaddr *)&peer, &size, flags);

		if (fd < 0)
			return errno == EAGAIN ? 0 : errno;
		if (!place_expects(&peer))
			return EADDRNOTAVAIL;
		if (fd >= MOST)
			return EMFILE;
		received[fd] = 0;
		if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
			return errno;
		int error = watch(queue, fd);

		if (error)
			return error;
	}
}

static int answer(int fd)
{
	char byte;
	ssize_t length = recv(fd, &byte, sizeof(byte), 0);

	if (length == 0)
		close(fd);
	else if (length < 0)
		return errno;
	else if (send(fd, &byte, sizeof(byte), MSG_NOSIGNAL) != sizeof(byte))
		return errno;
	return 0;
}

static int take(int fd, unsigned long *sum)
{
	static unsigned char piece[PIECE];
	ssize_t length = recv(fd, piece, sizeof(piece), 0);

	if (length < 0)
		return errno == EAGAIN ? 0 : errno;
	if (length == 0)
		return close(fd) ? errno : 0;
	unsigned long first = received[fd], last = first + (unsigned long)length - 1;

	if (piece[0] != stream_byte(first) || piece[length - 1] != stream_byte(last))
		return EBADMSG;
	received[fd] = last + 1;
	*sum += (unsigned long)length;
	return 0;
}

int serve_streams(int socket, enum service service, int receipts, unsigned long expected)
{
	struct epoll_event events[EVENTS];
	unsigned long sum = 0;
	int queue = epoll_create1(EPOLL_CLOEXEC);
	int error = queue < 0 ? errno : watch(queue, socket);

	while (!error) {
		int count = epoll_wait(queue, events, EVENTS, -1);

		for (int i = 0; i < count && !error; i++) {
			int fd = events[i].data.fd;

			error = fd == socket ? accept_all(queue, fd) :
				service == ANSWER ? answer(fd) : take(fd, &sum);
		}
		while (!error && service == TAKE && sum >= expected) {
			sum -= expected;
			if (write(receipts, "", 1) != 1)
				error = EIO;
		}
	}
	return error == EINVAL ? 0 : error;
}

/* An empty datagram is the end. */
int serve_datagrams(int socket)
{
	struct epoll_event event;
	int queue = epoll_create1(EPOLL_CLOEXEC);
	int error = queue < 0 ? errno : watch(queue, socket);

	while (!error) {
		struct sockaddr_in sender;
		socklen_t size = sizeof(sender);
		char byte;

		if (epoll_wait(queue, &event, 1, -1) != 1)
			return EIO;
		ssize_t length = recvfrom(socket, &byte, sizeof(byte), 0,
					  (struct sockaddr *)&sender, &size);

		if (length <= 0)
			return length ? errno : 0;
		if (!place_expects(&sender))
			return EADDRNOTAVAIL;
		if (sendto(socket, &byte, sizeof(byte), 0, (struct sockaddr *)&sender, size) != 1)
			error = errno;
	}
	return error;
}
