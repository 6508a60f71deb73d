// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The first failure is the cause; what follows from it, as in tear_down, is not kept. */
static char text[160];

int failed(const char *what)
{
	int error = errno ? errno : EIO;

	if (!*text)
		snprintf(text, sizeof(text), "%s: %s", what, strerror(error));
	return error;
}

int wrong(const char *what)
{
	if (!*text)
		snprintf(text, sizeof(text), "wrong result: %s", what);
	return EBADMSG;
}

const char *failure_text(void)
{
	return text;
}
