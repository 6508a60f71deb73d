// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UnixBench's whetstone-double: H. J. Curnow and B. A. Wichmann, "A Synthetic Benchmark", The Computer
 * Journal 19(1), 1976. With the counts below a pass is 100,000 Whetstone instructions. The modules have
 * the numbers that they have there; 1, 5, 10 and 12 have nothing to do.
 */
#include "test.h"

#include "failure.h"

#include <math.h>
#include <stdbool.h>

/* How often each module is repeated, for I = 1 of the paper. */
enum { N2 = 12, N3 = 14, N4 = 345, N6 = 210, N7 = 32, N8 = 899, N9 = 616, N11 = 93 };

#define APART __attribute__((noinline)) static

static double t = 0.499975, t1 = 0.50025, t2 = 2.0, e1[4];
static int j, k, l;

APART void proc_a(double *e)
{
	for (int i = 0; i < 6; i++) {
		e[0] = (e[0] + e[1] + e[2] - e[3]) * t;
		e[1] = (e[0] + e[1] - e[2] + e[3]) * t;
		e[2] = (e[0] - e[1] + e[2] + e[3]) * t;
		e[3] = (-e[0] + e[1] + e[2] + e[3]) / t2;
	}
}

APART void proc_0(void)
{
	e1[j] = e1[k];
	e1[k] = e1[l];
	e1[l] = e1[j];
}

APART void proc_3(double x, double y, double *z)
{
	double x1 = t * (x + y), y1 = t * (x1 + y);

	*z = (x1 + y1) / t2;
}

static void start_array(void)
{
	e1[0] = 1.0;
	e1[1] = e1[2] = e1[3] = -1.0;
}

APART void module_2(void)
{
	start_array();
	for (int i = 0; i < N2; i++) {
		e1[0] = (e1[0] + e1[1] + e1[2] - e1[3]) * t;
		e1[1] = (e1[0] + e1[1] - e1[2] + e1[3]) * t;
		e1[2] = (e1[0] - e1[1] + e1[2] + e1[3]) * t;
		e1[3] = (-e1[0] + e1[1] + e1[2] + e1[3]) * t;
	}
}

APART void module_4(void)
{
	j = 1;
	for (int i = 0; i < N4; i++) {
		j = j == 1 ? 2 : 3;
		j = j > 2 ? 0 : 1;
		j = j < 1 ? 1 : 0;
	}
}

APART void module_6(void)
{
	j = 1;
	k = 2;
	l = 3;
	for (int i = 0; i < N6; i++) {
		j = j * (k - j) * (l - k);
		k = l * k - (l - j) * k;
		l = (l - k) * (k + j);
		e1[l - 2] = j + k + l;
		e1[k - 2] = j * k * l;
	}
}

APART double module_7(void)
{
	double x = 0.5, y = 0.5;

	for (int i = 0; i < N7; i++) {
		x = t * atan(t2 * sin(x) * cos(x) / (cos(x + y) + cos(x - y) - 1.0));
		y = t * atan(t2 * sin(y) * cos(y) / (cos(x + y) + cos(x - y) - 1.0));
	}
	return y;
}

APART double module_11(void)
{
	double x = 0.75;

	for (int i = 0; i < N11; i++)
		x = sqrt(exp(log(x) / t1));
	return x;
}

static bool is_near(double is, double should_be)
{
	return fabs(is - should_be) < 1e-2;
}

/* The values are those that the modules tend to, whatever the counts are. */
static int loop(unsigned number)
{
	double z = 0.0;

	(void)number;
	module_2();
	if (!is_near(e1[3], -1.13))
		return wrong("module 2 of Whetstone");
	start_array();
	for (int i = 0; i < N3; i++)
		proc_a(e1);
	if (!is_near(e1[3], -1.13))
		return wrong("module 3 of Whetstone");
	module_4();
	if (j != (N4 + 1) % 2)	/* each pass turns it */
		return wrong("module 4 of Whetstone");
	module_6();
	if (j != 1 || k != 2 || l != 3 || e1[0] != 6.0 || e1[1] != 6.0)
		return wrong("module 6 of Whetstone");
	if (!is_near(module_7(), 0.4990))
		return wrong("module 7 of Whetstone");
	for (int i = 0; i < N8; i++)
		proc_3(1.0, 1.0, &z);
	if (!is_near(z, 1.0))
		return wrong("module 8 of Whetstone");
	j = 0;
	k = 1;
	l = 2;
	e1[0] = 1.0;
	e1[1] = 2.0;
	e1[2] = 3.0;
	for (int i = 0; i < N9; i++)
		proc_0();
	if (e1[1] != 2.0 || e1[2] != 3.0)
		return wrong("module 9 of Whetstone");
	return is_near(module_11(), 0.755) ? 0 : wrong("module 11 of Whetstone");
}

static const struct test whetstone = { .loops = 1, .turns = 8, .loop = loop };

TEST(whetstone, "unixbench-whetstone", "",
     "Whetstone in double precision: arithmetic in user mode", 200, 10);
