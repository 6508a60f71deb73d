/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to the kernel's networking: messages with attributes, built in a buffer, sent together,
 * and answered. The format is that of linux/netlink.h; nothing here knows what a message means.
 */
#ifndef KERNSMITH_NETLINK_H
#define KERNSMITH_NETLINK_H

#include <stddef.h>
#include <stdint.h>

enum { NETLINK_CAPACITY = 1024 };

/* Starts as { .size = 0 }. What does not fit is told by netlink_ask. */
struct netlink {
	size_t size;		/* bytes wanted so far */
	size_t message;		/* where the last message begins */
	_Alignas(4) unsigned char data[NETLINK_CAPACITY];
};

/* Begins another message: `header` is what its type puts before the attributes. */
void netlink_message(struct netlink *n, uint16_t type, uint16_t flags, const void *header,
		     size_t size);

/* One attribute of the last message: bytes, a number of the host's or the network's order, text. */
void netlink_bytes(struct netlink *n, uint16_t type, const void *data, size_t size);
void netlink_number(struct netlink *n, uint16_t type, uint32_t number);
void netlink_ordered(struct netlink *n, uint16_t type, uint32_t number);
void netlink_text(struct netlink *n, uint16_t type, const char *text);

/* An attribute that holds others, up to its end; and plain bytes, such as a header within it. */
size_t netlink_open(struct netlink *n, uint16_t type);
void netlink_plain(struct netlink *n, const void *data, size_t size);
void netlink_close(struct netlink *n, size_t opened);

/*
 * Sends all messages in the current network namespace and waits for the kernel's word. The last
 * message that is not the end of a batch must ask for it (NLM_F_ACK). 0, or an errno, with `what`
 * kept for the end line.
 */
int netlink_ask(const struct netlink *n, int protocol, const char *what);

#endif
