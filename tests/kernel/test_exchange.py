# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects of which some functions are another compilation's: linked into a program, and run."""

import random
import subprocess
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kernsmith.kernel.exchange import (
    NotExchangeable,
    Unit,
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
    "once": "OWN static int once(int a) { static int times; return a - 7 * STEP - ++times; }",
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
OWN int total(void) {
    int sum = STEP;
    for (int *p = counted; p != counted + 4; p++) sum += *p;
    return sum;
}""",
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


def source(bad: Collection[str], own: Collection[str] = ()) -> str:
    """The text with some functions in the bad form. own: those that call `helper` in theirs."""
    text = [DATA]

    def add(code: str, is_bad: bool) -> None:
        step, word = (2, "bad") if is_bad else (1, "good")
        text.extend(
            ["#undef STEP", f"#define STEP {step}", "#undef NAME", f'#define NAME "{word}"']
        )
        text.append(code)

    for name, code in FUNCTIONS.items():
        if name in own:
            helper = f"helper_of_{name}"
            add(FUNCTIONS["helper"].replace("helper", helper), name in bad)
            code = code.replace("helper", helper)
        add(code, name in bad)
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
    names = {name for unit in exchange.units for name in unit.functions}
    assert names >= FUNCTIONS.keys() - {"by_table", "doubled", "helper"}
    own = {unit.name for unit in exchange.units if "helper" in unit.along}
    assert bench.printed(bench.mixed(good, bad, ()), main) == bench.printed(good, main)
    assert bench.printed(bench.mixed(good, bad, names), main) == bench.printed(bad, main)
    drawn = random.Random(f"{compiler} {level}")
    for _ in range(2):
        units = drawn.sample(exchange.units, drawn.randrange(1, len(exchange.units)))
        chosen = {name for unit in units for name in unit.functions}
        is_so = bench.printed(bench.mixed(good, bad, [unit.name for unit in units]), main)
        assert is_so == bench.printed(bench.compiled(source(chosen, own)), main), chosen


def kept(good: Path, bad: Path) -> dict[str, str]:
    return dict(exchange_of(good, bad).kept)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_functions_that_share_a_section_stay(compiler: str, bench: Bench) -> None:
    text = """
        #define SAME __attribute__((section(".same.text")))
        SAME int f(int a) { return a + STEP; }
        SAME int g(int a) { return a * 3; }
        int h(int a) { return a - STEP; }
    """
    objects = [bench.compiled(text, f"-DSTEP={n}", compiler=compiler) for n in (5, 6)]
    assert kept(*objects) == {"f": "it shares the section .same.text with others"}
    assert exchange_of(*objects).units == (Unit(("h",)),)
    with pytest.raises(NotExchangeable, match="f cannot be exchanged"):
        mixed_object(*objects, ["f"])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_function_that_needs_a_variable_of_its_own_stays(compiler: str, bench: Bench) -> None:
    text = "static int only SIZE; int f(int a) { return USE + a; }"

    def compiled(*flags: str) -> Path:
        return bench.compiled(text, *flags, compiler=compiler)

    plain = compiled("-DSIZE=", "-DUSE=only++")
    larger = compiled("-DSIZE=[2]", "-DUSE=only[a]++")
    words = "it refers to only, for which the good object has no counterpart"
    assert {why.replace("only.0", "only") for why in kept(larger, plain).values()} == {words}
    # Of what nobody else knows a copy comes along.
    assert kept(compiled("-DSIZE=", "-DUSE=1"), plain) == {}
    assert kept(plain, compiled("-DSIZE=", "-DUSE=only--")) == {}


def test_variables_of_one_name_are_told_apart_by_their_functions(bench: Bench) -> None:
    """gcc numbers static variables in the order in which it needs their names."""
    text = """
        int f(int a) {
            if (a) { static int times; times += a; return times + STEP; }
            static int MORE; return --MORE + STEP;
        }
        int g(int a) { static int times; return ++times * a; }
    """

    def objects(compiler: str, more: str) -> list[Path]:
        flags = [[f"-DSTEP={n}", f"-DMORE={more}"] for n in (5, 6)]
        return [bench.compiled(text, *each, compiler=compiler) for each in flags]

    (why,) = kept(*objects("gcc", "times")).values()
    assert why.startswith("it refers to times.")
    assert kept(*objects("gcc", "more")) == {}
    assert kept(*objects("clang-22", "times")) == {}
    # Two compilers.
    assert kept(objects("clang-22", "more")[0], objects("gcc", "more")[1]) == {}


def test_vectors_are_not_exchanged_for_data_that_is_aligned_less(bench: Bench) -> None:
    text = """
        typedef int v __attribute__((vector_size(16)));
        static int x[4] __attribute__((aligned(ALIGN))) = {1};
        void *where(void) { return x; }
        v f(void) { return *(v *)x + STEP; }
    """
    good, bad = (
        bench.compiled(text, f"-DALIGN={n}", f"-DSTEP={n}", "-fno-strict-aliasing", compiler="gcc")
        for n in (4, 16)
    )
    assert kept(good, bad) == {"f": "it refers to x, which the good object aligns less"}
    assert kept(bad, good) == {}


PRIVATE = """
    extern int out(int);
    static __attribute__((noinline, noclone))
    int inner(int a, int b) { return out(a * STEP) + STEP; }
    int outer(int a) { return inner(a, 2) + CALLER; }
    int other(int a) { return inner(a, 3) - 1; }
"""


def test_a_private_function_is_called_by_its_own_kind(bench: Bench) -> None:
    """How it is called is its compiler's business; a caller that does not differ calls both."""

    def units(compiler: str, caller: int, text: str = PRIVATE) -> list[Unit]:
        objects = [
            bench.compiled(text, f"-DSTEP={5 + n}", f"-DCALLER={n * caller}", compiler=compiler)
            for n in (0, 1)
        ]
        return list(exchange_of(*objects).units)

    shown = PRIVATE + "int (*pointer)(int, int) = inner;"
    inner, outer = Unit(("inner",)), Unit(("outer",))
    assert units("clang-22", 0) == [inner]
    assert units("clang-22", 1) == [inner, replace(outer, along=("inner",))]
    assert units("clang-22", 1, shown) == [inner, outer]
    # gcc's callers count on what registers it uses, too.
    assert units("gcc", 0) == [inner]
    assert units("gcc", 1) == units("gcc", 1, shown) == [Unit(("inner", "outer"))]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_private_function_that_stays(compiler: str, bench: Bench) -> None:
    """clang's caller takes it along, gcc's stays with it."""
    text = PRIVATE.replace("noclone", 'noclone, section(".text.two")')
    text += '__attribute__((section(".text.two"))) int two(void) { return 2; }'
    objects = [
        bench.compiled(text, f"-DSTEP={n}", f"-DCALLER={n}", compiler=compiler) for n in (5, 6)
    ]
    why = "shares the section .text.two with others"
    if compiler == "gcc":
        together = f"it goes together with inner, which {why}"
        assert kept(*objects) == {"inner": f"it {why}", "outer": together}
        return
    assert kept(*objects) == {"inner": f"it {why}"}
    main = bench.compiled(
        """
        extern int printf(const char *, ...);
        extern int outer(int), other(int);
        int out(int a) { printf("out %d\\n", a); return a; }
        int main(void) { printf("%d\\n", outer(1)); printf("%d\\n", other(1)); }
        """
    )
    (good, bad), mixed = (bench.printed(each, main) for each in objects), ["outer"]
    assert bench.printed(bench.mixed(*objects, mixed), main) == bad[:2] + good[2:]


def test_pieces_that_gcc_splits_off_go_with_their_function(bench: Bench) -> None:
    text = """
        extern int out(int);
        extern void warn(int) __attribute__((cold)), end(int) __attribute__((cold, noreturn));
        int f(int a) { if (a > STEP) { warn(a); warn(STEP); end(a + STEP); } return out(STEP); }
    """
    objects = [bench.compiled(text, f"-DSTEP={n}", compiler="gcc") for n in (5, 6)]
    assert b"f.cold" in objects[0].read_bytes()
    assert exchange_of(*objects).units == (Unit(("f",)),)
    main = bench.compiled(
        """
        extern int printf(const char *, ...);
        extern void exit(int);
        extern int f(int);
        int out(int a) { printf("out %d\\n", a); return a; }
        void warn(int a) { printf("warn %d\\n", a); }
        void end(int a) { printf("end %d\\n", a); exit(0); }
        int main(void) { f(1); f(9); }
        """
    )
    good, bad = (bench.printed(each, main) for each in objects)
    assert good == ["out 5", "warn 9", "warn 5", "end 14"]
    assert bad == ["out 6", "warn 9", "warn 6", "end 15"]
    assert bench.printed(bench.mixed(*objects, []), main) == good
    assert bench.printed(bench.mixed(*objects, ["f"]), main) == bad


def test_names_that_a_linker_sees_say_which_form_is_called(bench: Bench) -> None:
    objects = [bench.compiled(source(bad)) for bad in ((), FUNCTIONS)]
    text = subprocess.run(
        ["nm", bench.mixed(*objects, ["once"])], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1] for line in text.splitlines()}
    assert {"once", "once.good", "depth", "depth.bad"} <= names
    assert not {"once.bad", "depth.good"} & names


