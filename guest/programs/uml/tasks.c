// SPDX-License-Identifier: GPL-2.0-or-later
/* Tasks and what they tell one another by, waiting, questions to the kernel, and its crypto. */
#include "../program.h"

#include "calls.h"
#include "uml.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>

enum { PARTNERS = 2, READ = 0, WRITE = 1 };

/* To and from each partner. */
static int to[PARTNERS][2], from[PARTNERS][2];

/* A partner sends back what it is sent, a little changed. */
static int partner(void *argument)
{
	long mine = (long)argument;
	unsigned char text[64];

	for (;;) {
		long size = call(SYS_read, to[mine][READ], AT(text), sizeof(text));

		text[0]++;
		call(SYS_write, from[mine][WRITE], AT(text), size);
	}
	return 0;
}

int set_up_tasks(void)
{
	for (long i = 0; i < PARTNERS; i++) {
		call(SYS_pipe2, AT(to[i]), 0);
		call(SYS_pipe2, AT(from[i]), 0);
	}
	for (long i = 0; i < PARTNERS; i++)
		if (kernel_fork(partner, (void *)i) < 0)
			return -1;
	return 0;
}

uint64_t switches(unsigned number)
{
	struct timespec moment = { .tv_nsec = 20000 };
	uint64_t sum = 0;

	for (unsigned i = 0; i < 10; i++) {
		unsigned which = (number + i) % PARTNERS;

		call(SYS_write, to[which][WRITE], AT(out + i), 8 + i);
		if (i % 3 == 2)	/* both at work */
			call(SYS_write, to[!which][WRITE], AT(out + i), 4);
		sum = sum * 3 + (uint64_t)call(SYS_read, from[which][READ], AT(in), 64);
		sum = fold(sum, in, 8);
		if (i % 3 == 2)
			sum += (uint64_t)call(SYS_read, from[!which][READ], AT(in), 64);
		call(SYS_sched_yield);
	}
	call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, AT(&moment), 0);
	return sum;
}

uint64_t pipes(unsigned number)
{
	long file = call(SYS_open, AT("pipe-content"), O_CREAT | O_RDWR, 0600);
	int one[2], other[2], left;
	uint64_t sum = 0;

	call(SYS_pipe2, AT(one), O_CLOEXEC);
	call(SYS_pipe2, AT(other), O_NONBLOCK);
	for (unsigned i = 0; i < 6; i++) {
		long size = 1 + (number * 101 + i * 700) % 5000;

		call(SYS_write, one[WRITE], AT(out), size);
		call(SYS_write, one[WRITE], AT(out), 10);
		sum = sum * 3 + (uint64_t)call(SYS_tee, one[READ], other[WRITE], 3000, 0);
		while (size > -10)
			size -= call(SYS_read, one[READ], AT(in), 2048);
		while (try(SYS_read, other[READ], AT(in), BUFFER) > 0)
			;
	}
	call(SYS_write, file, AT(out), 6000);
	call(SYS_lseek, file, 0, SEEK_SET);
	sum += (uint64_t)call(SYS_splice, file, 0, one[WRITE], 0, 5000, 0);
	call(SYS_ioctl, one[READ], 0x541b /* FIONREAD */, AT(&left));
	sum += (uint64_t)left;
	sum += (uint64_t)call(SYS_splice, one[READ], 0, file, 0, 4000, 0);
	call(SYS_fcntl, other[READ], F_GETPIPE_SZ);
	for (unsigned i = 0; i < 2; i++) {
		call(SYS_close, one[i]);
		call(SYS_close, other[i]);
	}
	call(SYS_close, file);
	call(SYS_unlink, AT("pipe-content"));
	return sum;
}

uint64_t events(unsigned number)
{
	enum { SOURCES = 8 };
	struct itimerspec soon = { .it_value = { .tv_nsec = 1 } };
	struct epoll_event ready[SOURCES];
	long queue = call(SYS_epoll_create1, 0), sources[SOURCES];
	uint64_t sum = 0, value = number + 1;

	for (long i = 0; i < SOURCES; i++) {
		struct epoll_event wanted = { .events = EPOLLIN, .data.u64 = (uint64_t)i };

		sources[i] = i == 3 ? call(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_NONBLOCK) :
			call(SYS_eventfd2, 0, EFD_NONBLOCK);
		call(SYS_epoll_ctl, queue, EPOLL_CTL_ADD, sources[i], AT(&wanted));
	}
	call(SYS_timerfd_settime, sources[3], 0, AT(&soon), 0);
	for (unsigned round = 0; round < 6; round++) {
		for (unsigned i = 0; i < 4; i++) {
			unsigned which = (number + round + i * 3) % SOURCES;

			if (which != 3)
				call(SYS_write, sources[which], AT(&value), sizeof(value));
		}
		long count = call(SYS_epoll_pwait, queue, AT(ready), SOURCES, 0, 0);

		for (long i = 0; i < count; i++)
			if (ready[i].data.u64 != 3) {
				call(SYS_read, sources[ready[i].data.u64], AT(in), 8);
				sum = fold(sum, in, 8) + ready[i].data.u64;
			}
	}
	call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, AT(&soon.it_value), 0);
	call(SYS_epoll_pwait, queue, AT(ready), SOURCES, 0, 0);
	sum += (uint64_t)call(SYS_read, sources[3], AT(in), 8);
	for (unsigned i = 0; i < SOURCES; i++) {
		call(SYS_epoll_ctl, queue, EPOLL_CTL_DEL, sources[i], 0);
		call(SYS_close, sources[i]);
	}
	call(SYS_close, queue);
	return sum;
}

