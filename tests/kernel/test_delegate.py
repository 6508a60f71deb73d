# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects by way of their assembly: small programs are compiled through rules, linked and run."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernsmith.kernel.compile_cache import through_cache, write_compiler
from kernsmith.kernel.object_rules import rules_text
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.study.objects import Assembler, ObjectRule
from stepped_folder import ASSEMBLERS, COMPILERS, PROGRAM, SAID, Folder


@pytest.fixture(params=COMPILERS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    return Folder(tmp_path, request.param)


@pytest.mark.parametrize("assembler", ASSEMBLERS)
def test_padding_changes_code_and_not_what_it_does(folder: Folder, assembler: Assembler) -> None:
    plain = folder.compile(assembler="gnu")
    padded = {seed: folder.compile(f"pad={seed}", assembler=assembler) for seed in range(1, 6)}
    assert folder.says() == SAID
    assert len({plain, *padded.values()}) > 3
    assert folder.compile("pad=3", assembler=assembler) == padded[3]


def test_a_swapped_comparison_is_wrong_and_twice_is_right(folder: Folder) -> None:
    folder.compile("swap-comparison=clamped:0")
    assert folder.says() != SAID
    folder.compile("swap-comparison=clamped:0", "swap-comparison=clamped:0")
    assert folder.says() == SAID


@pytest.mark.parametrize("assembler", ASSEMBLERS)
def test_entries_are_counted(folder: Folder, assembler: Assembler) -> None:
    folder.compile("count-entries", assembler=assembler, flags=("-DCOUNTED",))
    assert folder.says() == SAID.replace("\n", " 2\n")


def test_prefetches_are_gone(folder: Folder) -> None:
    folder.compile("pad=1")
    assert "prefetch" in folder.assembly()
    folder.compile("no-prefetch")
    assert "prefetch" not in folder.assembly()
    assert folder.says() == SAID


MANY_JUMPS = """\
extern int printf(const char *format, ...);
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7)
#define ONE(n) if (from[n] > n * 1000003) sum += from[n ^ 1]; else if (!from[n]) return sum;
__attribute__((noinline)) long far(const long *from)
{
	long sum = 0;
	TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6)
	for (int i = 0; i < sum; i++)
		if (from[i & 63] == i)
			sum -= i;
	return sum;
}
int main(void)
{
	long numbers[80];
	for (int i = 0; i < 80; i++)
		numbers[i] = i * 1100000L;
	return printf("%ld\\n", far(numbers)) < 0;
}
"""


def jumps_on_boundaries(assembly: str) -> tuple[int, int]:
    """How many jumps lie over a boundary of 32 bytes or end on one, by what objdump shows: those
    that a processor with Intel's erratum is slow at; and how many jumps there are."""
    fused = re.compile(r"(cmp|test|add|sub|and|inc|dec)[bwlq]?$")
    shown = [re.match(r" +([0-9a-f]+):\t(\S+)(.*)", line) for line in assembly.splitlines()]
    code = [(int(found[1], 16), found[2], found[3]) if found else None for found in shown]
    bad = count = 0
    for before, at, behind in zip(code, code[1:], [*code[2:], None], strict=False):
        if at is None or not at[1].startswith("j") or "*" in at[2] or behind is None:
            continue
        together = before and fused.match(before[1]) and at[1] != "jmp"
        start = before[0] if before and together else at[0]
        count += 1
        bad += start // 32 != behind[0] // 32
    return bad, count


@pytest.mark.parametrize("assembler", ASSEMBLERS)
def test_no_jump_lies_over_a_boundary(folder: Folder, assembler: Assembler) -> None:
    (folder.path / "x.c").write_text(MANY_JUMPS)
    flags = ("-ffunction-sections",)
    folder.compile(assembler="gnu", flags=flags)
    said, (bad, count) = folder.says(), jumps_on_boundaries(folder.assembly())
    assert bad > 5
    folder.compile("align-jumps", assembler=assembler, flags=flags)
    assert folder.says() == said
    assert jumps_on_boundaries(folder.assembly()) == (0, count)
    folder.compile("align-jumps", "pad=3", assembler=assembler, flags=flags)
    assert jumps_on_boundaries(folder.assembly()) == (0, count), "it comes last"
    assert not list(folder.path.glob(".x*"))


def test_dependencies_are_those_of_the_source(folder: Folder) -> None:
    folder.compile("pad=1")
    assert (folder.path / "x.d").read_text().split()[1:] == ["x.c", "x.h"]
    left = {path.name for path in folder.path.iterdir()}
    assert left == {"x.c", "x.h", "x.d", "x.o", "rules", "rules.matched"}


def test_a_program_of_the_users_is_a_step(folder: Folder) -> None:
    program = folder.path / "filter"
    program.write_text("#!/bin/sh\nsed 's/two /TWO /'\n")
    program.chmod(0o755)
    folder.compile(str(program))
    assert folder.says() == SAID.replace("two", "TWO")


def test_a_step_that_fails_is_told_with_its_last_lines(folder: Folder) -> None:
    program = folder.path / "filter"
    for script, told in [
        ("echo one >&2; echo two >&2; exit 7", "exit status: 7:\n    one\n    two\n"),
        ("cat > /dev/null", "nothing is left of the assembly"),
        ("cat; printf '\\377'", "no text"),
        ("cat; echo '	nonsense %eax'", "made is no assembly for "),
    ]:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        said = folder.fails(str(program))
        assert said.startswith("error: x.o: "), said
        assert told in said
        kept = folder.path / ".x.o.step.s"
        assert kept.name in said
        assert "clamped" in kept.read_text()


def test_a_function_that_is_not_there_is_told(folder: Folder) -> None:
    said = folder.fails("swap-comparison=elsewhere")
    assert "step swap-comparison=elsewhere: it has no function elsewhere" in said


def test_a_mistake_in_the_source_is_the_compilers_to_tell(folder: Folder) -> None:
    (folder.path / "x.c").write_text("int f(void) { return nothing; }\n")
    assert re.search(r"x\.c:1:\d+: error: .*nothing", folder.fails("pad=1"))


def test_one_that_is_killed_leaves_no_half_object(folder: Folder) -> None:
    before = folder.compile("pad=1")
    program = folder.path / "filter"
    program.write_text(f"#!/bin/sh\ntouch {folder.path}/began\nexec sleep 60\n")
    program.chmod(0o755)
    environment = folder.environment(ObjectRule(("*.o",), steps=(str(program),)))
    victim = subprocess.Popen(
        folder.words(), cwd=folder.path, env=environment, start_new_session=True
    )
    while not (folder.path / "began").exists():
        assert victim.poll() is None
        time.sleep(0.01)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    assert folder.object.read_bytes() == before
    folder.compile("pad=1")
    assert folder.object.read_bytes() == before


def test_objects_without_a_rule_are_compiled_as_ever(folder: Folder) -> None:
    rule = ObjectRule(("other/*.o",), steps=("pad=1",))
    environment = folder.environment(rule)
    subprocess.run(folder.words(), cwd=folder.path, env=environment, check=True)
    own = folder.object.read_bytes()
    subprocess.run(folder.words()[1:], cwd=folder.path, check=True)
    assert folder.object.read_bytes() == own


FOR_CLANG = (
    "--target=x86_64-linux-gnu", "-Werror=unknown-warning-option", "-Werror=option-ignored",
    "-Werror=ignored-optimization-argument", "-Werror=unused-command-line-argument",
)  # fmt: skip
"""What kbuild tells clang alone (scripts/Makefile.clang)."""


@pytest.mark.skipif(not shutil.which("ccache"), reason="there is no ccache")
def test_what_is_compiled_to_assembly_comes_from_the_cache(tmp_path: Path) -> None:
    """Of a kernel: another step takes the same assembly."""
    kernel, tree = tmp_path / "kernel", tmp_path / "tree"
    (kernel / "out").mkdir(parents=True)
    tree.mkdir()
    (tree / "x.c").write_text(PROGRAM)
    write_compiler(kernel, tree)
    log = tmp_path / "log"
    environment = {
        **os.environ, "CCACHE_DIR": str(tmp_path / "ccache"), "CCACHE_STATSLOG": str(log),
    }  # fmt: skip
    compiler = find_toolchain("clang-22").compiler
    for seed in (1, 2):
        rules = [ObjectRule(("fs/*.o",), steps=(f"pad={seed}",))]
        (kernel / "objects.rules").write_text(rules_text(rules, compiler, "x86_64"))
        (kernel / "out/fs").mkdir(exist_ok=True)
        words = [
            *through_cache(kernel, "clang-22").split(), "-O2", *FOR_CLANG,
            "-c", "-o", "fs/x.o", f"{tree}/x.c",
        ]  # fmt: skip
        subprocess.run(words, cwd=kernel / "out", env=environment, check=True)
    assert re.findall(r"^(cache_miss|direct_cache_hit)$", log.read_text(), re.MULTILINE) == [
        "cache_miss", "direct_cache_hit",
    ]  # fmt: skip


@pytest.mark.skipif(not shutil.which("ccache"), reason="there is no ccache")
@pytest.mark.parametrize(
    "rule",
    [
        ObjectRule(("fs/*.o",), compiler="gcc"),
        ObjectRule(("fs/*.o",), compiler="gcc", steps=("pad=1",)),
        ObjectRule(("fs/*.o",), flags=("-O1",)),
    ],
    ids=["another compiler", "another compiler and steps", "flags"],
)
def test_dependencies_come_from_the_cache_too(rule: ObjectRule, tmp_path: Path) -> None:
    kernel, tree = tmp_path / "kernel", tmp_path / "tree"
    (kernel / "out/fs").mkdir(parents=True)
    tree.mkdir()
    (tree / "x.h").write_text("/* nothing */\n")
    (tree / "x.c").write_text('#include "x.h"\n' + PROGRAM)
    write_compiler(kernel, tree)
    log = tmp_path / "log"
    environment = {
        **os.environ, "CCACHE_DIR": str(tmp_path / "ccache"), "CCACHE_STATSLOG": str(log),
    }  # fmt: skip
    own = find_toolchain("clang-22").compiler
    (kernel / "objects.rules").write_text(rules_text([rule], own, "x86_64"))
    made = []
    for _ in range(2):
        words = [
            *through_cache(kernel, "clang-22").split(), "-O2", *FOR_CLANG, "-Wp,-MMD,fs/.x.o.d",
            "-c", "-o", "fs/x.o", f"{tree}/x.c",
        ]  # fmt: skip
        subprocess.run(words, cwd=kernel / "out", env=environment, check=True)
        _, *files = (kernel / "out/fs/.x.o.d").read_text().replace("\\\n", "").split()
        assert [Path(file).name for file in files] == ["x.c", "x.h"]
        made.append((kernel / "out/fs/x.o").read_bytes())
        for name in ("x.o", ".x.o.d"):
            (kernel / "out/fs" / name).unlink()
    assert made[0] == made[1]
    assert re.findall(r"^(cache_miss|direct_cache_hit)$", log.read_text(), re.MULTILINE) == [
        "cache_miss", "direct_cache_hit",
    ]  # fmt: skip


def test_the_command_gives_make_its_compiler(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "gcc")
    command = [sys.executable, "-m", "kernsmith", "delegate", "cc", "gcc", "--print", "--step"]
    environment = {**os.environ, "KERNSMITH_CACHE": str(tmp_path / "cache")}
    told = subprocess.run(
        [*command, "*.o:swap-comparison=clamped"], env=environment, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    (tmp_path / "Makefile").write_text("x.o: x.c\n\t$(CC) -O2 -c -o $@ $<\n")
    subprocess.run(["make", f"CC={told.strip()}"], cwd=tmp_path, check=True, capture_output=True)
    assert folder.says() != SAID
