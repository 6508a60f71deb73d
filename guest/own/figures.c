// SPDX-License-Identifier: GPL-2.0-or-later
#include "own/figures.h"

#include "failure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 16			/* as guest/own.py allows */
#define LINE 256

struct figure {
	const char *name;
	double sum;
	unsigned long count;
};

int figures_begin(const char *names)
{
	if (access(names, R_OK) || truncate(FIGURES, 0) == 0 || errno == ENOENT)
		return 0;
	return failed("empty " FIGURES);
}

static int told(const char *what, const char *which)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s %.60s", what, which);
	return wrong(text);
}

/* Takes one line in: NAME=NUMBER. */
static int take(char *line, struct figure *figures, size_t count)
{
	char *equals = strchr(line, '='), *end = NULL;

	line[strcspn(line, "\n")] = '\0';
	if (!equals)
		return told("the program's own metrics have no line", line);
	*equals = '\0';
	double value = strtod(equals + 1, &end);

	if (end == equals + 1 || *end || !isfinite(value) || value < 0)	/* ratios are asked for */
		return told("the program wrote no number from 0 on of its own metric", line);
	for (size_t i = 0; i < count; i++)
		if (strcmp(figures[i].name, line) == 0) {
			figures[i].sum += value;
			figures[i].count++;
			return 0;
		}
	return told("the workload's file has no metric", line);
}

int figures_tell(const char *names)
{
	static char text[MOST * 64 + 1], line[LINE];
	struct figure figures[MOST] = { 0 };
	size_t count = 0, size;
	int error = 0;
	FILE *file = fopen(names, "re");

	if (!file)
		return 0;
	size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	for (char *name = text; name < text + size && count < MOST; name += strlen(name) + 1)
		figures[count++].name = name;
	file = fopen(FIGURES, "re");
	while (file && !error && fgets(line, sizeof(line), file))
		error = take(line, figures, count);
	if (file)
		fclose(file);
	for (size_t i = 0; i < count && !error; i++) {
		if (!figures[i].count)
			error = told("the program wrote nothing of its own metric", figures[i].name);
		else
			printf("kernsmith: metric %s=%.9g\n", figures[i].name,
			       figures[i].sum / (double)figures[i].count);
	}
	return error;
}
