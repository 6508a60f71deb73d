// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's side: compiled with the kernel's flags, linked into it.
 *
 * The load runs where init would be started, in a task that has no memory of its own. What it gives to
 * system calls lies in the kernel; so copies from and to a caller are plain ones here, as they are
 * on a processor that runs the kernel itself.
 */
#include <crypto/hash.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/init.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/signal.h>
#include <linux/string.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <asm/syscall.h>
#include <kern_util.h>

#include "uml.h"

unsigned long __wrap_raw_copy_from_user(void *to, const void *from, unsigned long size);
unsigned long __wrap_raw_copy_to_user(void *to, const void *from, unsigned long size);
long __wrap_strncpy_from_user(char *to, const char *from, long size);
long __wrap_strnlen_user(const char *text, long size);
unsigned long __wrap___clear_user(void *to, unsigned long size);

unsigned long __wrap_raw_copy_from_user(void *to, const void *from, unsigned long size)
{
	memcpy(to, from, size);
	return 0;
}

unsigned long __wrap_raw_copy_to_user(void *to, const void *from, unsigned long size)
{
	memcpy(to, from, size);
	return 0;
}

long __wrap_strncpy_from_user(char *to, const char *from, long size)
{
	long length = strnlen(from, size);

	memcpy(to, from, length < size ? length + 1 : length);
	return length;
}

long __wrap_strnlen_user(const char *text, long size)
{
	return strnlen(text, size) + 1;
}

unsigned long __wrap___clear_user(void *to, unsigned long size)
{
	memset(to, 0, size);
	return 0;
}

long kernel_call(long number, const long a[6])
{
	long result = sys_call_table[number](a[0], a[1], a[2], a[3], a[4], a[5]);

	interrupt_end();
	return result;
}

long kernel_fork(int (*run)(void *), void *argument)
{
	return user_mode_thread(run, argument, SIGCHLD);
}

void kernel_settle(void)
{
	flush_delayed_fput();
	rcu_barrier();
}

int kernel_digest(const char *algorithm, const void *data, unsigned size, unsigned char *digest)
{
	struct crypto_shash *hash = crypto_alloc_shash(algorithm, 0, 0);
	int error;

	if (IS_ERR(hash))
		return PTR_ERR(hash);
	error = crypto_shash_tfm_digest(hash, data, size, digest);
	crypto_free_shash(hash);
	return error;
}

static int __init run_load(void)
{
	host_leave(program_main());
}
late_initcall_sync(run_load);
