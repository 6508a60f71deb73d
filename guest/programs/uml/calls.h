/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls of the load, and the pieces of its work: each makes what it needs and takes it away
 * again, and returns a sum over what it was told.
 */
#ifndef KERNSMITH_CALLS_H
#define KERNSMITH_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* A system call that may fail, and one that must not: it ends the program. */
#define try(...) attempted((const long[7]){ __VA_ARGS__ })
#define call(...) succeeded((const long[7]){ __VA_ARGS__ })
#define AT(pointer) (long)(pointer)

long attempted(const long words[7]);
long succeeded(const long words[7]);

/* Memory to send, to write and to receive. */
enum { BUFFER = 1 << 14 };
extern unsigned char out[BUFFER], in[BUFFER];

/* Each returns 0, or -1 when it went wrong. */
int set_up_files(void);
int set_up_network(void);
int set_up_tasks(void);

uint64_t tree_of_files(unsigned number);
uint64_t file_contents(unsigned number);
uint64_t tables_of_kernel(unsigned number);
uint64_t watched_files(unsigned number);
uint64_t tcp_stream(unsigned number);
uint64_t tcp_connections(unsigned number);
uint64_t udp_packets(unsigned number);
uint64_t local_sockets(unsigned number);
uint64_t routing_messages(unsigned number);
uint64_t pipes(unsigned number);
uint64_t events(unsigned number);
uint64_t switches(unsigned number);
uint64_t messages(unsigned number);
uint64_t questions(unsigned number);
uint64_t digests(unsigned number);

#endif
