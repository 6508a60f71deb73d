// SPDX-License-Identifier: GPL-2.0-or-later
// Looks every word of a file up in a hash table of all of them: gcc -O2 -static -o lookups lookups.c
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1024, LONGEST = 64 };

static char words[SLOTS][LONGEST];
static unsigned long probes;

static unsigned slot_of(const char *word)
{
	unsigned hash = 5381;

	for (const char *at = word; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	hash %= SLOTS;
	while (probes++, words[hash][0] && strcmp(words[hash], word))
		hash = (hash + 1) % SLOTS;
	return hash;
}

static unsigned long each_word(const char *path, int add)
{
	FILE *file = fopen(path, "r");
	char word[LONGEST];
	unsigned long found = 0;

	if (!file)
		exit(1);
	while (fscanf(file, "%63s", word) == 1) {
		unsigned slot = slot_of(word);

		found += words[slot][0] != 0;
		if (add)
			strcpy(words[slot], word);
	}
	fclose(file);
	return found;
}

int main(int count, char **arguments)
{
	if (count != 2)
		return 1;
	each_word(arguments[1], 1);
	probes = 0;
	printf("%lu words found\n", each_word(arguments[1], 0));

	/* What it tells itself, beside what the machine counts: see docs/workloads.md. */
	const char *told = getenv("KERNSMITH_METRICS");
	FILE *metrics = told ? fopen(told, "a") : NULL;

	if (metrics) {
		fprintf(metrics, "probes=%lu\n", probes);
		fclose(metrics);
	}
	return 0;
}
