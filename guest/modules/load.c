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
 * Where all modules of the config are there to be loaded when somebody wants them, they lie in
 * /modules/layer with the program that the kernel is to start for that (modprobe.c).
 *
 * Kernels without modules boot without it, so that it is no part of what they execute.
 */
#include "failure.h"
#include "modules/sections.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <termios.h>
#include <unistd.h>

enum { NAME = 64, PATH = 256, LINE = 256, LOG = 8192, SAID = 4 };
/* <linux/syslog.h>, which only the kernel has. */
enum { READ_ALL = 3, CLEAR = 5 };

static const char list[] = "/modules/list";

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
	module_tell(stdout, name);
	module_settle();
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

/*
 * Devices whose drivers come when somebody opens them: depmod lists them, one a line, as
 * `loop loop-control c10:237`. There is one devtmpfs; who mounts it later finds them there.
 */
static int make_devices(void)
{
	struct utsname kernel;
	char path[PATH], line[LINE], device[NAME], what;
	unsigned major, minor;
	int error = 0;

	uname(&kernel);
	snprintf(path, sizeof(path), "/usr/lib/modules/%.65s/modules.devname", kernel.release);
	FILE *names = fopen(path, "re");

	if (!names || mount("devtmpfs", "/dev", "devtmpfs", 0, NULL)) {
		if (names)
			fclose(names);
		return 0;	/* none are listed, or nobody could open them */
	}
	while (!error && fgets(line, sizeof(line), names)) {
		if (sscanf(line, "%*s %48s %c%u:%u", device, &what, &major, &minor) != 4)
			continue;
		snprintf(path, sizeof(path), "/dev/%s", device);
		for (char *slash = path + 5; (slash = strchr(slash, '/')); *slash++ = '/') {
			*slash = '\0';
			mkdir(path, 0755);
		}
		mode_t mode = (what == 'b' ? S_IFBLK : S_IFCHR) | 0600;

		if (mknod(path, mode, makedev(major, minor)) && errno != EEXIST)
			error = failed(path);
	}
	fclose(names);
	if (umount("/dev") && !error)
		error = failed("umount /dev");
	return error;
}

/* Where there is a layer: who loads modules then. A root file system gets it from root/root.c. */
static int on_demand(void)
{
	static const char program[] = "/usr/lib/kernsmith/modprobe";
	static const char *const folders[] = { "/usr", "/usr/lib" };

	if (access("/modules/layer", F_OK))
		return 0;
	for (size_t i = 0; i < 2; i++)
		if (mkdir(folders[i], 0755) && errno != EEXIST)
			return failed(folders[i]);
	if (symlink("/modules/layer/usr/lib/modules", "/usr/lib/modules") ||
	    symlink("/modules/layer/usr/lib/kernsmith", "/usr/lib/kernsmith"))
		return failed("links to the modules");
	if (mount("proc", "/proc", "proc", 0, NULL))
		return failed("mount /proc");
	int fd = open("/proc/sys/kernel/modprobe", O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0 || write(fd, program, sizeof(program) - 1) < 0)
		error = failed("/proc/sys/kernel/modprobe");
	if (fd >= 0)
		close(fd);
	if (umount("/proc") && !error)	/* /init mounts it */
		error = failed("umount /proc");
	return error ? error : make_devices();
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

	if (!error)
		error = on_demand();

	if (!error && umount("/sys"))	/* /init mounts it */
		error = failed("umount /sys");
	fflush(stdout);
	if (!error) {
		execv(arguments[0], arguments);
		error = failed(arguments[0]);
	}
	end(error);
}
