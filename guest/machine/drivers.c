// SPDX-License-Identifier: GPL-2.0-or-later
#include "drivers.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEEPEST 8	/* devices that lie upon devices: LVM on LUKS on RAID … */

struct list {
	char text[1024];
};

static void add(struct list *list, const char *word)
{
	size_t length = strlen(list->text);

	snprintf(list->text + length, sizeof(list->text) - length, "%s%s", length ? " " : "", word);
}

static void tell(const char *name, const char *text)
{
	printf("%s %zu\n%s\n", name, strlen(text), text);
}

static int last_word(const char *link, char *word, size_t size)
{
	char target[PATH_MAX];
	ssize_t length = readlink(link, target, sizeof(target) - 1);

	if (length <= 0)
		return 0;
	target[length] = '\0';
	const char *name = strrchr(target, '/');

	snprintf(word, size, "%.*s", (int)size - 1, name ? name + 1 : target);
	return 1;
}

/* From a device up to the root of all devices. */
static void walk(const char *device, struct list *list)
{
	char path[PATH_MAX], link[PATH_MAX + 16], name[NAME_MAX + 1];

	if (!realpath(device, path))
		return;
	for (char *end; (end = strrchr(path, '/')) && strcmp(path, "/sys/devices") != 0; *end = '\0') {
		snprintf(link, sizeof(link), "%s/driver/module", path);
		if (!last_word(link, name, sizeof(name))) {
			snprintf(link, sizeof(link), "%s/driver", path);
			if (!last_word(link, name, sizeof(name)))
				continue;
		}
		add(list, name);
	}
}

static void walk_block(const char *device, struct list *list, int depth)
{
	char path[PATH_MAX], pattern[PATH_MAX + 16];
	glob_t below;

	if (depth == DEEPEST || !realpath(device, path))
		return;
	walk(path, list);
	snprintf(pattern, sizeof(pattern), "%s/slaves/*", path);
	if (glob(pattern, 0, NULL, &below) == 0)
		for (size_t i = 0; i < below.gl_pathc; i++)
			walk_block(below.gl_pathv[i], list, depth + 1);
	globfree(&below);
}

/* proc_pid_mountinfo(5): the last one that is mounted at / counts. */
static void tell_root(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[4096], device[64] = "", type[64] = "", path[128];
	struct list list = { "" };

	if (!mounts)
		return;
	while (fgets(line, sizeof(line), mounts)) {
		char numbers[64], place[256];
		const char *rest = strstr(line, " - ");

		if (sscanf(line, "%*d %*d %63s %*s %255s", numbers, place) != 2 || !rest)
			continue;
		if (strcmp(place, "/") == 0 && sscanf(rest, " - %63s", type) == 1)
			snprintf(device, sizeof(device), "%s", numbers);
	}
	fclose(mounts);
	snprintf(path, sizeof(path), "/sys/dev/block/%s", device);
	walk_block(path, &list, 0);
	tell("root-drivers", list.text);
	tell("root-file-system", type);
}

/* The interface of the default route, or else of the first one: proc_net(5), route. */
static void tell_network(void)
{
	FILE *routes = fopen("/proc/net/route", "re");
	char line[256], name[32], path[128] = "";
	unsigned long target;
	struct list list = { "" };

	while (routes && fgets(line, sizeof(line), routes))
		if (sscanf(line, "%31s %lx", name, &target) == 2 && (!target || !*path))
			snprintf(path, sizeof(path), "/sys/class/net/%s/device", name);
	if (routes)
		fclose(routes);
	if (*path)
		walk(path, &list);
	tell("network-drivers", list.text);
}

void tell_drivers(void)
{
	tell_root();
	tell_network();
}
