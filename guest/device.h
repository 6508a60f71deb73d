/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network devices of the current network namespace and what IPv4 needs to use them (rtnetlink). */
#ifndef KERNSMITH_DEVICE_H
#define KERNSMITH_DEVICE_H

#include <stdint.h>

/* One end of a veth pair. All figures are fixed, so that every kernel gets the same devices. */
struct device {
	const char *name;
	int32_t index;
	uint8_t hardware;		/* last byte of its hardware address */
	const char *address;		/* IPv4, in a network of 24 bits */
};

/* All return 0, or an errno. */

/* A veth pair: one end here, the other one in the namespace `other`. */
int device_pair(const struct device *here, const struct device *there, int other);

/* Gives the device its address and brings it up. It sends nothing of its own by IPv6. */
int device_up(const struct device *device);

/* IPv4 packets that arrive at the device are forwarded. */
int device_forwards(const struct device *device);

/* All that is not in the device's network goes through `gateway`. */
int device_default_route(const struct device *device, const char *gateway);

#endif
