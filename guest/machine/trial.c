// SPDX-License-Identifier: GPL-2.0-or-later
#include "trial.h"

#include "../failure.h"
#include "../runner.h"
#include "beside.h"
#include "line.h"
#include "watchdog.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_SAID 100
#define METRIC "kernsmith: metric "	/* with what a figure begins (timed/region.h) */
#define MOST_TO_DIE 30		/* seconds that a process may take to end once it is killed */

static long long nanoseconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/*
 * What a workload has in the guest: one processor, and a /tmp in memory, empty and its own. Who may
 * not mount has the machine's.
 */
static int prepare(const struct trial *trial)
{
	cpu_set_t processors;

	if (trial->processor == LAST_PROCESSOR || trial->processor >= 0) {
		long last = sysconf(_SC_NPROCESSORS_ONLN) - 1;

		CPU_ZERO(&processors);
		CPU_SET((size_t)(trial->processor < 0 ? last : trial->processor), &processors);
		if (sched_setaffinity(0, sizeof(processors), &processors))
			return failed("the processor of the trial");
	}
	if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777"))
		return failed("mount of /tmp");
	return 0;
}

/* What is left of it when the runner dies does not hold the batch's lock. */
static _Noreturn void play(const struct batch *batch, const struct trial *trial, int output,
			   pid_t runner)
{
	close(batch->folder);
	close(batch->results);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != runner)
		_exit(1);	/* it died in the meantime */
	dup2(output, STDOUT_FILENO);
	int error = prepare(trial);

	if (error)
		printf("kernsmith: end %s status=%d %s\n", trial->workload, error, failure_text());
	else
		error = run_workload(trial->workload, trial->rounds, trial->warmup);
	fflush(stdout);
	_exit(error ? 1 : 0);
}

/* How a run ended, as its process says it. */
struct ending {
	int status;
	int said;
	char text[160];
};

static int take_line(const struct batch *batch, const struct trial *trial, int run, char *line,
		     struct ending *ending)
{
	static const char end[] = "kernsmith: end ";
	const char *status;

	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, end, strlen(end)) == 0 && (status = strstr(line, " status="))) {
		const char *text = strchr(status + 1, ' ');

		ending->status = atoi(status + strlen(" status="));
		snprintf(ending->text, sizeof(ending->text), "%s", text ? text + 1 : "");
		return 0;
	}
	if (strncmp(line, METRIC, strlen(METRIC)) == 0)
		return line_append(batch->results, "metric %s %d %s", trial->name, run,
				   line + strlen(METRIC));
	if (!*line || ending->said++ >= MOST_SAID)
		return 0;
	return line_append(batch->results, "said %s %d %s", trial->name, run, line);
}

/* Waits for the end of a run's output, and tells the watchdog meanwhile that the machine lives. */
static void listen(const struct trial *trial, int output, char *said, size_t size, struct ending *ending)
{
	long long deadline = nanoseconds(CLOCK_MONOTONIC) + trial->seconds * 1000000000LL;
	size_t length = 0;

	for (;;) {
		long long left = (deadline - nanoseconds(CLOCK_MONOTONIC)) / 1000000;
		struct pollfd ready = { .fd = output, .events = POLLIN };

		if (left <= 0) {
			ending->status = ETIMEDOUT;
			snprintf(ending->text, sizeof(ending->text), "no end after %d s",
				 trial->seconds);
			break;
		}
		watchdog_touch();
		if (poll(&ready, 1, left < WATCHDOG_PERIOD ? (int)left : WATCHDOG_PERIOD) != 1)
			continue;
		ssize_t count = read(output, said + length, size - 1 - length);

		if (count <= 0)
			break;
		length += (size_t)count;
		if (length == size - 1)
			length = 0;	/* nobody needs so much */
	}
	said[length] = '\0';
}

/*
 * A process that was killed ends, unless the kernel does not let it: a driver that waits for ever, a
 * lock that nobody leaves. Nothing in that kernel is worth measuring then.
 */
static int bury(const struct trial *trial, pid_t child)
{
	int seconds = trial->seconds < MOST_TO_DIE ? trial->seconds : MOST_TO_DIE;
	long long deadline = nanoseconds(CLOCK_MONOTONIC) + seconds * 1000000000LL;

	while (waitpid(child, NULL, WNOHANG) == 0) {
		if (nanoseconds(CLOCK_MONOTONIC) > deadline) {
			errno = ETIME;
			return failed("the workload was killed and stays in the kernel");
		}
		watchdog_touch();
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return 0;
}

static int run_once(const struct batch *batch, const struct trial *trial, int run, const char *boot,
		    int *status)
{
	static char said[1 << 16];
	struct ending ending = { .status = EIO, .text = "it ended without a word" };
	struct beside before, after;
	int pipes[2], error, users = people();

	beside_look(&before);

	error = line_append(batch->results, "begin %s %d %s %lld %lld", trial->name, run, boot,
			    nanoseconds(CLOCK_MONOTONIC_RAW), nanoseconds(CLOCK_REALTIME));
	if (error)
		return error;
	if (pipe(pipes))
		return failed("pipe");
	pid_t runner = getpid(), child = fork();

	if (child < 0)
		return failed("fork");
	if (child == 0) {
		close(pipes[0]);
		play(batch, trial, pipes[1], runner);
	}
	setpgid(child, child);
	close(pipes[1]);
	listen(trial, pipes[0], said, sizeof(said), &ending);
	kill(-child, SIGKILL);	/* what goes on behind its end, or its time */
	close(pipes[0]);
	if (bury(trial, child)) {
		/* No `done` follows: machine/batch.py tells a hang by that. */
		line_append(batch->results, "end %s %d %d %lld %lld stays in the kernel", trial->name,
			    run, ETIMEDOUT, nanoseconds(CLOCK_MONOTONIC_RAW),
			    nanoseconds(CLOCK_REALTIME));
		return ETIME;
	}
	beside_look(&after);
	int more = people();

	for (char *line = strtok(said, "\n"); line && !error && ending.status != ETIMEDOUT;
	     line = strtok(NULL, "\n"))
		error = take_line(batch, trial, run, line, &ending);
	*status = ending.status;
	if (!error)
		error = line_append(batch->results, "beside %s %d %d %lld %.2f", trial->name, run,
				    more > users ? more : users, after.asleep - before.asleep,
				    after.busy - before.busy - (after.own - before.own));
	return error ? error :
	       line_append(batch->results, "end %s %d %d %lld %lld %s", trial->name, run,
			   ending.status, nanoseconds(CLOCK_MONOTONIC_RAW),
			   nanoseconds(CLOCK_REALTIME), ending.status ? ending.text : "");
}

int trial_run(const struct batch *batch, const struct trial *trial, const char *boot)
{
	int error = 0, status = 0;

	watchdog_open();
	for (int run = 0; run < trial->runs && !error && !status; run++)
		error = run_once(batch, trial, run, boot, &status);
	watchdog_close();
	return error ? error : line_append(batch->results, "done %s %d", trial->name, status);
}
