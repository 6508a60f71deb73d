// SPDX-License-Identifier: GPL-2.0-or-later
#include "filter.h"

#include "../../netlink.h"
#include "calls.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define TABLE "kernsmith"
#define CHAIN "input"

static void batch(struct netlink *n, uint16_t type)
{
	struct nfgenmsg header = {
		.nfgen_family = AF_UNSPEC,
		.version = NFNETLINK_V0,
		.res_id = htons(NFNL_SUBSYS_NFTABLES),
	};

	netlink_message(n, type, 0, &header, sizeof(header));
}

static void nftables(struct netlink *n, uint16_t type, uint16_t flags)
{
	struct nfgenmsg header = { .nfgen_family = NFPROTO_IPV4, .version = NFNETLINK_V0 };

	netlink_message(n, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), NLM_F_CREATE | flags,
			&header, sizeof(header));
}

/* An expression of a rule; its attributes follow, up to close_expression. */
struct expression {
	size_t element, data;
};

static struct expression open_expression(struct netlink *n, const char *name)
{
	struct expression expression = { .element = netlink_open(n, NFTA_LIST_ELEM) };

	netlink_text(n, NFTA_EXPR_NAME, name);
	expression.data = netlink_open(n, NFTA_EXPR_DATA);
	return expression;
}

static void close_expression(struct netlink *n, struct expression expression)
{
	netlink_close(n, expression.data);
	netlink_close(n, expression.element);
}

static void load_meta(struct netlink *n, uint32_t key)
{
	struct expression expression = open_expression(n, "meta");

	netlink_ordered(n, NFTA_META_DREG, NFT_REG_1);
	netlink_ordered(n, NFTA_META_KEY, key);
	close_expression(n, expression);
}

