# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects of which some functions are another compilation's: linked into a program, and run."""

import random
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernsmith.kernel.exchange import (
    NotExchangeable,
    by_object,
    exchange_of,
    function_of,
    mixed_object,
)

DATA = """\
#define OWN __attribute__((noinline))
extern int stopped(int, const char *);
static int calls = 100;
static int counted[4] __attribute__((aligned(16))) = {1, 2, 3, 4};
const int weights[3] = {10, 20, 30};
extern int by_table(int, int);
static int helper(int), twice(int);
"""
FUNCTIONS = {
    "doubled": "OWN int doubled(int a) { calls++; return 2 * helper(a) + counted[a & 3]; }",
    "tripled": """\
OWN int tripled(int a) { static int times; calls++; return 3 * helper(a) + STEP + ++times; }""",
    "helper": "OWN static int helper(int a) { counted[a & 3] += STEP; return a + STEP; }",
    "once": "OWN static int once(int a) { static int runs; return a - 7 * STEP - ++runs; }",
    "twice": "OWN static int twice(int a) { return a * weights[a % 3] + STEP; }",
    "by_table": """\
static int (*const table[])(int) = {once, twice, tripled};
OWN int by_table(int which, int a) { return table[which](a); }""",
    "depth": """\
OWN int depth(int n) { return n <= 0 ? STEP : STEP + depth(n - 1) * (n & 1 ? 1 : 2); }""",
    "named": 'OWN const char *named(int n) { return n + STEP > 2 ? "many " NAME : "few " NAME; }',
    "tail": "OWN int tail(int a) { calls += STEP; return by_table(1, a); }",
    "is_twice": "OWN int is_twice(int (*a)(int)) { return a == twice ? STEP : 0; }",
    "pointed": "int (*pointed(void))(int) { calls += STEP; return twice; }",
    "total": """\
OWN int total(void) { int s = STEP; for (int *p = counted; p != counted + 4; p++) s += *p; return s; }""",
    "switched": """\
OWN int switched(int n) {
    switch (n) {
    case 0: return stopped(n, "zero " NAME);
    case 1: return stopped(n + STEP, "one");
    case 2: return doubled(n);
    case 3: return tripled(n) + STEP;
    case 4: calls += STEP; return 4;
    case 5: return stopped(5, NAME);
    case 6: return depth(n);
    default: return 7 + STEP;
    }
}""",
    # What looks for an exception looks for a place in code, as the kernel's tables have them.
    "placed": """\
#define TABLE(name) ".pushsection " name ", \\"a\\"\\n.balign 8\\n.quad 1b, %c1\\n.popsection\\n"
OWN int placed(void) {
    int kind;
    __asm__ volatile("nop\\n1: movl %1, %0\\n" TABLE("__ex_table") TABLE("some_table")
                     : "=r"(kind) : "i"(STEP));
    return kind;
}""",
    "looked": "OWN int looked(void) { return calls + counted[2] * STEP; }",
}
MAIN = """\
extern int printf(const char *, ...);
extern int doubled(int), tripled(int), by_table(int, int), depth(int), tail(int), switched(int);
extern int placed(void), looked(void), is_twice(int (*)(int)), (*pointed(void))(int), total(void);
extern const char *named(int);
struct place { char *at; long kind; };
extern struct place __start_some_table[], __stop_some_table[];
extern struct place __start___ex_table[], __stop___ex_table[];
static void look(struct place *from, struct place *to) {
    for (; from < to; from++)
        if (from->at == (char *)placed + 1) printf("kind %ld\\n", from->kind);
}
int stopped(int n, const char *text) { printf("%s;", text); return n; }
int main(void) {
    int (*volatile pointer)(int) = doubled;
    printf("doubled %d %d\\n", doubled(1), pointer(2));
    printf("tripled %d %d\\n", tripled(1), tripled(1));
    printf("table %d %d %d\\n", by_table(0, 1), by_table(1, 4), by_table(2, 7));
    printf("depth %d\\n", depth(9));
    printf("named %s %s\\n", named(0), named(5));
    printf("tail %d\\n", tail(4));
    printf("twice %d %d\\n", is_twice(pointed()), pointed()(3));
    printf("total %d\\n", total());
    for (int n = 0; n < 9; n++) printf("switched %d\\n", switched(n));
    printf("placed %d\\n", placed());
    printf("looked %d\\n", looked());
    look(__start_some_table, __stop_some_table);
    look(__start___ex_table, __stop___ex_table);
}
"""
COMPILERS = ["clang-22", "gcc"]


def source(bad: Collection[str]) -> str:
    """The text with some functions in their bad form."""
    text = [DATA]
    for name, code in FUNCTIONS.items():
        step, word = (2, "bad") if name in bad else (1, "good")
        text += ["#undef STEP", f"#define STEP {step}", "#undef NAME", f'#define NAME "{word}"']
        text += [code]
    return "\n".join(text) + "\n"


@dataclass(frozen=True)
class Bench:
    """Compiles and links in a folder."""

    folder: Path

    def compiled(self, text: str, *flags: str, compiler: str = "clang-22") -> Path:
        target = self.folder / f"{len(list(self.folder.iterdir()))}.o"
        own = ["-O2", "-fno-pie", "-fno-pic", "-ffunction-sections", "-w"]
        command = [compiler, *own, *flags, "-c", "-x", "c", "-", "-o", str(target)]
        subprocess.run(command, input=text, text=True, check=True)
        return target

    def mixed(self, good: Path, bad: Path, functions: Collection[str]) -> Path:
        target = self.folder / "mixed.o"
        target.write_bytes(mixed_object(good, bad, functions))
        return target

    def printed(self, *parts: Path) -> list[str]:
        """The lines that a program of some objects prints."""
        program = self.folder / "program"
        subprocess.run(["gcc", "-static", "-no-pie", "-o", program, *parts], check=True)
        done = subprocess.run([program], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("level", ["-O2", "-O3", "-Os"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_program_does_what_its_functions_do(compiler: str, level: str, bench: Bench) -> None:
    """Whichever functions are exchanged: it does what a program does that is compiled so."""
    good = bench.compiled(source(()), compiler=compiler)
    bad = bench.compiled(source(FUNCTIONS), level, compiler=compiler)
    main = bench.compiled(MAIN)
    exchange = exchange_of(good, bad)
    assert not exchange.kept
    names = {name for unit in exchange.units for name in unit}
    assert names >= FUNCTIONS.keys() - {"by_table", "doubled", "helper"}
    assert bench.printed(bench.mixed(good, bad, ()), main) == bench.printed(good, main)
    assert bench.printed(bench.mixed(good, bad, names), main) == bench.printed(bad, main)
    drawn = random.Random(f"{compiler} {level}")
    for _ in range(4):
        units = drawn.sample(exchange.units, drawn.randrange(1, len(exchange.units)))
        chosen = {name for unit in units for name in unit}
        is_so = bench.printed(bench.mixed(good, bad, [unit[0] for unit in units]), main)
        assert is_so == bench.printed(bench.compiled(source(chosen)), main), chosen