@pytest.mark.parametrize(
    "content", [b"", b"BC\xc0\xde" * 40, b"\x7fELF\x02\x01" + b"\xff" * 80], ids=range(3)
)
def test_what_is_no_object_is_said_to_be_none(content: bytes, bench: Bench) -> None:
    path = bench.folder / "x.o"
    path.write_bytes(content)
    with pytest.raises(NotExchangeable, match="is no object"):
        exchange_of(path, path)


def test_an_object_of_another_kind_is_refused(bench: Bench) -> None:
    objects = [bench.compiled("int f(void) { return STEP; }", f"-DSTEP={n}") for n in (1, 2)]
    for place, value, why in [
        (16, 3, "the bad object cannot be read: it is no relocatable file"),
        (18, 183, "the bad object cannot be read: it is for another architecture than x86-64"),
    ]:
        content = bytearray(objects[1].read_bytes())
        content[place] = value
        other = bench.folder / "other.o"
        other.write_bytes(content)
        with pytest.raises(NotExchangeable, match=why):
            exchange_of(objects[0], other)


def test_damaged_objects_are_refused_or_mixed_and_nothing_else(bench: Bench) -> None:
    good, bad = (bench.compiled(source(each)) for each in ((), FUNCTIONS))
    whole, damaged = bad.read_bytes(), bench.folder / "damaged.o"
    drawn, refused = random.Random(17), 0
    headers = int.from_bytes(whole[40:48], "little")
    for number in range(400):
        content = bytearray(whole)
        for _ in range(drawn.randrange(1, 4)):
            # Half of them hit the headers of sections.
            at = drawn.randrange(headers if number % 2 else 0, len(content))
            content[at] = drawn.choice([0, 1, 0x7F, 0x80, 0xFF, drawn.randrange(256)])
        damaged.write_bytes(
            content[: drawn.choice([len(whole)] * 3 + [drawn.randrange(len(whole))])]
        )
        try:
            exchange = exchange_of(good, damaged)
            mixed_object(good, damaged, [unit.name for unit in exchange.units])
        except NotExchangeable:
            refused += 1
    assert 100 < refused < 400


def test_what_is_taken_is_told_by_object() -> None:
    names = ["fs/a.o", function_of("fs/b.o"), function_of("fs/b.o", "f"), function_of("fs/c.o")]
    assert by_object(names) == {"fs/a.o": None, "fs/b.o": ("f",), "fs/c.o": ()}
