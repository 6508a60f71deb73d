// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls through Android's Binder (include/uapi/linux/android/binder.h), which Linux 7.3 has a driver
 * in Rust of: a client calls the context's manager and waits for its reply.
 */
#include "failure.h"
#include "partner.h"
#include "transfer.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 4096, MAPPED = 128 * 1024 };
enum { CALL = 1, LEAVE };	/* what the manager is asked for */

#define FOLDER "/tmp/binder"

/* A command of a process to the driver, with what may stand before it: the last buffer is free. */
struct freed {
	uint32_t command;
	binder_uintptr_t buffer;
} __attribute__((packed));

struct sent {
	struct freed freed;
	uint32_t command;
	struct binder_transaction_data data;
} __attribute__((packed));

/* What one process has of the driver. */
struct end {
	int device;
	void *mapped;
	binder_uintptr_t last;		/* the buffer of the driver's that was read last, or 0 */
	struct binder_transaction_data got;
};

static struct end client = { .device = -1 };
static char message[LARGEST];

static size_t size_of(unsigned number)
{
	static const size_t sizes[] = { 4, 64, 1024, 4, 512, 16, LARGEST, 128 };

	return sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
}

static int end_open(struct end *end)
{
	end->device = open(FOLDER "/binder", O_RDWR | O_CLOEXEC);
	if (end->device < 0)
		return failed("open " FOLDER "/binder");
	end->mapped = mmap(NULL, MAPPED, PROT_READ, MAP_PRIVATE, end->device, 0);
	return end->mapped == MAP_FAILED ? failed("mmap of binder") : 0;
}

/* Hands commands over, and waits until the driver says `wanted`, whose data it keeps. */
static int exchange(struct end *end, const void *commands, size_t size, uint32_t wanted)
{
	char returned[512];

	for (;;) {
		struct binder_write_read both = {
			.write_size = size,
			.write_buffer = (binder_uintptr_t)(uintptr_t)commands,
			.read_size = sizeof(returned),
			.read_buffer = (binder_uintptr_t)(uintptr_t)returned,
		};

		if (ioctl(end->device, BINDER_WRITE_READ, &both))
			return failed("BINDER_WRITE_READ");
		size = 0;
		for (size_t at = 0; at + sizeof(uint32_t) <= both.read_consumed;) {
			uint32_t code;

			memcpy(&code, returned + at, sizeof(code));
			at += sizeof(code);
			if (code == wanted) {
				memcpy(&end->got, returned + at, sizeof(end->got));
				end->last = end->got.data.ptr.buffer;
				return 0;
			}
			if (code != BR_NOOP && code != BR_TRANSACTION_COMPLETE)
				return wrong("what binder returned");
			at += _IOC_SIZE(code);
		}
	}
}

/* A call to the manager, or a reply to the call that was read last; what was read last is freed. */
static struct sent prepared(const struct end *end, uint32_t command, const void *data, size_t size)
{
	return (struct sent){
		.freed = { .command = BC_FREE_BUFFER, .buffer = end->last },
		.command = command,
		.data = {
			.code = CALL,
			.data_size = size,
			.data.ptr.buffer = (binder_uintptr_t)(uintptr_t)data,
		},
	};
}

static int send_data(struct end *end, uint32_t command, const void *data, size_t size,
		     uint32_t wanted)
{
	struct sent sent = prepared(end, command, data, size);
	size_t skipped = end->last ? 0 : sizeof(sent.freed);

	return exchange(end, (const char *)&sent + skipped, sizeof(sent) - skipped, wanted);
}

static const void *got_data(const struct end *end)
{
	return (const void *)(uintptr_t)end->got.data.ptr.buffer;
}

/* Answers every call with the call's own data. */
static int serve(int ready)
{
	static char copy[LARGEST];
	struct end server = { .device = -1 };
	uint32_t enter = BC_ENTER_LOOPER;
	int error = end_open(&server);

	if (!error && ioctl(server.device, BINDER_SET_CONTEXT_MGR, 0))
		error = failed("BINDER_SET_CONTEXT_MGR");
	if (write(ready, &error, sizeof(error)) != sizeof(error) || error)
		return error ? error : EIO;
	error = exchange(&server, &enter, sizeof(enter), BR_TRANSACTION);
	while (!error && server.got.code == CALL) {
		size_t size = server.got.data_size;

		if (size > sizeof(copy))
			return EMSGSIZE;
		memcpy(copy, got_data(&server), size);
		error = send_data(&server, BC_REPLY, copy, size, BR_TRANSACTION);
	}
	return error;
}

static int set_up(void)
{
	int ready[2], refused = 0;

	if (mkdir(FOLDER, 0755) && errno != EEXIST)
		return failed("mkdir " FOLDER);
	if (mount("binder", FOLDER, "binder", 0, NULL))
		return failed("mount binder");
	if (pipe2(ready, O_CLOEXEC))
		return failed("pipe2");
	int error = partner_start(serve, ready[1]);

	close(ready[1]);
	if (!error)	/* the manager is there before the first call */
		error = receive_all(ready[0], &refused, sizeof(refused));
	close(ready[0]);
	if (!error && refused)
		error = wrong("the manager's beginning");
	return error ? error : end_open(&client);
}

static int play(unsigned number)
{
	size_t size = size_of(number);

	pattern_fill(message, size, number);
	int error = send_data(&client, BC_TRANSACTION, message, size, BR_REPLY);

	if (!error && (client.got.data_size != size ||
		       !pattern_matches(got_data(&client), size, number)))
		error = wrong("reply through binder");
	return error;
}

/* A call without a reply, after which the partner ends. */
static void tear_down(void)
{
	struct sent sent = prepared(&client, BC_TRANSACTION, NULL, 0);

	sent.data.code = LEAVE;
	sent.data.flags = TF_ONE_WAY;
	struct binder_write_read leave = {
		.write_size = sizeof(sent) - sizeof(sent.freed),
		.write_buffer = (binder_uintptr_t)(uintptr_t)&sent + sizeof(sent.freed),
	};

	if (client.device < 0)
		return;
	ioctl(client.device, BINDER_WRITE_READ, &leave);
	close(client.device);
}

WORKLOAD(binder) = {
	.name = "binder",
	.sets = "rust",
	.description = "Calls of one process to another through Android's Binder, 4 bytes to 4 KiB",
	.needs = "CONFIG_ANDROID_BINDER_IPC_RUST",
	.rounds = 1500,
	.warmup = 120,
	.application = 48,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
