// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The frame of a program: set-up, warm-up, the region, and what it tells.
 *
 * As a program of Linux it prints how many cycles of the time stamp counter each unit took; as the
 * first process of a guest it speaks the guest's console protocol and ends the machine.
 */
#include "program.h"

#include "../marker.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/reboot.h>
#include <termios.h>
#include <unistd.h>

/* LATENCY: of a 64-bit multiplication, on all of Intel's since Nehalem and AMD's since Zen. */
enum { UNITS = 4096, LATENCY = 3, CHAIN = 6144 };

/* Around each unit: its chain's begin, its own begin; behind the last one, a chain once more. */
static uint64_t stamps[UNITS + 1][2];
static uint64_t sums[2];

static inline uint64_t stamp(void)
{
	uint32_t low, high, processor;

	__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor) : : "memory");
	return (uint64_t)high << 32 | low;
}

/*
 * Multiplications of which each needs the one before: CHAIN cycles of the core, whatever else it does
 * and wherever this code lies. (Chains of additions run faster than one a cycle on some.) What they
 * take by the time stamp counter tells how fast the core runs just now.
 */
static void chain(uint64_t stamps_of[2])
{
	uint64_t link = 3, count = CHAIN / LATENCY / 16;

	stamps_of[0] = stamp();
	__asm__ volatile("1:\n\t"
			 ".rept 16\n\t"
			 "imul %0, %0\n\t"
			 ".endr\n\t"
			 "dec %1\n\t"
			 "jnz 1b" : "+r"(link), "+r"(count) : : "cc");
	stamps_of[1] = stamp();
}

static uint64_t pass(void)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (unsigned i = 0; i < program_units; i++) {
		chain(stamps[i]);
		sum = (sum ^ program_unit(i)) * 0x100000001b3u;
	}
	chain(stamps[program_units]);
	return sum;
}

static int run(void)
{
	/* Memory stays with the process: no page faults in the region. */
	mallopt(M_TRIM_THRESHOLD, -1);
	mallopt(M_MMAP_MAX, 0);
	if (program_units > UNITS || program_set_up())
		return 1;
	MARK(MARKER_ARM);
	sums[0] = pass();
	MARK(MARKER_BEGIN);
	sums[1] = pass();
	MARK(MARKER_END);
	return sums[0] == sums[1] ? 0 : 2;
}

static void tell_units(void)
{
	printf("kernsmith: sum %016" PRIx64 "\n", sums[1]);
	printf("kernsmith: chain %d", CHAIN);
	for (unsigned i = 0; i <= program_units; i++)
		printf(" %" PRIu64, stamps[i][1] - stamps[i][0]);
	printf("\nkernsmith: units");
	for (unsigned i = 0; i < program_units; i++)
		printf(" %" PRIu64, stamps[i + 1][0] - stamps[i][1]);
	printf("\n");
}

int main(void)
{
	int is_init = getpid() == 1;

	if (is_init) {
		printf("kernsmith: begin %s\n", program_name);
		fflush(stdout);
	}
	int status = run();

	if (!is_init) {
		if (status)
			fprintf(stderr, "%s: %s\n", program_name, status == 1 ? "set-up failed" :
				"two passes computed different sums");
		else
			tell_units();
		return status;
	}
	printf("kernsmith: end %s status=%d\n", program_name, status);
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
