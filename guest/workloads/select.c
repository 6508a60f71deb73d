// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "workload.h"

#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { PIPES = 24, SOCKETS = 24, EVENTS = 16, ALL = PIPES + SOCKETS + EVENTS };

static int readable[ALL], writable[ALL];
static int queue = -1;

static int open_all(void)
{
	int pair[2];

	for (unsigned i = 0; i < ALL; i++) {
		if (i < PIPES ? pipe(pair) : i < PIPES + SOCKETS ?
		    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) :
		    (pair[0] = pair[1] = eventfd(0, 0)) < 0)
			return failed("pipe, socketpair or eventfd");
		readable[i] = pair[0];
		writable[i] = pair[1];
	}
	return 0;
}

static int set_up(void)
{
	int error = open_all();

	queue = epoll_create1(0);
	if (!error && queue < 0)
		error = failed("epoll_create1");
	for (unsigned i = 0; i < ALL && !error; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

		if (epoll_ctl(queue, EPOLL_CTL_ADD, readable[i], &event))
			error = failed("epoll_ctl");
	}
	return error;
}

/* Which ones are ready in a round: three different ones, of different kinds. */
static unsigned ready(unsigned number, unsigned which)
{
	static const unsigned first[] = { 0, PIPES, PIPES + SOCKETS };
	static const unsigned size[] = { PIPES, SOCKETS, EVENTS };

	return first[which] + number % size[which];
}

static int with_select(unsigned number)
{
	struct timeval at_once = { 0, 0 };
	int highest = 0;
	fd_set set;

	FD_ZERO(&set);
	for (unsigned i = 0; i < ALL; i++) {
		FD_SET(readable[i], &set);
		if (readable[i] > highest)
			highest = readable[i];
	}
	if (select(highest + 1, &set, NULL, NULL, &at_once) != 3)
		return wrong("number of select");
	for (unsigned i = 0; i < 3; i++)
		if (!FD_ISSET(readable[ready(number, i)], &set))
			return wrong("set of select");
	return 0;
}

static int with_poll(unsigned number)
{
	struct pollfd set[ALL];

	for (unsigned i = 0; i < ALL; i++)
		set[i] = (struct pollfd){ .fd = readable[i], .events = POLLIN };
	if (poll(set, ALL, 0) != 3)
		return wrong("number of poll");
	for (unsigned i = 0; i < 3; i++)
		if (set[ready(number, i)].revents != POLLIN)
			return wrong("set of poll");
	return 0;
}

static int with_epoll(unsigned number)
{
	struct epoll_event events[8];
	unsigned found = 0;

	if (epoll_wait(queue, events, 8, 0) != 3)
		return wrong("number of epoll_wait");
	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 0; j < 3; j++)
			found += events[i].data.u32 == ready(number, j);
	return found == 3 ? 0 : wrong("set of epoll_wait");
}

static int play(unsigned number)
{
	uint64_t value = 1;
	int error = 0;

	for (unsigned i = 0; i < 3; i++)
		if (write(writable[ready(number, i)], &value, sizeof(value)) != sizeof(value))
			return failed("write");
	/* Select and poll look at every descriptor: not in every round, or they are all there is. */
	if (number % 2)
		error = with_select(number);
	else
		error = with_poll(number);
	if (!error)
		error = with_epoll(number);
	for (unsigned i = 0; i < 3; i++)
		if (!error && read(readable[ready(number, i)], &value, sizeof(value)) < 0)
			error = failed("read");
	return error;
}

WORKLOAD(selecting) = {
	.name = "select",
	.sets = "lab ipc",
	.description = "select, poll and epoll_wait over 64 pipes, sockets and eventfds, three of them ready",
	.needs = "CONFIG_EPOLL CONFIG_EVENTFD CONFIG_UNIX",
	.rounds = 1400,
	.warmup = 120,
	.application = 64,
	.set_up = set_up,
	.round = play,
};
