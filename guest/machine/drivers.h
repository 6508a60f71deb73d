/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without which drivers a kernel would not find the machine's root, or its network. */
#ifndef KERNSMITH_DRIVERS_H
#define KERNSMITH_DRIVERS_H

/*
 * Tells three lists as look() does: `root-drivers`, of all devices between the root file system and
 * the processor, by the names of their modules, or by their own where they have none;
 * `root-file-system`; and `network-drivers`, of the interface that leads to others.
 */
void tell_drivers(void);

#endif
