// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "application.h"
#include "failure.h"
#include "partner.h"
#include "transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

static const uint32_t stop = UINT32_MAX;

static const struct test *test;
static int begin[COPIES][2], ended[2] = { -1, -1 };	/* pipes to each copy, and from all */

int test_round(const struct test *one, unsigned number)
{
	int error = 0;

	for (unsigned i = 0; i < one->loops && !error; i++)
		error = one->loop(number * one->loops + i);
	return error;
}

/* One copy: waits for the number of a round, and says how it ended. */
static int run_copy(int own)
{
	uint32_t number;
	int error = test->set_up ? test->set_up() : 0;

	while (!receive_all(begin[own][0], &number, sizeof(number)) && number != stop) {
		for (unsigned i = 0; i < test->turns && !error; i++) {
			application_run(COLD);
			error = test_round(test, number * test->turns + i);
		}
		if (write(ended[1], &error, sizeof(error)) != sizeof(error))
			return EIO;
	}
	if (test->tear_down)
		test->tear_down();
	return 0;
}

int copies_set_up(const struct test *one)
{
	int error = 0;

	test = one;
	if (pipe2(ended, O_CLOEXEC))
		return failed("pipe2");
	for (int i = 0; i < COPIES && !error; i++) {
		if (pipe2(begin[i], O_CLOEXEC))
			return failed("pipe2");
		error = partner_start(run_copy, i);
		close(begin[i][0]);
	}
	return error;
}

int copies_round(unsigned number)
{
	uint32_t word = number;
	int error = 0, its = 0;

	for (unsigned i = 0; i < COPIES && !error; i++)
		error = send_all(begin[i][1], &word, sizeof(word));
	for (unsigned i = 0; i < COPIES && !error; i++) {
		error = receive_all(ended[0], &its, sizeof(its));
		if (!error && its) {
			errno = its;
			error = failed("a copy of the test");
		}
	}
	return error;
}

void copies_tear_down(void)
{
	for (unsigned i = 0; i < COPIES; i++)
		if (begin[i][1] > 0)
			send_all(begin[i][1], &stop, sizeof(stop));
}
