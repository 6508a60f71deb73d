// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's side: what the kernel asks of the system that it is a program of, made equal wherever
 * it runs. No processes, no files, no terminal, no chance; time moves when the kernel is idle.
 */
#include "uml.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

int __real_main(int argc, char **argv, char **envp);
int __wrap_main(int argc, char **argv, char **envp);
void __wrap_os_early_checks(void);
void __wrap_get_host_cpu_features(void *flags, void *cache);
ssize_t __wrap_os_getrandom(void *to, size_t size, unsigned flags);
int __wrap_create_mem_file(unsigned long long size);
int __wrap_mkdir(const char *path, mode_t mode);
long long __wrap_os_persistent_clock_emulation(void);

int __wrap_main(int argc, char **argv, char **envp)
{
	char *words[] = {
		"uml", "mem=128M", "time-travel=inf-cpu", "umid=kernsmith",
		"uml_dir=/kernsmith-keeps-no-files/", "con=null", "con0=null", "quiet", NULL, NULL,
	};

	(void)argc;
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
		personality(ADDR_NO_RANDOMIZE);
		execve(argv[0], argv, envp);
		perror(argv[0]);
		return 1;
	}
	if (getenv("KERNSMITH_UML_MESSAGES")) {
		words[7] = "stderr=1";
		words[8] = "loglevel=8";
	}
	return __real_main((int)(sizeof(words) / sizeof(*words)) - 1 - !words[8], words, envp);
}

/* Whether processes of its own could be traced: it has none. */
void __wrap_os_early_checks(void)
{
}

/* Instructions that this processor has and the simulated one may lack. */
void __wrap_get_host_cpu_features(void *flags, void *cache)
{
	(void)flags;
	(void)cache;
}

ssize_t __wrap_os_getrandom(void *to, size_t size, unsigned flags)
{
	static uint64_t state = 0x9e3779b97f4a7c15u;
	unsigned char *at = to;

	(void)flags;
	for (size_t i = 0; i < size; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		at[i] = (unsigned char)(state >> 56);
	}
	return (ssize_t)size;
}

int __wrap_create_mem_file(unsigned long long size)
{
	int file = memfd_create("memory", MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, (off_t)size)) {
		perror("memory");
		_exit(1);
	}
	return file;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	(void)path;
	(void)mode;
	return 0;
}

/* The clock on the wall, in nanoseconds. */
long long __wrap_os_persistent_clock_emulation(void)
{
	return 1767225600000000000;
}

void host_leave(int status)
{
	fflush(stdout);
	fflush(stderr);
	_exit(status);
}
