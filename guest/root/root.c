// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Process 1 of a guest with a root file system, `/init` of its initramfs: mounts the image that the
 * kernel has as a disk, read-only, with an overlay on a tmpfs above it, makes that the root, and
 * becomes the program /root/init of the initramfs. Files there: `type` (what the file system is),
 * and, bound to the new root's folder of that name, /workload.
 *
 * Built with KERNSMITH_SYSTEMD it becomes the root's own systemd instead, which starts a unit of
 * kernsmith's when all others are up (service.c). What it needs for that is in /root/above of the
 * initramfs, which lies above the image as one layer more. So does /modules/layer, if it is there.
 *
 * What fails is told as of a workload:
 *
 *	kernsmith: end root status=ERRNO mount of a squashfs: message
 */
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* What the preprocessor leaves for guests without systemd is what it was: their figures stay. */
#ifdef KERNSMITH_SYSTEMD
#define LOWER "/root/above:/image"
static const char type_file[] = "/root/type", disk[] = "/dev/mtdblock0";
#else
#define LOWER "/image"
static const char type_file[] = "/root/type", program[] = "/root/init", disk[] = "/dev/mtdblock0";
#endif
#define UPPER "upperdir=/written/files,workdir=/written/work"
static const char own_files[] = "/workload";

static int make_folder(const char *path)
{
	return mkdir(path, 0755) && errno != EEXIST ? failed(path) : 0;
}

static int make_folders(const char *const *paths)
{
	int error = 0;

	for (; *paths && !error; paths++)
		error = make_folder(*paths);
	return error;
}

/* The image below, and what is written above it. */
static int mount_layers(const char *type)
{
	static const char *const folders[] = { "/image", "/written", "/tree", NULL };
	static const char *const layers[] = { "/written/files", "/written/work", NULL };
	/* A journal that was not closed is not replayed: nothing writes to the image. */
	const char *options = strncmp(type, "ext", 3) == 0 ? "noload" : "";
	char what[128];

	snprintf(what, sizeof(what), "mount of the image, %s", type);
	int error = make_folders(folders);

	if (error)
		return error;
	if (mount("devtmpfs", "/dev", "devtmpfs", 0, NULL))
		return failed("mount of /dev");
	if (access(disk, F_OK))
		return failed(disk);
	if (mount(disk, "/image", type, MS_RDONLY, options))
		return failed(what);
	if (mount("tmpfs", "/written", "tmpfs", 0, "mode=755"))
		return failed("mount of a tmpfs");
	error = make_folders(layers);
	/* Of a kernel whose modules are loaded when somebody wants them (modules/load.c). */
	const char *modules = access("/modules/layer", F_OK) ? "" : "/modules/layer:";

	snprintf(what, sizeof(what), "lowerdir=%s%s,%s", modules, LOWER, UPPER);
	if (!error && mount("overlay", "/tree", "overlay", 0, what))
		error = failed("mount of an overlay");
	return error;
}

/* What every program may expect there; the system of folders is the next program's to mount. */
static int complete(void)
{
	static const char *const folders[] = {
		"/tree/dev", "/tree/proc", "/tree/sys", "/tree/tmp", "/tree/run", "/tree/workload",
		"/dev/shm", NULL
	};
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};
	int error = make_folders(folders);

	for (size_t i = 0; i < sizeof(links) / sizeof(*links) && !error; i++)
		if (symlink(links[i][0], links[i][1]) && errno != EEXIST)
			error = failed(links[i][1]);
	if (!error && chmod("/dev/shm", 01777))
		error = failed("/dev/shm");
	if (!error && mount(own_files, "/tree/workload", NULL, MS_BIND, NULL))
		error = failed("mount of the workload's files");
	return error;
}

/* As switch_root(8) does it; what is below cannot be seen any more. */
static int change_root(void)
{
	if (chdir("/tree") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		return failed("change of the root");
	return 0;
}

#ifdef KERNSMITH_SYSTEMD
/*
 * What systemd would do once after each update of /usr, such as caches for other programs, is not
 * wanted in a root that is thrown away: it is told that it has done so (systemd-update-done(8)).
 */
static int all_updated(void)
{
	static const char *const files[] = { "/etc/.updated", "/var/.updated", NULL };

	for (const char *const *file = files; *file; file++) {
		int fd = open(*file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		if (fd >= 0)
			close(fd);
		else if (errno != ENOENT)
			return failed(*file);
	}
	return 0;
}

/* Returns only with an error. */
static int become_systemd(void)
{
	static const char *const programs[] = {
		"/usr/lib/systemd/systemd", "/lib/systemd/systemd", NULL
	};
	static char *const arguments[] = {
		"systemd", "--unit=kernsmith.target", "--show-status=no", NULL
	};
	/* Which keeps the console a list of lines. */
	static char *const environment[] = { "TERM=dumb", NULL };
	int error = all_updated();

	for (const char *const *each = programs; *each && !error; each++)
		execve(*each, arguments, environment);
	return error ? error : failed("the root has no systemd");
}
#endif

static int read_type(char *type, size_t size)
{
	int fd = open(type_file, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, type, size - 1);

	if (length < 0)
		return failed(type_file);
	type[length] = '\0';
	close(fd);
	return 0;
}

static _Noreturn void end(int error)
{
	printf("kernsmith: end root status=%d %s\n", error, failure_text());
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

int main(void)
{
#ifndef KERNSMITH_SYSTEMD
	static char *const arguments[] = { "/init", NULL }, *const environment[] = { NULL };
#endif
	char type[32];

	if (getpid() != 1) {
		fputs("usage: as /init of a guest with a root file system\n", stderr);
		return 2;
	}
#ifdef KERNSMITH_SYSTEMD
	int error = read_type(type, sizeof(type));
#else
	int next = open(program, O_RDONLY | O_CLOEXEC);
	int error = next < 0 ? failed(program) : read_type(type, sizeof(type));
#endif

	if (!error)
		error = mount_layers(type);
	if (!error)
		error = complete();
	if (!error)
		error = change_root();
	if (!error) {
#ifdef KERNSMITH_SYSTEMD
		error = become_systemd();
#else
		fexecve(next, arguments, environment);
		error = failed(program);
#endif
	}
	end(error);
}
