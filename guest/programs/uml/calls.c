// SPDX-License-Identifier: GPL-2.0-or-later
#include "calls.h"

#include "uml.h"

#include <stdio.h>
#include <string.h>

unsigned char out[BUFFER], in[BUFFER];

long attempted(const long words[7])
{
	return kernel_call(words[0], words + 1);
}

long succeeded(const long words[7])
{
	long result = attempted(words);

	if (result < 0) {
		fprintf(stderr, "system call %ld: %s\n", words[0], strerror((int)-result));
		host_leave(3);
	}
	return result;
}
