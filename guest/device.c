// SPDX-License-Identifier: GPL-2.0-or-later
#include "device.h"

#include "failure.h"
#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ADDRESS_BITS = 24 };

static void describe(struct netlink *n, const struct device *device)
{
	/* Locally administered addresses (the second bit of the first byte). */
	const uint8_t hardware[] = { 2, 0, 0, 0, 0, device->hardware };

	netlink_text(n, IFLA_IFNAME, device->name);
	netlink_bytes(n, IFLA_ADDRESS, hardware, sizeof(hardware));
}

int device_pair(const struct device *here, const struct device *there, int other)
{
	struct ifinfomsg end = { .ifi_family = AF_UNSPEC, .ifi_index = here->index };
	struct netlink n = { .size = 0 };

	netlink_message(&n, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &end, sizeof(end));
	describe(&n, here);
	size_t link = netlink_open(&n, IFLA_LINKINFO);

	netlink_text(&n, IFLA_INFO_KIND, "veth");
	size_t data = netlink_open(&n, IFLA_INFO_DATA);
	size_t peer = netlink_open(&n, VETH_INFO_PEER);

	end.ifi_index = there->index;
	netlink_plain(&n, &end, sizeof(end));
	describe(&n, there);
	netlink_number(&n, IFLA_NET_NS_FD, (uint32_t)other);
	netlink_close(&n, peer);
	netlink_close(&n, data);
	netlink_close(&n, link);
	return netlink_ask(&n, NETLINK_ROUTE, "make a pair of veth devices");
}

/* Sets one attribute of what an address family keeps of a device. */
static int set_of_family(const struct device *device, uint16_t family, uint16_t attribute,
			 const void *value, size_t size, const char *what)
{
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC, .ifi_index = device->index };
	struct netlink n = { .size = 0 };

	netlink_message(&n, RTM_NEWLINK, NLM_F_ACK, &link, sizeof(link));
	size_t families = netlink_open(&n, IFLA_AF_SPEC);
	size_t one = netlink_open(&n, family);

	netlink_bytes(&n, attribute, value, size);
	netlink_close(&n, one);
	netlink_close(&n, families);
	return netlink_ask(&n, NETLINK_ROUTE, what);
}

/* Without an address IPv6 neither looks for its own address nor for routers. */
static int without_ipv6(const struct device *device)
{
	uint8_t mode = IN6_ADDR_GEN_MODE_NONE;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 && errno == EAFNOSUPPORT)
		return 0;
	close(fd);
	return set_of_family(device, AF_INET6, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode),
			     "keep IPv6 quiet");
}

static int add_address(const struct device *device)
{
	struct ifaddrmsg address = {
		.ifa_family = AF_INET,
		.ifa_prefixlen = ADDRESS_BITS,
		.ifa_index = (uint32_t)device->index,
	};
	struct netlink n = { .size = 0 };
	in_addr_t number = inet_addr(device->address);

	netlink_message(&n, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &address,
			sizeof(address));
	netlink_number(&n, IFA_LOCAL, number);
	netlink_number(&n, IFA_ADDRESS, number);
	return netlink_ask(&n, NETLINK_ROUTE, "give a device its address");
}

static int bring_up(const struct device *device)
{
	struct ifinfomsg link = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = device->index,
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP,
	};
	struct netlink n = { .size = 0 };

	netlink_message(&n, RTM_NEWLINK, NLM_F_ACK, &link, sizeof(link));
	return netlink_ask(&n, NETLINK_ROUTE, "bring a device up");
}

int device_up(const struct device *device)
{
	int error = without_ipv6(device);

	if (!error)
		error = add_address(device);
	if (!error)
		error = bring_up(device);
	return error;
}

int device_forwards(const struct device *device)
{
	struct {
		struct nlattr attribute;
		uint32_t value;
	} forwarding = {
		{ .nla_len = sizeof(forwarding), .nla_type = IPV4_DEVCONF_FORWARDING },
		1,
	};

	return set_of_family(device, AF_INET, IFLA_INET_CONF | NLA_F_NESTED, &forwarding,
			     sizeof(forwarding), "make a device forward packets");
}

int device_default_route(const struct device *device, const char *gateway)
{
	struct rtmsg route = {
		.rtm_family = AF_INET,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = RT_SCOPE_UNIVERSE,
		.rtm_type = RTN_UNICAST,
	};
	struct netlink n = { .size = 0 };

	netlink_message(&n, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &route,
			sizeof(route));
	netlink_number(&n, RTA_GATEWAY, inet_addr(gateway));
	netlink_number(&n, RTA_OIF, (uint32_t)device->index);
	return netlink_ask(&n, NETLINK_ROUTE, "add a default route");
}
