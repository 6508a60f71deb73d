# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects by compilers of other families than kbuild's: small programs, compiled and run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernsmith.errors import KernsmithError, ProgramMissing
from kernsmith.kernel.object_rules import rules_text
from kernsmith.kernel.taken_objects import Taken, by_program, by_reason, read_taken
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.kernel.toolchain.other import find_other
from kernsmith.paths import shipped
from kernsmith.study.objects import ObjectRule

PROGRAM = """\
extern int printf(const char *format, ...);
extern int shared;
int shared = 40;
_Static_assert(sizeof(shared) == 4, "an int");
static int half(int value) { return value / 2; }
int main(void) { int (*call)(int) = half; return printf("%d\\n", shared + call(4)) < 0; }
"""
OF_GCC = "int twice(int x) { int f(int y) { return x + y; } return f(x); }\n"
"""A function in a function."""
WORDS = {
    "gcc": [
        "-Wall", "-mpreferred-stack-boundary=3", "-fconserve-stack", "--param=max-gcse-memory=9",
    ],
    "clang-22": [
        "--target=x86_64-linux-gnu", "-fintegrated-as", "-Werror=unknown-warning-option",
        "-mstack-alignment=8", "-mllvm", "-enable-fs-discriminator=true", "-gmlt",
    ],
}  # fmt: skip
needs_tcc = pytest.mark.skipif(not shutil.which("tcc"), reason="apt-get install tcc")


@pytest.fixture(autouse=True)
def asked_anew() -> None:
    """Where a compiler is, was kept of a test with another PATH."""
    find_other.cache_clear()


