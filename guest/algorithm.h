/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's cryptographic algorithms through AF_ALG sockets. */
#ifndef KERNSMITH_ALGORITHM_H
#define KERNSMITH_ALGORITHM_H

#include <stddef.h>

/*
 * An operation socket of algorithm `name` ("sha256") of `type` ("hash"), with a key when `key_size`
 * is not zero. 0, or an errno: ENOENT when the kernel does not have it or does not allow it here.
 */
int algorithm_open(const char *type, const char *name, const void *key, size_t key_size, int *fd);

#endif
