/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a workload says what went wrong: an errno to return, and a sentence kept for the end line. */
#ifndef KERNSMITH_FAILURE_H
#define KERNSMITH_FAILURE_H

int failed(const char *what);		/* a system call: keeps `what`, returns errno */
int wrong(const char *what);		/* a result: keeps `what`, returns EBADMSG */
const char *failure_text(void);		/* of the first failure; "" when there was none */

#endif
