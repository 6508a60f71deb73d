// SPDX-License-Identifier: GPL-2.0-or-later
#include "algorithm.h"
#include "failure.h"
#include "transfer.h"
#include "workload.h"

#include <linux/if_alg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGEST = 2048, KINDS = 5, IV = 16 };

/* XTS takes two keys. The block ciphers after AES have no assembly: they are the compiler's work. */
static const struct kind {
	const char *name;
	size_t key;
} kinds[KINDS] = {
	{ "xts(camellia)", 32 },
	{ "ctr(aes)", 16 },
	{ "xts(serpent)", 32 },
	{ "cbc(aes)", 32 },
	{ "xts(twofish)", 32 },
};

static int sockets[KINDS] = { -1, -1, -1, -1, -1 };
static char plain[LARGEST], coded[LARGEST], decoded[LARGEST];

/* Multiples of the block size, as CBC wants them. */
static size_t size_of(unsigned number)
{
	static const size_t sizes[] = { 64, 512, 16, 1504, 256, LARGEST };

	return sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
}

static int set_up(void)
{
	unsigned char key[64];
	int error = 0;

	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (unsigned char)(i * 7 + 1);
	for (unsigned i = 0; i < KINDS && !error; i++)
		error = algorithm_open("skcipher", kinds[i].name, key, kinds[i].key, &sockets[i]);
	return error;
}

/* One message through the cipher; the control data say which way, and give the IV. */
static int transform(int fd, int operation, unsigned number, char *from, char *to, size_t size)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int)) +
					      CMSG_SPACE(sizeof(struct af_alg_iv) + IV)];
	struct iovec data = { from, size };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	memset(control, 0, sizeof(control));
	*header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_ALG, ALG_SET_OP };
	memcpy(CMSG_DATA(header), &operation, sizeof(operation));
	header = (struct cmsghdr *)(control + CMSG_SPACE(sizeof(int)));
	*header = (struct cmsghdr){ CMSG_LEN(sizeof(struct af_alg_iv) + IV), SOL_ALG, ALG_SET_IV };
	struct af_alg_iv *iv = (struct af_alg_iv *)CMSG_DATA(header);

	iv->ivlen = IV;
	memcpy(iv->iv, &number, sizeof(number));
	if (sendmsg(fd, &message, 0) != (ssize_t)size)
		return failed("sendmsg");
	return receive_all(fd, to, size);
}

static int play(unsigned number)
{
	unsigned kind = number % KINDS;
	size_t size = size_of(number / KINDS);

	pattern_fill(plain, size, number);
	int error = transform(sockets[kind], ALG_OP_ENCRYPT, number, plain, coded, size);

	if (!error && memcmp(plain, coded, 16) == 0)
		error = wrong("text that was not encrypted");
	if (!error)
		error = transform(sockets[kind], ALG_OP_DECRYPT, number, coded, decoded, size);
	if (!error && memcmp(plain, decoded, size))
		error = wrong(kinds[kind].name);
	return error;
}

static void tear_down(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (sockets[i] >= 0)
			close(sockets[i]);
}

WORKLOAD(afalg_cipher) = {
	.name = "afalg-cipher",
	.sets = "lab crypto",
	.description = "AES, Camellia, Serpent and Twofish in CTR, CBC and XTS mode, 16 bytes to 2 KiB, "
		       "through AF_ALG",
	.needs = "CONFIG_CRYPTO_USER_API_SKCIPHER CONFIG_CRYPTO_AES CONFIG_CRYPTO_CTR "
		 "CONFIG_CRYPTO_CBC CONFIG_CRYPTO_XTS CONFIG_CRYPTO_CAMELLIA "
		 "CONFIG_CRYPTO_SERPENT CONFIG_CRYPTO_TWOFISH",
	.rounds = 400,
	.warmup = 32,
	.application = 96,
	.set_up = set_up,
	.round = play,
	.tear_down = tear_down,
};
