/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A test of UnixBench's index: a loop that UnixBench counts for some seconds, and that runs here for a
 * fixed number of times, as one copy (low load) and as COPIES of them at once (high load).
 */
#ifndef KERNSMITH_UNIXBENCH_TEST_H
#define KERNSMITH_UNIXBENCH_TEST_H

#include "workload.h"

enum {
	COPIES = 4,
	COLD = 64,		/* user functions executed before each `loops` (application.h) */
};

struct test {
	unsigned loops;		/* in a round of low load */
	unsigned turns;		/* times as many in a round of high load, in each copy */
	int (*set_up)(void);	/* optional; once in each copy. 0, or an errno */
	int (*loop)(unsigned number);
	void (*tear_down)(void);	/* optional */
};

int test_round(const struct test *test, unsigned number);
int copies_set_up(const struct test *test);
int copies_round(unsigned number);
void copies_tear_down(void);

/* Registers `identifier`, a struct test, with low load (`count` rounds) and with high load (`many`). */
#define TEST(identifier, title, need, text, count, many)				\
	static int identifier##_round(unsigned number)					\
	{										\
		return test_round(&identifier, number);					\
	}										\
	static int identifier##_copies(void)						\
	{										\
		return copies_set_up(&identifier);					\
	}										\
	static int identifier##_set_up(void)						\
	{										\
		return identifier.set_up ? identifier.set_up() : 0;			\
	}										\
	static void identifier##_tear_down(void)					\
	{										\
		if (identifier.tear_down)						\
			identifier.tear_down();						\
	}										\
	WORKLOAD(identifier##_low) = {							\
		.name = title,								\
		.sets = "unixbench",							\
		.description = text,							\
		.needs = need,								\
		.rounds = count,							\
		.warmup = count < 10 ? 1 : count / 10,					\
		.application = COLD,							\
		.set_up = identifier##_set_up,						\
		.round = identifier##_round,						\
		.tear_down = identifier##_tear_down,					\
	};										\
	WORKLOAD(identifier##_high) = {							\
		.name = title "-high",							\
		.sets = "unixbench-high",						\
		.description = text ", four copies at once",				\
		.needs = need,								\
		.rounds = many,								\
		.warmup = 1,								\
		.set_up = identifier##_copies,						\
		.round = copies_round,							\
		.tear_down = copies_tear_down,						\
	}

#endif
