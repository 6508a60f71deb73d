/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a workload is. Adding one means adding one file to a folder of workloads/, which is a program
 * of its own (a workload beside others in one program would move their code, and their figures):
 *
 *	static int play(unsigned number) { ... return 0; }
 *
 *	WORKLOAD(my_workload) = {
 *		.name = "my-workload", .sets = "lab", .needs = "CONFIG_X", ...
 *		.round = play,
 *	};
 *
 * A round is a fixed piece of work: it depends on its number and on nothing else, least of all on
 * time. It checks its results. The user-mode part should be small: it is the kernel that is measured.
 *
 * Before every round the runner executes `application` small functions of user code (see
 * application.h), so that the kernel's code is as cold as in a real program.
 */
#ifndef KERNSMITH_WORKLOAD_H
#define KERNSMITH_WORKLOAD_H

struct workload {
	const char *name;
	const char *sets;		/* names of the sets it belongs to, separated by spaces */
	const char *description;	/* one sentence */
	const char *needs;		/* kernel config symbols, separated by spaces */
	unsigned rounds;		/* default rounds in the region of interest */
	unsigned warmup;		/* default rounds before it */
	unsigned application;		/* user functions executed before each round */
	int (*set_up)(void);		/* optional; 0, or an errno */
	int (*round)(unsigned number);	/* 0, or an errno */
	void (*tear_down)(void);	/* optional; also called when set_up or a round has failed */
};

#define WORKLOAD(identifier)								\
	static const struct workload identifier;					\
	static const struct workload *const identifier##_registered			\
		__attribute__((section("workloads"), used)) = &identifier;		\
	static const struct workload identifier

/* The catalogue: the linker collects what WORKLOAD registers, in the order of file names. */
extern const struct workload *const __start_workloads[];
extern const struct workload *const __stop_workloads[];

const struct workload *workload_find(const char *name);
void workload_list(void);	/* the whole catalogue as JSON on standard output */

#endif
