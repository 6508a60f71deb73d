# SPDX-License-Identifier: GPL-2.0-or-later
"""A compiler is its content: one that is built anew, with the same name and version, is another."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernsmith.kernel.compile_cache import through_cache, write_compiler
from kernsmith.kernel.toolchain import default_compiler, find_compiler, find_toolchain
from kernsmith.kernel.toolchain.content import content_digest

# A compiler is looked at once in a process; that a file changes meanwhile is not provided for.
_KEY = """
import sys
from pathlib import Path
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.study import Variant
source = Source("linux", Path("/nowhere"), "7.3", "sha256:0", "x")
variant = Variant("debian:7.3", "micro", compiler=sys.argv[1], linker=sys.argv[2])
recipe = make_recipe(variant, source)
print(recipe.toolchain.compiler.banner, recipe.toolchain.linker.banner)
print(recipe.key)
"""


_ENVIRONMENT = """
from kernsmith.kernel.compile_cache import cache_environment
from kernsmith.kernel.toolchain import find_toolchain
for name, value in cache_environment(find_toolchain("gcc").compilers).items():
    if value:
        print(f"{name}={value}")
"""


def _banners_and_key(compiler: str, linker: str = "", **variables: str) -> list[str]:
    told = subprocess.run(
        [sys.executable, "-c", _KEY, compiler, linker],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.splitlines()


def _executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def _append_byte(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _same_banner_other_key(before: list[str], after: list[str]) -> None:
    assert before[0] == after[0]
    assert before[1] != after[1]


@pytest.mark.usefixtures("cache")
def test_a_compiler_of_the_same_version_and_other_content_gives_another_key(tmp_path: Path) -> None:
    """A copy of clang, then the same file with one byte more, which it does not mind."""
    newest = Path(shutil.which(default_compiler()) or "").resolve()
    clang = tmp_path / "llvm/bin/clang"
    clang.parent.mkdir(parents=True)
    shutil.copy(newest, clang)
    (tmp_path / "llvm/lib").symlink_to(newest.parents[1] / "lib")
    before = _banners_and_key(str(clang))
    assert _banners_and_key(str(clang)) == before
    _append_byte(clang)
    _same_banner_other_key(before, _banners_and_key(str(clang)))


@pytest.mark.usefixtures("cache")
def test_a_script_that_starts_a_compiler_otherwise_gives_another_key(tmp_path: Path) -> None:
    keys = []
    for level in ("-O2", "-O1"):
        text = f'#!/bin/sh\nexec {default_compiler()} {level} "$@"\n'
        keys.append(_banners_and_key(str(_executable(tmp_path / "clang", text))))
    _same_banner_other_key(keys[0], keys[1])


@pytest.mark.usefixtures("cache")
def test_what_a_compiler_starts_is_part_of_it(tmp_path: Path) -> None:
    """gcc's driver stays what it is; its cc1 does not."""
    real = subprocess.run(
        ["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True
    ).stdout.strip()
    keys = []
    for words in ("", "-funroll-loops "):
        _executable(tmp_path / "bin/cc1", f'#!/bin/sh\nexec {real} {words}"$@"\n')
        keys.append(_banners_and_key("gcc", COMPILER_PATH=str(tmp_path / "bin")))
    _same_banner_other_key(keys[0], keys[1])


@pytest.mark.usefixtures("cache")
def test_a_library_that_holds_a_linker_is_part_of_it(tmp_path: Path) -> None:
    shown = subprocess.run(
        ["ldd", str(shutil.which("ld.bfd"))], capture_output=True, text=True, check=True
    ).stdout
    library = next(word for word in shown.split() if word.startswith("/") and "libbfd" in word)
    copy = tmp_path / Path(library).name
    shutil.copy(library, copy)
    before = _banners_and_key("gcc", "bfd", LD_LIBRARY_PATH=str(tmp_path))
    _append_byte(copy)
    after = _banners_and_key("gcc", "bfd", LD_LIBRARY_PATH=str(tmp_path))
    _same_banner_other_key(before, after)


def test_where_a_compiler_lies_is_no_part_of_it(cache: Path) -> None:
    by_name = find_toolchain()
    link = Path(shutil.which(by_name.compiler.program) or "")
    assert find_compiler(str(link.resolve())).content == by_name.compiler.content


def test_a_large_file_is_read_once(cache: Path, tmp_path: Path) -> None:
    """The known SHA-256 of `abc` (FIPS 180-4, appendix B.1); then what is kept is believed."""
    file = tmp_path / "file"
    file.write_text("abc")
    digest = content_digest(file)
    assert digest.startswith("ba7816bf8f01cfea")
    (kept,) = (cache / "digests").iterdir()
    kept.write_text("kept")
    assert content_digest(file) == "kept"
    _append_byte(file)
    assert content_digest(file) not in (digest, "kept")


@pytest.mark.skipif(not shutil.which("ccache"), reason="ccache is not installed")
def test_objects_and_answers_of_another_compiler_are_not_found(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver of both is the same file, so that neither ccache nor the probe sees a change."""
    monkeypatch.setenv("COMPILER_PATH", str(tmp_path / "bin"))
    real = subprocess.run(
        ["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True
    ).stdout.strip()
    tree, output = tmp_path / "tree", tmp_path / "kernel/out"
    tree.mkdir()
    output.mkdir(parents=True)
    (tree / "a.c").write_text("int answer = ANSWER;\n")
    write_compiler(output.parent, tree)
    compiler = shlex.split(through_cache(output.parent, "gcc"))
    for answer in ("41", "42"):
        _executable(tmp_path / "bin/cc1", f'#!/bin/sh\nexec {real} "$@" -DANSWER={answer}\n')
        told = subprocess.run(
            [sys.executable, "-c", _ENVIRONMENT], capture_output=True, text=True, check=True
        ).stdout
        environment = os.environ | {
            name: value for name, _, value in (line.partition("=") for line in told.splitlines())
        }
        for words in (["-Wp,-MMD,a.d", "-c", f"{tree}/a.c", "-S"], ["-S", "-x", "c", "-"]):
            subprocess.run(
                [*compiler, *words, "-o", "a.s"], input="int answer = ANSWER;\n", text=True,
                cwd=output, env=environment, check=True,
            )  # fmt: skip
            assert f".long\t{answer}" in (output / "a.s").read_text()
