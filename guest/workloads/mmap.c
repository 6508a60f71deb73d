// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"
#include "workload.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, FILE_PAGES = 32 };

static int memory = -1;

/* A file of FILE_PAGES pages; the first byte of each is its number. */
static int set_up(void)
{
	memory = memfd_create("kernsmith", MFD_CLOEXEC);
	if (memory < 0)
		return failed("memfd_create");
	if (ftruncate(memory, FILE_PAGES * PAGE))
		return failed("ftruncate");
	for (unsigned i = 0; i < FILE_PAGES; i++) {
		unsigned char byte = (unsigned char)i;

		if (pwrite(memory, &byte, 1, (off_t)i * PAGE) != 1)
			return failed("pwrite");
	}
	return 0;
}

static int anonymous(unsigned number)
{
	static const size_t sizes[] = { 1, 4, 16, 2, 48, 8 };
	size_t pages = sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
	unsigned char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return failed("mmap");
	for (size_t i = 0; i < pages; i++)
		at[i * PAGE] = (unsigned char)(number + i);
	if (mprotect(at, pages * PAGE, PROT_READ))
		return failed("mprotect");
	for (size_t i = 0; i < pages; i++)
		if (at[i * PAGE] != (unsigned char)(number + i))
			return wrong("anonymous memory");
	if (madvise(at, PAGE, MADV_DONTNEED) || at[0] != 0)
		return wrong("madvise");
	return munmap(at, pages * PAGE) ? failed("munmap") : 0;
}

/* A window into the file: shared pages read, private ones copied on write. */
static int of_file(unsigned number)
{
	unsigned first = number % (FILE_PAGES / 2), pages = FILE_PAGES / 2;
	int kind = number % 2 ? MAP_PRIVATE : MAP_SHARED;
	unsigned char *at = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, kind, memory,
				 (off_t)first * PAGE);

	if (at == MAP_FAILED)
		return failed("mmap of a file");
	for (unsigned i = 0; i < pages; i++)
		if (at[(size_t)i * PAGE] != first + i)
			return wrong("memory of a file");
	for (unsigned i = 0; i < pages; i += 4)
		at[(size_t)i * PAGE + 1] = (unsigned char)number;
	/* In two pieces, so that the mapping is split first. */
	if (munmap(at + PAGE, PAGE) || munmap(at, (size_t)pages * PAGE))
		return failed("munmap of a file");
	return 0;
}

static int play(unsigned number)
{
	int error = anonymous(number);

	return error ? error : of_file(number);
}

static void tear_down(void)
{
	if (memory >= 0)
		close(memory);
}

WORKLOAD(mapping) = {
	.name = "mmap",
	.sets = "lab memory",
	.description = "Map, fault, protect and unmap anonymous memory of 1 to 48 pages and a file",
	.needs = "CONFIG_MEMFD_CREATE CONFIG_ADVISE_SYSCALLS",
	.rounds = 300,
	.warmup = 24,
	.application = 256,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
