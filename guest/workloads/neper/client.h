/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client of neper's tests: `flows` connections at once, of which it waits for any by epoll. */
#ifndef KERNSMITH_NEPER_CLIENT_H
#define KERNSMITH_NEPER_CLIENT_H

#include "place.h"

enum { MANY_FLOWS = 100 };

/* All return 0, or an errno. A round is one request, or one piece of a stream, of each flow. */
int client_set_up(enum place place, int type, unsigned flows);	/* and connects each of them */
int client_set_up_fresh(enum place place, unsigned flows);	/* connections are made in each round */
int client_set_up_stream(enum place place, unsigned flows);

int client_requests(unsigned number);
int client_fresh_requests(unsigned number);
int client_stream(unsigned number);

void client_tear_down(void);

#endif
