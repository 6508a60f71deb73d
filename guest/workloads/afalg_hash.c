// SPDX-License-Identifier: GPL-2.0-or-later
#include "algorithm.h"
#include "failure.h"
#include "workload.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGEST = 4096, DIGEST = 64, KINDS = 4, KEY = 20, KNOWN = 50 };

/* `known` is the beginning of the digest of KNOWN times 'a' (with a key of 20 times 0x0b). */
static const struct kind {
	const char *name;
	size_t key, size;
	unsigned char known[4];
} kinds[KINDS] = {
	{ "md5", 0, 16, { 0x6e, 0xb6, 0xa0, 0x30 } },
	{ "sha256", 0, 32, { 0x16, 0x0b, 0x4e, 0x43 } },
	{ "hmac(sha256)", KEY, 32, { 0xf1, 0x85, 0x8c, 0x18 } },
	{ "sha512", 0, 64, { 0xbd, 0xba, 0x17, 0x3e } },
};

static int sockets[KINDS] = { -1, -1, -1, -1 };
static char message[LARGEST];

static size_t size_of(unsigned number)
{
	static const size_t sizes[] = { 64, 1000, 16, 256, LARGEST, 130, 512 };

	return sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* The digest of a message, handed over whole or, in every third round, in two pieces. */
static int digest(unsigned kind, size_t size, bool pieces, unsigned char *result)
{
	size_t first = pieces ? size / 3 : 0;

	if (first && send(sockets[kind], message, first, MSG_MORE) != (ssize_t)first)
		return failed("send of a first piece");
	if (send(sockets[kind], message + first, size - first, 0) != (ssize_t)(size - first))
		return failed("send of a message");
	if (read(sockets[kind], result, kinds[kind].size) != (ssize_t)kinds[kind].size)
		return failed("read of a digest");
	return 0;
}

static int set_up(void)
{
	unsigned char key[KEY], result[DIGEST];
	int error = 0;

	memset(key, 0x0b, sizeof(key));
	memset(message, 'a', sizeof(message));
	for (unsigned i = 0; i < KINDS && !error; i++) {
		error = algorithm_open("hash", kinds[i].name, key, kinds[i].key, &sockets[i]);
		if (!error)
			error = digest(i, KNOWN, false, result);
		if (!error && memcmp(result, kinds[i].known, sizeof(kinds[i].known)))
			error = wrong(kinds[i].name);
	}
	return error;
}

/* Whole or in pieces, the digest is the same, and another message has another one. */
static int play(unsigned number)
{
	static unsigned char last[KINDS][DIGEST];
	unsigned char result[DIGEST], again[DIGEST];
	unsigned kind = number % KINDS;
	size_t size = size_of(number / KINDS);

	message[size / 2] = (char)number;
	int error = digest(kind, size, false, result);

	if (!error && memcmp(result, last[kind], kinds[kind].size) == 0)
		error = wrong("digests of two messages");
	memcpy(last[kind], result, kinds[kind].size);
	if (!error && number % 3 == 0) {
		error = digest(kind, size, true, again);
		if (!error && memcmp(result, again, kinds[kind].size))
			error = wrong("digest in pieces");
	}
	return error;
}

static void tear_down(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (sockets[i] >= 0)
			close(sockets[i]);
}

WORKLOAD(afalg_hash) = {
	.name = "afalg-hash",
	.sets = "lab crypto",
	.description = "MD5, SHA-256, HMAC-SHA-256 and SHA-512 of messages of 16 bytes to 4 KiB through AF_ALG",
	.needs = "CONFIG_CRYPTO_USER_API_HASH CONFIG_CRYPTO_MD5 CONFIG_CRYPTO_SHA256 "
		 "CONFIG_CRYPTO_SHA512",
	.rounds = 1700,
	.warmup = 140,
	.application = 64,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
