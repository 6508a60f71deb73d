// SPDX-License-Identifier: GPL-2.0-or-later
#include "../program.h"

#include "calls.h"
#include "uml.h"

const char *const program_name = "uml";
const unsigned program_units = 105;

static uint64_t (*const pieces[])(unsigned) = {
	tree_of_files, tcp_stream, events, file_contents, tcp_connections, pipes, switches,
	udp_packets, tables_of_kernel, local_sockets, messages, watched_files, routing_messages,
	questions, digests,
};

enum { PIECES = sizeof(pieces) / sizeof(*pieces), EACH = 8 };

int program_set_up(void)
{
	for (unsigned i = 0; i < BUFFER; i++)
		out[i] = (unsigned char)(i * i >> 5 ^ i);
	return set_up_files() || set_up_network() || set_up_tasks() ? -1 : 0;
}

uint64_t program_unit(unsigned number)
{
	uint64_t sum = number;

	for (unsigned i = 0; i < EACH; i++) {
		uint64_t part = pieces[(number * 4 + i * (number / PIECES + 1)) % PIECES](number);

		sum = fold(sum, &part, sizeof(part));
	}
	kernel_settle();
	return sum;
}
