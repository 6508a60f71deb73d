// SPDX-License-Identifier: GPL-2.0-or-later
#include "workload.h"

#include <stdio.h>
#include <string.h>

const struct workload *workload_find(const char *name)
{
	for (const struct workload *const *w = __start_workloads; w < __stop_workloads; w++)
		if (strcmp((*w)->name, name) == 0)
			return *w;
	return NULL;
}

/* Words separated by spaces, as a JSON array. No text in the catalogue needs escaping. */
static void print_words(const char *words)
{
	const char *separator = "";

	putchar('[');
	while (*words) {
		int length = (int)strcspn(words, " ");

		printf("%s\"%.*s\"", separator, length, words);
		separator = ",";
		words += length;
		words += strspn(words, " ");
	}
	putchar(']');
}

void workload_list(void)
{
	const char *separator = "";

	printf("{\"workloads\":[");
	for (const struct workload *const *w = __start_workloads; w < __stop_workloads; w++) {
		printf("%s\n{\"name\":\"%s\",\"sets\":", separator, (*w)->name);
		print_words((*w)->sets);
		printf(",\"description\":\"%s\",\"rounds\":%u,\"warmup\":%u,\"needs\":",
		       (*w)->description, (*w)->rounds, (*w)->warmup);
		print_words((*w)->needs);
		putchar('}');
		separator = ",";
	}
	printf("\n]}\n");
}
