// SPDX-License-Identifier: GPL-2.0-or-later
#include "application.h"

#include <stdint.h>

enum { FUNCTIONS = 512, SLOT = 1024, PLACE = 512, PLACES = 2 };

typedef uint64_t function(uint64_t);

extern const char application_code[];

static function *order[FUNCTIONS];
static unsigned position;
static volatile uint64_t state = 1;

void application_prepare(void)
{
	uint32_t random = 1;

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		uintptr_t code = (uintptr_t)application_code + i * SLOT + i % PLACES * PLACE;

		order[i] = (function *)code;
	}
	for (unsigned i = FUNCTIONS - 1; i > 0; i--) {
		random = random * 1664525u + 1013904223u;	/* Knuth, TAOCP 2, 3.3.4 */
		unsigned j = (unsigned)(((uint64_t)random * (i + 1)) >> 32);
		function *moved = order[i];

		order[i] = order[j];
		order[j] = moved;
	}
	application_run(FUNCTIONS);
}

void application_run(unsigned functions)
{
	uint64_t value = state;

	for (unsigned i = 0; i < functions; i++) {
		value = order[position](value);
		position = (position + 1) % FUNCTIONS;
	}
	state = value;
}
