/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KERNSMITH_TRIAL_H
#define KERNSMITH_TRIAL_H

#include "batch.h"

/*
 * All runs of a trial, each in a process of its own, and their lines in the results; the first run
 * that fails is the last one. boot: the name of this boot. Returns 0, or the errno of what cannot be
 * written.
 */
int trial_run(const struct batch *batch, const struct trial *trial, const char *boot);

#endif