class Folder:
    """Somebody's folder with a program, and a make for one compiler that has a rule for another."""

    def __init__(self, path: Path, kbuilds: str) -> None:
        self.path, self.kbuilds = path, kbuilds
        self.rules = path / "x.rules"
        (path / "x.c").write_text(PROGRAM)

    def compile(
        self, compiler: str, fallback: str = "", *more: str
    ) -> subprocess.CompletedProcess[str]:
        rule = ObjectRule(("*.o",), compiler=compiler, fallback=fallback)
        own = find_toolchain(self.kbuilds).compiler
        self.rules.write_text(rules_text([rule], own, "x86_64"))
        delegate = str(shipped("target/release/kernsmith-compiler"))
        common = ["-O2", "-fno-common", "-Wp,-MMD,x.d", *more, "-c", "-o", "x.o", "x.c"]
        return subprocess.run(
            [delegate, self.kbuilds, *WORDS[self.kbuilds], *common], cwd=self.path,
            env={**os.environ, "KERNSMITH_OBJECTS": str(self.rules), "CCACHE_DISABLE": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def says(self) -> str:
        subprocess.run(["gcc", "-no-pie", "-o", "x", "x.o"], cwd=self.path, check=True)
        return subprocess.run(["./x"], cwd=self.path, capture_output=True, text=True).stdout

    def made_by(self) -> str:
        words = ["readelf", "-p", ".comment", "x.o"]
        return subprocess.run(words, cwd=self.path, capture_output=True, text=True).stdout


@pytest.fixture(params=WORDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    return Folder(tmp_path, request.param)


def test_the_other_family_is_told_what_it_knows(folder: Folder) -> None:
    other, mark = ("clang-22", "clang") if folder.kbuilds == "gcc" else ("gcc", "GCC")
    done = folder.compile(other)
    assert done.returncode == 0, done.stderr
    assert mark in folder.made_by()
    assert folder.says() == "42\n"
    assert (folder.path / "x.d").read_text().split()[1:] == ["x.c"]
    assert read_taken(folder.rules) == (Taken("x.o", other),)
    assert not list(folder.path.glob(".x*"))


@needs_tcc
def test_a_compiler_that_kbuild_does_not_know_is_told_what_it_knows(folder: Folder) -> None:
    done = folder.compile("tcc")
    assert done.returncode == 0, done.stderr
    assert "GCC" not in folder.made_by()
    listed = subprocess.run(
        ["readelf", "-rW", "x.o"], cwd=folder.path, capture_output=True, text=True, check=True
    ).stdout
    assert "R_X86_64_PC32" in listed
    assert "GOTPCREL" not in listed, "a kernel has no table of addresses"
    assert folder.says() == "42\n"
    assert "x.c" in (folder.path / "x.d").read_text()


def test_icx_is_told_what_it_knows_beside_clangs_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """clang in its place: what it gets beside clang's words is written down."""
    icx = tmp_path / "bin/icx"
    icx.parent.mkdir()
    icx.write_text(
        '#!/bin/bash\n[ "$1" = --version ] && echo "Intel(R) oneAPI DPC++/C++ Compiler" && exit\n'
        f'echo "$*" > {tmp_path}/told\n'
        'for word; do case "$word" in -fp-model=*) ;; *) words+=("$word") ;; esac; done\n'
        'exec clang-22 "${words[@]}"\n'
    )
    icx.chmod(0o755)
    monkeypatch.setenv("PATH", f"{icx.parent}:{os.environ['PATH']}")
    assert find_other("icx").banner == "Intel(R) oneAPI DPC++/C++ Compiler"
    folder = Folder(tmp_path, "clang-22")
    done = folder.compile("icx")
    assert done.returncode == 0, done.stderr
    assert folder.says() == "42\n"
    told = (tmp_path / "told").read_text().split()
    assert told[0] == "-fp-model=precise"
    assert "-fno-vectorize" in told
    assert "-Werror=unknown-warning-option" not in told
    assert read_taken(folder.rules) == (Taken("x.o", "icx"),)


def test_what_it_cannot_compile_goes_to_the_fallback_with_its_reason(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "gcc")
    (tmp_path / "x.c").write_text(PROGRAM + OF_GCC)
    done = folder.compile("clang-22", "gcc")
    assert done.returncode == 0, done.stderr
    assert folder.says() == "42\n"
    (taken,) = read_taken(folder.rules)
    assert taken.program == "gcc"
    assert "function definition is not allowed here" in taken.reason
    assert by_program([taken]) == {"gcc": 1}
    assert by_reason([taken]) == {"error: function definition is not allowed here": ["x.o"]}


def test_what_the_table_refuses_goes_to_the_fallback_too(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "clang-22")
    done = folder.compile("gcc", "clang-22", "-fprofile-sample-use=/nowhere.afdo")
    assert done.returncode == 1
    assert "neither gcc (-fprofile-sample-use=/nowhere.afdo: the profile is one" in done.stderr
    assert "nor its fallback clang-22 (" in done.stderr


def test_without_a_fallback_the_object_and_the_reason_are_told(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "gcc")
    (tmp_path / "x.c").write_text(PROGRAM + OF_GCC)
    done = folder.compile("clang-22")
    assert done.returncode == 1
    assert "error: x.o: clang-22 cannot compile it (x.c:7:" in done.stderr
    assert done.stderr.endswith("and no fallback is named\n")
    assert not (tmp_path / "x.o").exists()


def test_a_compiler_that_is_not_there_is_told() -> None:
    with pytest.raises(ProgramMissing, match="icx is not installed here"):
        find_other("icx")
    with pytest.raises(KernsmithError, match="gcc-1 is not installed here"):
        find_other("gcc-1")


def test_the_last_word_on_an_object_counts(tmp_path: Path) -> None:
    rules = tmp_path / "x.rules"
    assert read_taken(rules) == ()
    rules.with_suffix(".taken").write_text("b.o\ttcc\t\na.o\tgcc\tx.h:1: error: no\nb.o\tgcc\ty\n")
    assert read_taken(rules) == (Taken("a.o", "gcc", "x.h:1: error: no"), Taken("b.o", "gcc", "y"))


def test_the_command_tells_who_took_what(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "gcc")
    assert folder.compile("clang-22").returncode == 0
    command = [sys.executable, "-m", "kernsmith", "delegate", "report", str(folder.rules)]
    told = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(told)["compilers"] == {"clang-22": 1}
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "clang-22" in shown
