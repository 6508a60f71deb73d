/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KERNSMITH_FILTER_H
#define KERNSMITH_FILTER_H

/*
 * What these lines of nft would do: 0, or -1.
 *
 *	table ip kernsmith {
 *		chain input {
 *			type filter hook input priority filter
 *			iifname "outside" drop
 *			ip saddr 10.1.2.3 drop
 *			counter
 *			ct state established,related accept
 *			ip protocol udp accept
 *		}
 *	}
 */
int filter_packets(void);

#endif
