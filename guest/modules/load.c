// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Process 1 of a guest whose kernel has modules (`rdinit=/modules/load`): loads the files that
 * /modules/list names, in its order, says where their sections are, and becomes /init. Lines on
 * standard output:
 *
 *	kernsmith: module NAME
 *	kernsmith: section NAME SECTION ADDRESS		(hexadecimal, one line a section)
 *
 * Where a module is refused, what the kernel said of it and the reason, as of a workload:
 *
 *	kernsmith: said LINE
 *	kernsmith: end modules status=ERRNO load of NAME: message
 *
 * Kernels without modules boot without it, so that it is no part of what they execute.
 */
#include "failure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { NAME = 64, PATH = 256, LINE = 256, LOG = 8192, SAID = 4 };
/* <linux/syslog.h>, which only the kernel has. */
enum { READ_ALL = 3, CLEAR = 5 };

static const char list[] = "/modules/list";

/* One line of a small file, without its end; "" when there is none. */
static void first_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, line, size - 1);

	line[length > 0 ? length : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Kernels without CONFIG_KALLSYMS do not tell it. */
static void print_sections(const char *name)
{
	char path[PATH], file[PATH + NAME_MAX + 2], address[32];

	snprintf(path, sizeof(path), "/sys/module/%s/sections", name);
	DIR *folder = opendir(path);

	if (!folder)
		return;
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_type != DT_REG)
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		first_line(file, address, sizeof(address));
		if (strncmp(address, "0x", 2) == 0)
			printf("kernsmith: section %s %s %s\n", name, entry->d_name, address + 2);
	}
	closedir(folder);
}

/*
 * What a module has for its own start is freed by a worker of the kernel's. The next module may be
 * put there: whether it is must not depend on who is first.
 */
static void wait_until_freed(void)
{
	struct timespec t = { .tv_nsec = 100000000 };

	nanosleep(&t, NULL);
}

/* The end of the kernel's log: its console shows no warnings. */
static void print_log(void)
{
	static char log[LOG + 1];
	int length = klogctl(READ_ALL, log, LOG);
	char *at = log + (length > 0 ? length : 0);

	for (int lines = 0; at > log; at--)
		if (at[-1] == '\n' && ++lines > SAID)
			break;
	log[length > 0 ? length : 0] = '\0';
	for (char *line = strtok(at, "\n"); line; line = strtok(NULL, "\n"))
		printf("kernsmith: said %.*s\n", LINE, line);
}

static int load(const char *name)
{
	char path[PATH], what[PATH];

	snprintf(path, sizeof(path), "/modules/%s.ko", name);
	snprintf(what, sizeof(what), "load of %s", name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return failed(what);
	klogctl(CLEAR, NULL, 0);	/* what is read later is of this module */
	int error = syscall(SYS_finit_module, fd, "", 0) ? failed(what) : 0;

	if (error)
		print_log();

	close(fd);
	if (error)
		return error;
	printf("kernsmith: module %s\n", name);
	print_sections(name);
	wait_until_freed();
	return 0;
}

static int load_all(void)
{
	char name[NAME];
	int error = 0;
	FILE *names = fopen(list, "re");

	if (!names)
		return failed(list);
	while (!error && fgets(name, sizeof(name), names)) {
		name[strcspn(name, "\n")] = '\0';
		error = load(name);
	}
	fclose(names);
	return error;
}

static _Noreturn void end(int error)
{
	printf("kernsmith: end modules status=%d %s\n", error, failure_text());
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

int main(void)
{
	static char *const arguments[] = { "/init", NULL };

	if (getpid() != 1) {
		fputs("usage: rdinit=/modules/load on the command line of a guest's kernel\n", stderr);
		return 2;
	}
	int error = mount("sysfs", "/sys", "sysfs", 0, NULL) ? failed("mount /sys") : load_all();

	if (!error && umount("/sys"))	/* /init mounts it */
		error = failed("umount /sys");
	fflush(stdout);
	if (!error) {
		execv(arguments[0], arguments);
		error = failed(arguments[0]);
	}
	end(error);
}
