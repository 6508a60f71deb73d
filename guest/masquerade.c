// SPDX-License-Identifier: GPL-2.0-or-later
#include "masquerade.h"

#include "netlink.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>

#define TABLE "kernsmith"
#define CHAIN "postrouting"

/* Messages of one batch take effect together, or not at all. */
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

static void add_table(struct netlink *n)
{
	nftables(n, NFT_MSG_NEWTABLE, 0);
	netlink_text(n, NFTA_TABLE_NAME, TABLE);
}

static void add_chain(struct netlink *n)
{
	nftables(n, NFT_MSG_NEWCHAIN, 0);
	netlink_text(n, NFTA_CHAIN_TABLE, TABLE);
	netlink_text(n, NFTA_CHAIN_NAME, CHAIN);
	size_t hook = netlink_open(n, NFTA_CHAIN_HOOK);

	netlink_ordered(n, NFTA_HOOK_HOOKNUM, NF_INET_POST_ROUTING);
	netlink_ordered(n, NFTA_HOOK_PRIORITY, NF_IP_PRI_NAT_SRC);
	netlink_close(n, hook);
	netlink_text(n, NFTA_CHAIN_TYPE, "nat");
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

static void leaves_by(struct netlink *n, const char *device)
{
	char name[IFNAMSIZ] = "";
	struct expression expression = open_expression(n, "meta");

	netlink_ordered(n, NFTA_META_DREG, NFT_REG_1);
	netlink_ordered(n, NFTA_META_KEY, NFT_META_OIFNAME);
	close_expression(n, expression);

	snprintf(name, sizeof(name), "%s", device);
	expression = open_expression(n, "cmp");
	netlink_ordered(n, NFTA_CMP_SREG, NFT_REG_1);
	netlink_ordered(n, NFTA_CMP_OP, NFT_CMP_EQ);
	size_t data = netlink_open(n, NFTA_CMP_DATA);

	netlink_bytes(n, NFTA_DATA_VALUE, name, sizeof(name));
	netlink_close(n, data);
	close_expression(n, expression);
}

static void add_rule(struct netlink *n, const char *device)
{
	nftables(n, NFT_MSG_NEWRULE, NLM_F_APPEND | NLM_F_ACK);
	netlink_text(n, NFTA_RULE_TABLE, TABLE);
	netlink_text(n, NFTA_RULE_CHAIN, CHAIN);
	size_t expressions = netlink_open(n, NFTA_RULE_EXPRESSIONS);

	leaves_by(n, device);
	close_expression(n, open_expression(n, "masq"));
	netlink_close(n, expressions);
}

int masquerade_at(const char *device)
{
	struct netlink n = { .size = 0 };

	batch(&n, NFNL_MSG_BATCH_BEGIN);
	add_table(&n);
	add_chain(&n);
	add_rule(&n, device);
	batch(&n, NFNL_MSG_BATCH_END);
	return netlink_ask(&n, NETLINK_NETFILTER, "masquerade by nftables");
}
