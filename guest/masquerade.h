/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KERNSMITH_MASQUERADE_H
#define KERNSMITH_MASQUERADE_H

/*
 * In the current network namespace, what these lines of nft would do: 0, or an errno.
 *
 *	table ip kernsmith {
 *		chain postrouting {
 *			type nat hook postrouting priority srcnat
 *			oifname DEVICE masquerade
 *		}
 *	}
 */
int masquerade_at(const char *device);

#endif
