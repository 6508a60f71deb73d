/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file with known contents for the tests that read and map one. */
#ifndef KERNSMITH_LMBENCH_SCRATCH_H
#define KERNSMITH_LMBENCH_SCRATCH_H

#include <stddef.h>

enum { PIECE = 65536 };		/* what lmbench reads at once */

/*
 * A file below /tmp of `pieces` times PIECE bytes; its name is gone already. Piece i has the pattern
 * with seed i (transfer.h). 0, or an errno.
 */
int scratch_file(unsigned pieces, int *fd);

#endif