static void load_header(struct netlink *n, uint32_t offset, uint32_t size)
{
	struct expression expression = open_expression(n, "payload");

	netlink_ordered(n, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_ordered(n, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
	netlink_ordered(n, NFTA_PAYLOAD_OFFSET, offset);
	netlink_ordered(n, NFTA_PAYLOAD_LEN, size);
	close_expression(n, expression);
}

static void value(struct netlink *n, uint16_t type, const void *data, size_t size)
{
	size_t opened = netlink_open(n, type);

	netlink_bytes(n, NFTA_DATA_VALUE, data, size);
	netlink_close(n, opened);
}

static void compare(struct netlink *n, uint32_t operation, const void *data, size_t size)
{
	struct expression expression = open_expression(n, "cmp");

	netlink_ordered(n, NFTA_CMP_SREG, NFT_REG_1);
	netlink_ordered(n, NFTA_CMP_OP, operation);
	value(n, NFTA_CMP_DATA, data, size);
	close_expression(n, expression);
}

/* Whether the connection's state is one of these bits. */
static void in_state(struct netlink *n, uint32_t bits)
{
	uint32_t none = 0;
	struct expression expression = open_expression(n, "ct");

	netlink_ordered(n, NFTA_CT_DREG, NFT_REG_1);
	netlink_ordered(n, NFTA_CT_KEY, NFT_CT_STATE);
	close_expression(n, expression);
	expression = open_expression(n, "bitwise");
	netlink_ordered(n, NFTA_BITWISE_SREG, NFT_REG_1);
	netlink_ordered(n, NFTA_BITWISE_DREG, NFT_REG_1);
	netlink_ordered(n, NFTA_BITWISE_LEN, sizeof(bits));
	value(n, NFTA_BITWISE_MASK, &bits, sizeof(bits));
	value(n, NFTA_BITWISE_XOR, &none, sizeof(none));
	close_expression(n, expression);
	compare(n, NFT_CMP_NEQ, &none, sizeof(none));
}

static void verdict(struct netlink *n, uint32_t code)
{
	struct expression expression = open_expression(n, "immediate");

	netlink_ordered(n, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	size_t data = netlink_open(n, NFTA_IMMEDIATE_DATA);
	size_t opened = netlink_open(n, NFTA_DATA_VERDICT);

	netlink_ordered(n, NFTA_VERDICT_CODE, code);
	netlink_close(n, opened);
	netlink_close(n, data);
	close_expression(n, expression);
}

static size_t open_rule(struct netlink *n)
{
	nftables(n, NFT_MSG_NEWRULE, NLM_F_APPEND);
	netlink_text(n, NFTA_RULE_TABLE, TABLE);
	netlink_text(n, NFTA_RULE_CHAIN, CHAIN);
	return netlink_open(n, NFTA_RULE_EXPRESSIONS);
}

static void drop_from_outside(struct netlink *n)
{
	char device[IFNAMSIZ] = "outside";
	size_t rule = open_rule(n);

	load_meta(n, NFT_META_IIFNAME);
	compare(n, NFT_CMP_EQ, device, sizeof(device));
	verdict(n, NF_DROP);
	netlink_close(n, rule);
}

static void drop_an_address(struct netlink *n)
{
	const unsigned char address[4] = { 10, 1, 2, 3 };
	size_t rule = open_rule(n);

	load_header(n, 12, sizeof(address));
	compare(n, NFT_CMP_EQ, address, sizeof(address));
	verdict(n, NF_DROP);
	netlink_close(n, rule);
}

static void count(struct netlink *n)
{
	size_t rule = open_rule(n);

	close_expression(n, open_expression(n, "counter"));
	netlink_close(n, rule);
}

static void accept_what_is_known(struct netlink *n)
{
	size_t rule = open_rule(n);

	in_state(n, NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED));
	verdict(n, NF_ACCEPT);
	netlink_close(n, rule);
}

static void accept_udp(struct netlink *n)
{
	const unsigned char protocol = 17;
	size_t rule = open_rule(n);

	load_header(n, 9, sizeof(protocol));
	compare(n, NFT_CMP_EQ, &protocol, sizeof(protocol));
	verdict(n, NF_ACCEPT);
	netlink_close(n, rule);
}

static void add_chain(struct netlink *n)
{
	nftables(n, NFT_MSG_NEWTABLE, 0);
	netlink_text(n, NFTA_TABLE_NAME, TABLE);
	nftables(n, NFT_MSG_NEWCHAIN, NLM_F_ACK);
	netlink_text(n, NFTA_CHAIN_TABLE, TABLE);
	netlink_text(n, NFTA_CHAIN_NAME, CHAIN);
	size_t hook = netlink_open(n, NFTA_CHAIN_HOOK);

	netlink_ordered(n, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_IN);
	netlink_ordered(n, NFTA_HOOK_PRIORITY, NF_IP_PRI_FILTER);
	netlink_close(n, hook);
	netlink_text(n, NFTA_CHAIN_TYPE, "filter");
}

/* Errors are answered at once, as is the acknowledgement that the chain asks for. */
static int answered(long fd)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)in;
	int error = 0;

	for (long size; (size = try(SYS_recvfrom, fd, AT(in), BUFFER, MSG_DONTWAIT, 0, 0)) > 0;)
		if (message->nlmsg_type == NLMSG_ERROR && !error)
			error = ((const struct nlmsgerr *)NLMSG_DATA(message))->error;
	if (error)
		fprintf(stderr, "nftables: %s\n", strerror(-error));
	return error ? -1 : 0;
}

int filter_packets(void)
{
	static void (*const steps[])(struct netlink *) = {
		add_chain, drop_from_outside, drop_an_address, count, accept_what_is_known, accept_udp,
	};
	static struct netlink n;
	long fd = call(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
	int failed = 0;

	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps) && !failed; i++) {
		n.size = 0;
		batch(&n, NFNL_MSG_BATCH_BEGIN);
		steps[i](&n);
		batch(&n, NFNL_MSG_BATCH_END);
		if (n.size > sizeof(n.data))
			return -1;
		call(SYS_sendto, fd, AT(n.data), (long)n.size, 0, 0, 0);
		failed = answered(fd);
	}
	call(SYS_close, fd);
	return failed;
}
