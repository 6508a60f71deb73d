// SPDX-License-Identifier: GPL-2.0-or-later
#include "look.h"

#include "beside.h"
#include "drivers.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char notes[] = "/sys/kernel/notes";
/* What src/kernsmith/machine/conditions.py and running.py read, and what kexec depends on. */
static const char *const wanted[] = {
	"/proc/cpuinfo", "/proc/loadavg", "/proc/stat", "/proc/cmdline",
	"/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/osrelease",
	"/proc/sys/kernel/version", "/proc/sys/kernel/kexec_load_disabled",
	"/etc/machine-id", "/sys/kernel/security/lockdown", "/sys/kernel/kexec_loaded",
	"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/isolated",
	"/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
	"/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count",
	"/sys/devices/system/cpu/intel_pstate/no_turbo", "/sys/devices/system/cpu/cpufreq/boost",
	"/sys/devices/system/cpu/smt/active", "/sys/devices/system/cpu/cpuidle/current_driver",
	"/sys/devices/system/cpu/vulnerabilities/*",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	"/sys/devices/system/clocksource/clocksource0/current_clocksource",
	"/sys/bus/event_source/devices/cpu*/type",
};

static ssize_t read_all(const char *path, char *content, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t count = fd < 0 ? -1 : 1;

	while (count > 0 && length < size) {
		count = read(fd, content + length, size - length);
		length += count > 0 ? (size_t)count : 0;
	}
	if (fd >= 0)
		close(fd);
	return count < 0 && !length ? -1 : (ssize_t)length;
}

static void tell(const char *path)
{
	static char content[1 << 20];
	ssize_t length = read_all(path, content, sizeof(content));

	if (length < 0)
		return;
	printf("%s %zd\n", path, length);
	fwrite(content, 1, (size_t)length, stdout);
	putchar('\n');
}

void look(void)
{
	char id[65];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		glob_t found;

		if (glob(wanted[i], 0, NULL, &found) == 0)
			for (size_t j = 0; j < found.gl_pathc; j++)
				tell(found.gl_pathv[j]);
		globfree(&found);
	}
	running_build_id(id, sizeof(id));
	printf("build-id %zu\n%s\n", strlen(id), id);
	snprintf(id, sizeof(id), "%d", people());
	printf("people %zu\n%s\n", strlen(id), id);
	tell_drivers();
}

/* The linker's note among the kernel's: sizes of name and content, type, and both, padded. */
void running_build_id(char *text, unsigned long size)
{
	static char content[1 << 16];
	ssize_t length = read_all(notes, content, sizeof(content));
	Elf64_Nhdr head;

	text[0] = '\0';
	for (ssize_t at = 0; at + (ssize_t)sizeof(head) <= length;) {
		memcpy(&head, content + at, sizeof(head));
		const char *name = content + at + sizeof(head);
		size_t padded = (head.n_namesz + 3u) & ~3u;
		const unsigned char *id = (const unsigned char *)name + padded;

		at += (ssize_t)(sizeof(head) + padded + ((head.n_descsz + 3u) & ~3u));
		if (head.n_type != NT_GNU_BUILD_ID || head.n_namesz != 4 || at > length ||
		    memcmp(name, "GNU", 4) != 0 || head.n_descsz * 2ul >= size)
			continue;
		for (unsigned i = 0; i < head.n_descsz; i++)
			sprintf(text + 2 * i, "%02x", id[i]);
		return;
	}
}
