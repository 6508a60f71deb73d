// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel starts when it wants a module that nobody has loaded (kernel/module/kmod.c):
 * `modprobe -q -- NAME`, where NAME is a module's or an alias. Loads it and what it depends on, by
 * the tables that depmod has written (modules.alias(5), modules.dep(5)), and says on the console
 * where it is, as load.c does. Modules are not compressed; options and blacklists do not exist here.
 */
#include "modules/sections.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { NAME = 64, PATH = 1024 };

static char folder[128];
static FILE *console;

/* A module's name of its file's, or of what somebody calls it: up to 63 letters, without hyphens. */
static void name_of(const char *file, char name[NAME])
{
	const char *slash = strrchr(file, '/');

	snprintf(name, NAME, "%s", slash ? slash + 1 : file);
	name[strcspn(name, ".")] = '\0';
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
}

static FILE *table(const char *name)
{
	char path[PATH];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fopen(path, "re");
}

/* Loads one file; one that is there already is none of ours to tell. */
static int load(const char *file)
{
	char path[PATH], name[NAME];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	int error = syscall(SYS_finit_module, fd, "", 0) ? errno : 0;

	close(fd);
	if (error && error != EEXIST && error != ENODEV && console) {
		fprintf(console, "kernsmith: said load of %s: %s\n", file, strerror(error));
		fflush(console);
	}
	if (error)
		return error == EEXIST ? 0 : error;
	name_of(file, name);
	if (console) {
		module_tell(console, name);
		fflush(console);
	}
	module_settle();
	return 0;
}

/* Loads a module behind all that its line of modules.dep names, the last of it first. */
static int load_with_needs(const char *name)
{
	static char *files[256];
	char *line = NULL, own[NAME];
	size_t size = 0, count = 0;
	int error = ENOENT;
	FILE *dep = table("modules.dep");

	while (dep && error == ENOENT && getline(&line, &size, dep) > 0) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = ' ';
		count = 0;
		for (char *word = strtok(line, " \n"); word && count < 256; word = strtok(NULL, " \n"))
			files[count++] = word;
		name_of(files[0], own);
		if (strcmp(own, name))
			continue;
		error = 0;
		while (count && !error)
			error = load(files[--count]);
	}
	if (dep)
		fclose(dep);
	free(line);
	return error;
}

/* Loads all modules that an alias means; one of them is enough. */
static int load_by_alias(const char *word)
{
	char *line = NULL, name[NAME];
	size_t size = 0;
	int error = ENOENT;
	FILE *aliases = table("modules.alias");

	while (aliases && getline(&line, &size, aliases) > 0) {
		char *first = strtok(line, " \n"), *pattern = strtok(NULL, " \n");
		char *module = strtok(NULL, " \n");

		if (!module || strcmp(first, "alias") || fnmatch(pattern, word, 0))
			continue;
		name_of(module, name);
		int now = load_with_needs(name);

		if (error)
			error = now;
	}
	if (aliases)
		fclose(aliases);
	free(line);
	return error;
}

int main(int argc, char *argv[])
{
	const char *word = argc > 1 ? argv[argc - 1] : "";
	char name[NAME];
	struct utsname kernel;

	uname(&kernel);
	snprintf(folder, sizeof(folder), "/usr/lib/modules/%.65s", kernel.release);
	console = fopen("/dev/console", "we");
	name_of(word, name);
	int error = load_by_alias(word);

	if (error == ENOENT)
		error = load_with_needs(name);
	return error ? 1 : 0;
}
