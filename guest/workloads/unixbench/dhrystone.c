// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UnixBench's dhry2reg: Dhrystone, version 2 (R. P. Weicker, "Dhrystone: A Synthetic Systems Programming
 * Benchmark", CACM 27(10), 1984; version 2: SIGPLAN Notices 23(8), 1988). Procedures and functions have
 * the numbers that they have there, and none is expanded where it is called, as version 2 wants it.
 */
#include "test.h"

#include "failure.h"

#include <stdbool.h>
#include <string.h>

#define APART __attribute__((noinline)) static

enum kind { KIND_1, KIND_2, KIND_3, KIND_4, KIND_5 };

struct record {
	struct record *other;
	enum kind discriminant, kind;
	int number;
	char text[31];
};

static struct record first, second, *const head = &first;
static int number_glob, numbers_1[50], numbers_2[50][50];
static bool truth_glob;
static char letter_1, letter_2;

APART enum kind func_1(char one, char other)
{
	if (one != other)
		return KIND_1;
	letter_1 = one;
	return KIND_2;
}

APART bool func_2(const char *one, const char *other)
{
	char letter = 0;
	int i = 2;

	while (i <= 2)
		if (func_1(one[i], other[i + 1]) == KIND_1) {
			letter = 'A';
			i++;
		}
	if (letter >= 'W' && letter < 'Z')
		i = 7;
	if (letter == 'R')
		return true;
	if (strcmp(one, other) <= 0)
		return false;
	number_glob = i + 7;
	return true;
}

APART bool func_3(enum kind kind)
{
	return kind == KIND_3;
}

APART void proc_7(int one, int other, int *sum)
{
	*sum = one + 2 + other;
}

APART void proc_6(enum kind kind, enum kind *result)
{
	*result = func_3(kind) ? kind : KIND_4;
	switch (kind) {
	case KIND_1:
		*result = KIND_1;
		break;
	case KIND_2:
		*result = number_glob > 100 ? KIND_1 : KIND_4;
		break;
	case KIND_3:
		*result = KIND_2;
		break;
	case KIND_4:
		break;
	case KIND_5:
		*result = KIND_3;
		break;
	}
}

APART void proc_8(int *one, int (*other)[50], int at, int value)
{
	int i = at + 5;

	one[i] = value;
	one[i + 1] = one[i];
	one[i + 30] = i;
	for (int j = i; j <= i + 1; j++)
		other[i][j] = i;
	other[i][i - 1]++;
	other[i + 20][i] = one[i];
	number_glob = 5;
}

APART void proc_5(void)
{
	letter_1 = 'A';
	truth_glob = false;
}

APART void proc_4(void)
{
	truth_glob = truth_glob | (letter_1 == 'A');
	letter_2 = 'B';
}

APART void proc_3(struct record **record)
{
	if (head)
		*record = head->other;
	proc_7(10, number_glob, &head->number);
}

APART void proc_2(int *number)
{
	int i = *number + 10;
	enum kind kind = KIND_2;

	do {
		if (letter_1 == 'A') {
			i--;
			*number = i - number_glob;
			kind = KIND_1;
		}
	} while (kind != KIND_1);
}

APART void proc_1(struct record *record)
{
	struct record *next = record->other;

	*next = *head;
	record->number = 5;
	next->number = record->number;
	next->other = record->other;
	proc_3(&next->other);
	if (next->discriminant == KIND_1) {
		next->number = 6;
		proc_6(record->kind, &next->kind);
		next->other = head->other;
		proc_7(next->number, 10, &next->number);
	} else {
		*record = *record->other;
	}
}

static int set_up(void)
{
	first = (struct record){
		.other = &second, .discriminant = KIND_1, .kind = KIND_3, .number = 40,
		.text = "DHRYSTONE PROGRAM, SOME STRING",
	};
	return 0;
}

/* The values that a pass must end with are those that the original prints. */
static int loop(unsigned number)
{
	char text_1[31] = "DHRYSTONE PROGRAM, 1'ST STRING", text_2[31];
	int one = 2, two = 3, three = 0;
	enum kind kind = KIND_2;

	proc_5();
	proc_4();
	strcpy(text_2, "DHRYSTONE PROGRAM, 2'ND STRING");
	truth_glob = !func_2(text_1, text_2);
	while (one < two) {
		three = 5 * one - two;
		proc_7(one, two, &three);
		one++;
	}
	proc_8(numbers_1, numbers_2, one, three);
	proc_1(head);
	for (char letter = 'A'; letter <= letter_2; letter++)
		if (kind == func_1(letter, 'C')) {
			proc_6(KIND_1, &kind);
			strcpy(text_2, "DHRYSTONE PROGRAM, 3'RD STRING");
			two = number_glob = (int)number;
		}
	two *= one;
	one = two / three;
	two = 7 * (two - three) - one;
	proc_2(&one);
	bool as_published = one == 5 && two == 13 && three == 7 && kind == KIND_2 && truth_glob &&
			    number_glob == 5 && letter_1 == 'A' && letter_2 == 'B' &&
			    numbers_1[8] == 7 && first.number == 17 && second.number == 18 &&
			    first.kind == KIND_3 && second.kind == KIND_2;

	return as_published ? 0 : wrong("the values of Dhrystone");
}

static const struct test dhrystone = { .loops = 100, .turns = 8, .set_up = set_up, .loop = loop };

TEST(dhrystone, "unixbench-dhrystone", "", "Dhrystone 2: records, strings and calls in user mode", 300, 10);
