# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that add up: another compiler, steps, an assembler; and what a fallback is for."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernsmith.kernel.object_rules import rules_text
from kernsmith.kernel.taken_objects import Taken, read_taken
from kernsmith.kernel.toolchain import find_compiler
from kernsmith.paths import shipped
from kernsmith.study.objects import ObjectRule

PROGRAM = "int twice(int x) { return 2 * x; }\n"
OF_GCC = "int thrice(int x) { int f(int y) { return 2 * x + y; } return f(x); }\n"
"""A function in a function, which clang does not take."""
ALL = ("*.o",)


class Folder:
    """Somebody's folder, and a make for gcc, or for clang, that has rules."""

    def __init__(self, path: Path, kbuilds: str = "gcc", text: str = PROGRAM) -> None:
        self.path, self.kbuilds, self.rules = path, kbuilds, path / "x.rules"
        (path / "x.c").write_text(text)

    def compile(self, *rules: ObjectRule, flags: tuple[str, ...] = ()) -> tuple[int, str]:
        self.rules.write_text(rules_text(rules, find_compiler(self.kbuilds), "x86_64"))
        delegate = str(shipped("target/release/kernsmith-compiler"))
        target = ["--target=x86_64-linux-gnu"] if "clang" in self.kbuilds else []
        words = ["-O2", "-Wp,-MMD,x.d", *flags, "-c", "-o", "x.o", "x.c"]
        done = subprocess.run(
            [delegate, self.kbuilds, *target, *words], cwd=self.path,
            env={**os.environ, "KERNSMITH_OBJECTS": str(self.rules), "CCACHE_DISABLE": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr

    def program(self, script: str) -> str:
        """A step of the user's."""
        program = self.path / "filter"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return str(program)

    def sections(self) -> str:
        words = ["readelf", "-SW", "x.o"]
        return subprocess.run(words, cwd=self.path, capture_output=True, text=True).stdout


def test_with_steps_the_fallback_has_the_compilers_reason_too(tmp_path: Path) -> None:
    folder = Folder(tmp_path, text=OF_GCC)
    rule = ObjectRule(ALL, compiler="clang-22", fallback="gcc", steps=("pad=1",))
    assert folder.compile(rule) == (0, "")
    (taken,) = read_taken(folder.rules)
    assert taken.program == "gcc"
    assert "function definition is not allowed here" in taken.reason


def test_a_step_that_fails_is_not_the_compilers_failure(tmp_path: Path) -> None:
    """It is tried once, and what it was given is kept."""
    folder = Folder(tmp_path)
    program = folder.program("echo once >> ran; echo no >&2; exit 3")
    rule = ObjectRule(ALL, compiler="clang-22", fallback="gcc", steps=(program,))
    code, said = folder.compile(rule)
    assert code == 1
    assert said.startswith(f"error: x.o: step {program}: it ended with exit status: 3:\n    no\n")
    assert "neither" not in said
    assert (tmp_path / "ran").read_text() == "once\n"
    assert "clang version" in (tmp_path / ".x.o.step.s").read_text()
    assert not read_taken(folder.rules)
    assert not (tmp_path / "x.o").exists()


@pytest.mark.skipif(not shutil.which("tcc"), reason="apt-get install tcc")
def test_two_rules_may_ask_for_steps_on_what_has_no_assembly(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    small = ObjectRule(ALL, compiler="tcc", fallback="gcc")
    assert folder.compile(small, ObjectRule(ALL, steps=("pad=1",))) == (0, "")
    reason = "tcc writes no assembly for steps or another assembler"
    assert read_taken(folder.rules) == (Taken("x.o", "gcc", reason),)
    alone = ObjectRule(ALL, compiler="tcc")
    code, said = folder.compile(alone, ObjectRule(ALL, steps=("pad=1",)))
    assert code == 1
    assert said == f"error: x.o: tcc cannot compile it ({reason}), and no fallback is named\n"


def test_the_assembler_of_one_rule_is_that_of_anothers_compiler(tmp_path: Path) -> None:
    """clang's writes the names of sections where it writes those of symbols; GNU as does not."""
    folder = Folder(tmp_path, "clang-22")
    by_gcc, by_clangs = ObjectRule(ALL, compiler="gcc"), ObjectRule(ALL, assembler="clang")
    assert folder.compile(by_gcc) == (0, "")
    assert ".shstrtab" in folder.sections()
    for rules in ([by_gcc, by_clangs], [by_clangs, by_gcc]):
        assert folder.compile(*rules) == (0, "")
        assert ".shstrtab" not in folder.sections()
    gnu = ObjectRule(ALL, assembler="gnu")
    assert folder.compile(by_clangs, gnu) == (0, "")
    assert ".shstrtab" in folder.sections()


@pytest.mark.parametrize("kbuilds", ["gcc", "clang-22"])
def test_more_flags_leave_no_half_object_either(kbuilds: str, tmp_path: Path) -> None:
    """What is compiled is there under its name when it is whole; and a failure leaves what was."""
    folder = Folder(tmp_path, kbuilds)
    rule = ObjectRule(ALL, flags=("-O1",))
    assert folder.compile(rule) == (0, "")
    before = (tmp_path / "x.o").read_bytes()
    assert (tmp_path / "x.d").read_text().split()[1:] == ["x.c"]
    number = (tmp_path / "x.o").stat().st_ino
    os.link(tmp_path / "x.o", tmp_path / "kept.o")
    (tmp_path / "x.c").write_text(PROGRAM.replace("2", "3"))
    assert folder.compile(rule) == (0, "")
    assert (tmp_path / "x.o").stat().st_ino != number
    assert (tmp_path / "kept.o").read_bytes() == before, "nothing was written into it"
    after = (tmp_path / "x.o").read_bytes()
    (tmp_path / "x.c").write_text("int f(void) { return nothing; }\n")
    code, said = folder.compile(rule)
    assert code == 1
    assert "error" in said
    assert (tmp_path / "x.o").read_bytes() == after
    assert not list(tmp_path.glob(".x*"))


def test_files_that_are_named_after_an_object_are_called_what_they_were(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.compile(ObjectRule(ALL, flags=("-O1",)), flags=("-fstack-usage",)) == (0, "")
    assert (tmp_path / "x.su").exists()
