// SPDX-License-Identifier: GPL-2.0-or-later
#include "../program.h"

#include <libtcc.h>
#include <stdio.h>
#include <string.h>

const char *const program_name = "tcc";
const unsigned program_units = 100;

/* What is compiled: two of the pieces and the frame, each time with other numbers. */
static const char frame[] =
	"typedef unsigned long size_t; typedef unsigned char u8; typedef unsigned long long u64;\n"
	"#define N %u\n"
	"#define MAX(a, b) ((a) > (b) ? (a) : (b))\n"
	"#define CAT_(a, b) a##b\n"
	"#define CAT(a, b) CAT_(a, b)\n"
	"#define FIELD(type, name) type name; type CAT(name, _old)\n"
	"#if N %% 3 == 0 && defined(N)\n#define STEP 3\n#elif N %% 3 == 1\n#define STEP 5\n"
	"#else\n#define STEP 7\n#endif\n"
	"struct node { FIELD(int, key); struct node *next[2]; union { double d; u64 u; } v; u8 tag : 3; };\n"
	"enum color { RED = N, GREEN, BLUE = RED + 4 };\n";

static const char *const pieces[] = {
	/* sorting and searching */
	"static void swap(int *a, int *b) { int t = *a; *a = *b; *b = t; }\n"
	"static void sort(int *a, int n) { int i, j; if (n < 2) return; int p = a[n / 2];\n"
	" for (i = 0, j = n - 1;; i++, j--) { while (a[i] < p) i++; while (a[j] > p) j--;\n"
	"  if (i >= j) break; swap(a + i, a + j); } sort(a, i); sort(a + i, n - i); }\n"
	"int find(const int *a, int n, int k) { int l = 0, h = n - 1; while (l <= h) {\n"
	" int m = l + (h - l) / 2; if (a[m] == k) return m; if (a[m] < k) l = m + 1; else h = m - 1; }\n"
	" return -1; }\n"
	"int sorted(int *a, int n) { sort(a, n); return find(a, n, N) + STEP; }\n",
	/* a tree */
	"static struct node pool[64]; static int used;\n"
	"struct node *insert(struct node *t, int key) { if (!t) { t = &pool[used++ % 64];\n"
	"  t->key = key; t->next[0] = t->next[1] = 0; t->v.d = key * 0.5; t->tag = key & 7; return t; }\n"
	" int side = key > t->key; t->key_old = t->key; t->next[side] = insert(t->next[side], key); return t; }\n"
	"double total(const struct node *t) { return t ? total(t->next[0]) + t->v.d + total(t->next[1]) : 0.0; }\n"
	"int depth(const struct node *t) { return t ? 1 + MAX(depth(t->next[0]), depth(t->next[1])) : 0; }\n",
	/* a tokenizer with a switch */
	"int tokens(const char *s) { int n = 0, state = 0; for (; *s; s++) { switch (*s) {\n"
	" case ' ': case '\\t': case '\\n': state = 0; break;\n"
	" case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':\n"
	"  if (state != 1) n++; state = 1; break;\n"
	" case '+': case '-': case '*': case '/': n++; state = 2; break;\n"
	" case '\"': for (s++; *s && *s != '\"'; s++) if (*s == '\\\\' && s[1]) s++; n++; state = 0;\n"
	"  if (!*s) goto out; break;\n"
	" default: if (*s >= 'a' && *s <= 'z' || *s == '_') { if (state != 3) n++; state = 3; } else n += N; } }\n"
	"out: return n; }\n"
	"const char *names[] = { \"zero\", \"one\\n\", \"two\" \" three\", \"f\\x6fur\", 0 };\n",
	/* arithmetic */
	"u64 mix(u64 x) { x ^= x >> 33; x *= 0xff51afd7ed558ccdULL; x ^= x >> (N % 31 + 1); return x; }\n"
	"double series(int n) { double s = 0, t = 1; for (int i = 1; i < n; i++) { t *= -1.0 / (2 * i);\n"
	" s += t > 0 ? t : -t * 3e-2; if (i % STEP == 0 && s > 1e3f) continue; s = (float)s + (int)t; } return s; }\n"
	"unsigned bits(unsigned v) { unsigned c; for (c = 0; v; c++) v &= v - 1; return c << 2 | (v ^ ~c) >> 3; }\n"
	"long divide(long a, int b, short c, char d) { return a / b % 17 + c * d - (a << 3) / (b | 1); }\n",
	/* function pointers and aggregates */
	"struct op { const char *name; int (*run)(int, int); enum color color; };\n"
	"static int add(int a, int b) { return a + b; } static int sub(int a, int b) { return a - b; }\n"
	"static int mul(int a, int b) { return a * b; }\n"
	"static const struct op ops[] = { { \"add\", add, RED }, { \"sub\", sub, GREEN }, { \"mul\", mul, BLUE } };\n"
	"int run(int which, int a, int b) { struct op op = ops[which % (sizeof(ops) / sizeof(ops[0]))];\n"
	" struct node n = { .key = a, .v = { .u = (u64)b } }, *p = &n; p->key += op.run(p->key, (int)n.v.u);\n"
	" return p->key_old ? p->key : op.color == BLUE ? -p->key : (p->tag = 5, p->tag + p->key); }\n",
	/* a matrix */
	"static int a[8][8], b[8][8], c[8][8];\n"
	"void multiply(void) { int i, j, k; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) {\n"
	" int s = 0; k = 0; do { s += a[i][k] * b[k][j]; } while (++k < 8); c[i][j] = s; } }\n"
	"int trace(void) { int s = 0, i = 0; loop: s += c[i][i]; if (++i < 8) goto loop; return s + sizeof(c) / N; }\n"
	"char *copy(char *to, const char *from, size_t n) { char *at = to; while (n-- && (*at++ = *from++)); return to; }\n",
};

enum { PIECES = sizeof(pieces) / sizeof(*pieces) };

static void say(void *unused, const char *message)
{
	(void)unused;
	fprintf(stderr, "%s\n", message);
}

int program_set_up(void)
{
	return 0;
}

static uint64_t compiled(const char *text)
{
	TCCState *state = tcc_new();
	uint64_t sum = 0;

	tcc_set_error_func(state, NULL, say);
	tcc_set_options(state, "-nostdlib -nostdinc");
	tcc_set_output_type(state, TCC_OUTPUT_MEMORY);
	tcc_add_symbol(state, "memmove", memmove);
	tcc_add_symbol(state, "memset", memset);
	if (tcc_compile_string(state, text) == 0) {
		int size = tcc_relocate(state, NULL);

		sum = (uint64_t)size;
	}
	tcc_delete(state);
	return sum;
}

uint64_t program_unit(unsigned number)
{
	static char text[1 << 15];
	size_t used = (size_t)snprintf(text, sizeof(text), frame, number + 3);

	/* Pieces define different names, so any of them stand together. */
	for (unsigned i = 0; i < 2; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
					 pieces[(number * 5 + i) % PIECES]);
	return compiled(text);
}
