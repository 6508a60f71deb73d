// SPDX-License-Identifier: GPL-2.0-or-later
#include "netlink.h"

#include "failure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void store(struct netlink *n, size_t at, const void *data, size_t size)
{
	if (size && at + size <= sizeof(n->data))
		memcpy(n->data + at, data, size);
}

/* Appends `size` bytes and what aligns the next ones, all of them part of the last message. */
static void append(struct netlink *n, const void *data, size_t size)
{
	uint32_t length;

	store(n, n->size, data, size);
	n->size += NLMSG_ALIGN(size);
	length = (uint32_t)(n->size - n->message);
	store(n, n->message + offsetof(struct nlmsghdr, nlmsg_len), &length, sizeof(length));
}

void netlink_message(struct netlink *n, uint16_t type, uint16_t flags, const void *header,
		     size_t size)
{
	struct nlmsghdr message = {
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | flags,
	};

	n->message = n->size;
	append(n, &message, sizeof(message));
	append(n, header, size);
}

void netlink_bytes(struct netlink *n, uint16_t type, const void *data, size_t size)
{
	struct nlattr attribute = { .nla_len = (uint16_t)(NLA_HDRLEN + size), .nla_type = type };

	append(n, &attribute, sizeof(attribute));
	append(n, data, size);
}

void netlink_number(struct netlink *n, uint16_t type, uint32_t number)
{
	netlink_bytes(n, type, &number, sizeof(number));
}

void netlink_ordered(struct netlink *n, uint16_t type, uint32_t number)
{
	netlink_number(n, type, htonl(number));
}

void netlink_text(struct netlink *n, uint16_t type, const char *text)
{
	netlink_bytes(n, type, text, strlen(text) + 1);
}

size_t netlink_open(struct netlink *n, uint16_t type)
{
	size_t opened = n->size;

	netlink_bytes(n, type | NLA_F_NESTED, NULL, 0);
	return opened;
}

void netlink_plain(struct netlink *n, const void *data, size_t size)
{
	append(n, data, size);
}

void netlink_close(struct netlink *n, size_t opened)
{
	uint16_t length = (uint16_t)(n->size - opened);

	store(n, opened + offsetof(struct nlattr, nla_len), &length, sizeof(length));
}

/* The first answer decides: an error comes before what was asked for by the last message. */
static int answer(int fd, const char *what)
{
	_Alignas(struct nlmsghdr) char data[4096];
	const struct nlmsghdr *message = (const struct nlmsghdr *)data;
	ssize_t length = recv(fd, data, sizeof(data), 0);

	if (length < 0)
		return failed(what);
	if ((size_t)length < NLMSG_LENGTH(sizeof(struct nlmsgerr)) ||
	    message->nlmsg_type != NLMSG_ERROR)
		return wrong(what);
	errno = -((const struct nlmsgerr *)NLMSG_DATA(message))->error;
	return errno ? failed(what) : 0;
}

int netlink_ask(const struct netlink *n, int protocol, const char *what)
{
	int fd, error = 0;

	if (n->size > sizeof(n->data)) {
		errno = EMSGSIZE;
		return failed(what);
	}
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		return failed(what);
	if (send(fd, n->data, n->size, 0) != (ssize_t)n->size)
		error = failed(what);
	if (!error)
		error = answer(fd, what);
	close(fd);
	return error;
}