/* Queues and semaphores of System V, and a file that is only memory. */
uint64_t messages(unsigned number)
{
	struct {
		long type;
		char text[600];
	} message = { .type = 1 };
	struct sembuf steps[2] = { { 0, 3, 0 }, { 1, 2, 0 } }, back[2] = { { 0, -3, 0 }, { 1, -2, 0 } };
	long queue = call(SYS_msgget, IPC_PRIVATE, 0600);
	long semaphores = call(SYS_semget, IPC_PRIVATE, 4, 0600);
	long memory = call(SYS_memfd_create, AT("memory"), MFD_ALLOW_SEALING);
	uint64_t sum = 0;

	for (long i = 0; i < 6; i++) {
		message.type = 1 + i % 3;
		memcpy(message.text, out + 16 * i, sizeof(message.text));
		call(SYS_msgsnd, queue, AT(&message), 100 + (number + i) % 400, 0);
		call(SYS_semop, semaphores, AT(steps), 2);
	}
	for (long i = 0; i < 6; i++) {
		sum = sum * 3 + (uint64_t)call(SYS_msgrcv, queue, AT(&message), 600, 3 - i / 2, 0);
		sum = fold(sum, message.text, 12);
		call(SYS_semop, semaphores, AT(back), 2);
	}
	call(SYS_write, memory, AT(out), 5000);
	call(SYS_fcntl, memory, F_ADD_SEALS, F_SEAL_SHRINK);
	sum += (uint64_t)-try(SYS_ftruncate, memory, 10);
	call(SYS_close, memory);
	call(SYS_msgctl, queue, IPC_RMID, 0);
	call(SYS_semctl, semaphores, 0, IPC_RMID, 0);
	return sum;
}

/* Small system calls that ask or set something. */
uint64_t questions(unsigned number)
{
	struct rlimit limit;
	struct utsname names;
	struct timespec now;
	struct sysinfo info;
	struct rusage usage;
	struct tms times;
	uint64_t sum = 0;

	for (unsigned i = 0; i < 12; i++) {
		sum += (uint64_t)call(SYS_getpid) + (uint64_t)call(SYS_getuid);
		call(SYS_clock_gettime, (number + i) % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, AT(&now));
		call(SYS_uname, AT(&names));
		call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, AT(&limit));
		sum += limit.rlim_cur;
		call(SYS_getrusage, RUSAGE_SELF, AT(&usage));
		call(SYS_times, AT(&times));
		call(SYS_sysinfo, AT(&info));
		call(SYS_umask, 022);
		sum += (uint64_t)call(SYS_getcwd, AT(in), 256);
		sum += (uint64_t)call(SYS_dup2, to[0][READ], 60);
		sum += (uint64_t)call(SYS_fcntl, 60, F_SETFD, FD_CLOEXEC);
		call(SYS_close, 60);
		sum += (uint64_t)call(SYS_sched_getaffinity, 0, 128, AT(in));
		sum += (uint64_t)call(SYS_getpriority, PRIO_PROCESS, 0);
		sum += (uint64_t)call(SYS_getrandom, AT(in), 40, 0);
	}
	return sum;
}

uint64_t digests(unsigned number)
{
	static const char *const algorithms[] = { "md5", "sha512", "sha256", "sha1" };
	unsigned char digest[64] = { 0 };
	uint64_t sum = 0;

	for (unsigned i = 0; i < 3; i++) {
		const char *algorithm = algorithms[(number + i) % 4];
		int error = kernel_digest(algorithm, out + i, 600 + number, digest);

		if (error) {
			fprintf(stderr, "%s: %s\n", algorithm, strerror(-error));
			host_leave(3);
		}
		sum = fold(sum, digest, sizeof(digest));
	}
	return sum;
}
