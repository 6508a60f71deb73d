// SPDX-License-Identifier: GPL-2.0-or-later
#include "modules/sections.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAME = 64, PATH = 256 };

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

void module_tell(FILE *to, const char *name)
{
	char path[PATH], file[PATH + NAME_MAX + 2], address[32];

	fprintf(to, "kernsmith: module %s\n", name);
	snprintf(path, sizeof(path), "/sys/module/%.*s/sections", NAME, name);
	DIR *folder = opendir(path);

	if (!folder)		/* kernels without CONFIG_KALLSYMS do not tell it */
		return;
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_type != DT_REG)
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		first_line(file, address, sizeof(address));
		if (strncmp(address, "0x", 2) == 0)
			fprintf(to, "kernsmith: section %s %s %s\n", name, entry->d_name, address + 2);
	}
	closedir(folder);
}

void module_settle(void)
{
	struct timespec t = { .tv_nsec = 100000000 };

	nanosleep(&t, NULL);
}
