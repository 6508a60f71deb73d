// SPDX-License-Identifier: GPL-2.0-or-later
#include "../program.h"

#include <jansson.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

const char *const program_name = "mix";
const unsigned program_units = 60;

enum { TEXT = 1 << 13, ROOM = 1 << 15 };

static char text[TEXT];
static unsigned char packed[ROOM], unpacked[ROOM];
static ZSTD_CCtx *compressor;
static ZSTD_DCtx *decompressor;

static unsigned random_below(uint32_t *seed, unsigned n)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % n;
}

int program_set_up(void)
{
	compressor = ZSTD_createCCtx();
	decompressor = ZSTD_createDCtx();
	return compressor && decompressor ? 0 : -1;
}

/* A document, as text; its parts depend on the number. */
static size_t make_document(unsigned number)
{
	uint32_t seed = number + 1;
	json_t *all = json_array();

	for (unsigned i = 0; i < 2; i++) {
		char name[32];

		snprintf(name, sizeof(name), "user-%u", random_below(&seed, 1000));
		json_t *tags = json_array();

		for (unsigned tag = random_below(&seed, 4); tag; tag--)
			json_array_append_new(tags, json_sprintf("tag%u", random_below(&seed, 50)));
		/* One after the other: compilers evaluate arguments in orders of their own. */
		int age = (int)random_below(&seed, 90);
		double score = random_below(&seed, 10000) / 8.0;
		int active = (int)random_below(&seed, 2);

		json_array_append_new(all, json_pack("{s:s, s:i, s:f, s:b, s:o, s:{s:s, s:n}}",
			"name", name, "age", age, "score", score, "active", active, "tags", tags,
			"place", "city", "L\xc3\xa1rnaca \"south\"", "zip"));
	}
	char *dumped = json_dumps(all, JSON_SORT_KEYS | JSON_INDENT(1));
	size_t size = strlen(dumped);

	if (size >= TEXT)
		size = TEXT - 1;
	memcpy(text, dumped, size);
	text[size] = '\0';
	free(dumped);
	json_decref(all);
	return size;
}

static uint64_t walk(uint64_t sum, const json_t *value)
{
	const char *key;
	json_t *member;
	size_t index;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		json_object_foreach((json_t *)value, key, member)
			sum = walk(fold(sum, key, strlen(key)), member);
		return sum;
	case JSON_ARRAY:
		json_array_foreach(value, index, member)
			sum = walk(sum + index, member);
		return sum;
	case JSON_STRING:
		return fold(sum, json_string_value(value), json_string_length(value));
	default:
		return sum * 31 + (uint64_t)json_number_value(value);
	}
}

static uint64_t parse(uint64_t sum)
{
	json_error_t error;
	json_t *value = json_loads(text, 0, &error);

	if (!value)
		return 0;
	sum = walk(sum, value);
	json_decref(value);
	return sum;
}

static const char *const patterns[] = {
	"\"(\\w+)\"\\s*:\\s*\"([^\"\\\\]|\\\\.)*\"",
	"(?i)USER-(\\d+)(?=.*\\n)",
	"\\b(?:tag|zip|age)(\\d{1,2})?\\b.*?(?<end>[,}\\]])",
	"(?<!\\d)\\d+\\.(?:\\d{2,}|5)(?!\\d)",
	"[\\p{Lu}\\p{Ll}]+\\s\\\\\"south",
};

static uint64_t match(uint64_t sum, const char *pattern, size_t size)
{
	int code;
	PCRE2_SIZE where, at = 0;
	pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
					     PCRE2_UTF, &code, &where, NULL);

	if (!compiled)
		return 0;
	pcre2_match_data *data = pcre2_match_data_create_from_pattern(compiled, NULL);

	for (unsigned found = 0; found < 4; found++) {
		if (pcre2_match(compiled, (PCRE2_SPTR)text, size, at, 0, data, NULL) < 1)
			break;
		PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);

		sum = fold(sum, text + ends[0], ends[1] - ends[0]);
		at = ends[1];
	}
	pcre2_match_data_free(data);
	pcre2_code_free(compiled);
	return sum;
}

static uint64_t deflated(uint64_t sum, size_t size, int level)
{
	uLongf length = sizeof(packed), back = sizeof(unpacked);

	if (compress2(packed, &length, (Bytef *)text, size, level) != Z_OK ||
	    uncompress(unpacked, &back, packed, length) != Z_OK || back != size)
		return 0;
	return fold(sum, packed, length);
}

static uint64_t zstandard(uint64_t sum, size_t size, int level)
{
	size_t length = ZSTD_compressCCtx(compressor, packed, sizeof(packed), text, size, level);

	if (ZSTD_isError(length) || ZSTD_decompressDCtx(decompressor, unpacked, sizeof(unpacked),
							 packed, length) != size)
		return 0;
	return fold(sum, packed, length);
}

uint64_t program_unit(unsigned number)
{
	uint64_t sum = number;

	for (unsigned i = 6 * number; i < 6 * number + 6; i++) {
		size_t size = make_document(i);

		sum = match(parse(sum), patterns[i % 5], size);
		sum = i % 2 ? deflated(sum, size, 1 + (int)i % 7) :
			      zstandard(sum, size, 1 + (int)i % 4);
	}
	return sum;
}
