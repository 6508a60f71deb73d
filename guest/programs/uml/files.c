// SPDX-License-Identifier: GPL-2.0-or-later
/* Files on a tmpfs, the kernel's own tables as files, and who watches them. */
#include "../program.h"

#include "calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>

int set_up_files(void)
{
	call(SYS_mkdir, AT("/work"), 0755);
	call(SYS_mount, AT("work"), AT("/work"), AT("tmpfs"), 0, 0);
	call(SYS_mkdir, AT("/proc"), 0555);
	call(SYS_mount, AT("proc"), AT("/proc"), AT("proc"), 0, 0);
	call(SYS_chdir, AT("/work"));
	return 0;
}

static uint64_t listed(const char *folder)
{
	long fd = call(SYS_open, AT(folder), O_RDONLY | O_DIRECTORY);
	uint64_t entries = 0;

	for (long size; (size = call(SYS_getdents64, fd, AT(in), 512)) > 0;)
		for (long at = 0; at < size; at += ((const struct dirent64 *)(in + at))->d_reclen)
			entries++;
	call(SYS_close, fd);
	return entries;
}

/* Names: made, linked, renamed, looked up, listed, removed. */
uint64_t tree_of_files(unsigned number)
{
	char name[64], other[64];
	struct stat status;
	uint64_t sum = 0;

	call(SYS_mkdir, AT("tree"), 0755);
	call(SYS_mkdir, AT("tree/branch"), 0755);
	for (unsigned i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "tree/leaf-%u-%u", number % 7, i);
		snprintf(other, sizeof(other), "tree/branch/%u.%s", i, "renamed");
		long fd = call(SYS_open, AT(name), O_CREAT | O_EXCL | O_WRONLY, 0644);

		call(SYS_write, fd, AT(out), 100 * i);
		call(SYS_close, fd);
		call(SYS_rename, AT(name), AT(other));
		call(SYS_stat, AT(other), AT(&status));
		sum += (uint64_t)status.st_size * (i + 1);
		call(SYS_link, AT(other), AT(name));
		sum += (uint64_t)-try(SYS_open, AT("tree/nothing"), O_RDONLY);
	}
	call(SYS_symlink, AT("branch/3.renamed"), AT("tree/symbol"));
	sum += (uint64_t)call(SYS_readlink, AT("tree/symbol"), AT(in), 64);
	call(SYS_chmod, AT("tree/symbol"), 0600);
	call(SYS_faccessat, AT_FDCWD, AT("tree/symbol"), R_OK);
	sum = sum * 31 + listed("tree") * 7 + listed("tree/branch");
	for (unsigned i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "tree/leaf-%u-%u", number % 7, i);
		snprintf(other, sizeof(other), "tree/branch/%u.renamed", i);
		call(SYS_unlink, AT(name));
		call(SYS_unlink, AT(other));
	}
	call(SYS_unlink, AT("tree/symbol"));
	call(SYS_rmdir, AT("tree/branch"));
	call(SYS_rmdir, AT("tree"));
	return sum;
}

/* Content: written, read back at other places, cut, copied inside the kernel. */
uint64_t file_contents(unsigned number)
{
	long fd = call(SYS_open, AT("content"), O_CREAT | O_RDWR, 0600);
	long copy = call(SYS_open, AT("copy"), O_CREAT | O_RDWR, 0600);
	struct iovec parts[3] = {
		{ out, 1000 }, { out + 5000, 700 + number % 100 }, { out + 9000, 64 },
	};
	struct statfs statistics;
	uint64_t sum = 0;
	long offset = 100;

	for (unsigned i = 0; i < 6; i++)
		call(SYS_write, fd, AT(out + 64 * i), 512 + 333 * i);
	sum += (uint64_t)call(SYS_writev, fd, AT(parts), 3);
	for (unsigned i = 0; i < 10; i++) {
		long size = call(SYS_pread64, fd, AT(in), 300 + 150 * i, 200 * i + number % 64);

		sum = fold(sum, in, (size_t)(size < 24 ? size : 24)) + (uint64_t)size;
	}
	sum += (uint64_t)call(SYS_sendfile, copy, fd, AT(&offset), 3000);
	call(SYS_ftruncate, fd, 1500);
	call(SYS_fallocate, fd, 0, 8192, 4096);
	sum += (uint64_t)call(SYS_lseek, fd, 0, SEEK_END);
	call(SYS_lseek, copy, -40, SEEK_END);
	sum += (uint64_t)call(SYS_read, copy, AT(in), 100);
	sum = fold(sum, in, 40);
	call(SYS_fsync, fd);
	call(SYS_fstatfs, fd, AT(&statistics));
	sum += (uint64_t)statistics.f_type;
	call(SYS_close, fd);
	call(SYS_close, copy);
	call(SYS_unlink, AT("content"));
	call(SYS_unlink, AT("copy"));
	return sum;
}

/* What the kernel tells of itself: text made anew at each read. */
uint64_t tables_of_kernel(unsigned number)
{
	static const char *const tables[] = {
		"/proc/meminfo", "/proc/self/status", "/proc/self/mounts", "/proc/net/tcp",
		"/proc/stat", "/proc/filesystems", "/proc/net/snmp", "/proc/self/stat",
		"/proc/net/dev", "/proc/loadavg", "/proc/slabinfo", "/proc/sys/kernel/hostname",
	};
	uint64_t read = 0;

	for (unsigned i = 0; i < 3; i++) {
		unsigned table = (number * 3 + i * 5) % (sizeof(tables) / sizeof(*tables));
		long fd = try(SYS_open, AT(tables[table]), O_RDONLY);

		if (fd < 0)
			continue;
		while (call(SYS_read, fd, AT(in), 1024) > 0)
			;
		call(SYS_close, fd);
		read |= 1u << table;
	}
	return read;
}

uint64_t watched_files(unsigned number)
{
	long watch = call(SYS_inotify_init1, IN_NONBLOCK);
	long folder, size;
	uint64_t sum = 0;

	call(SYS_mkdir, AT("watched"), 0755);
	folder = call(SYS_inotify_add_watch, watch, AT("watched"), IN_ALL_EVENTS);
	for (unsigned i = 0; i < 4; i++) {
		long fd = call(SYS_open, AT("watched/file"), O_CREAT | O_RDWR, 0644);

		call(SYS_flock, fd, LOCK_EX);
		call(SYS_write, fd, AT(out), 10 + (number + i) % 50);
		call(SYS_pread64, fd, AT(in), 10, 0);
		call(SYS_fcntl, fd, F_SETLK, AT((&(struct flock){ .l_type = F_WRLCK, .l_len = 9 })));
		call(SYS_close, fd);
		call(SYS_rename, AT("watched/file"), AT("watched/other"));
		call(SYS_unlink, AT("watched/other"));
	}
	while ((size = try(SYS_read, watch, AT(in), 400)) > 0)
		for (long at = 0; at < size;) {
			const struct inotify_event *event = (const struct inotify_event *)(in + at);

			sum = sum * 31 + event->mask;
			at += (long)sizeof(*event) + event->len;
		}
	call(SYS_inotify_rm_watch, watch, folder);
	call(SYS_close, watch);
	call(SYS_rmdir, AT("watched"));
	return sum;
}
