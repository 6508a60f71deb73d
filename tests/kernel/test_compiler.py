# SPDX-License-Identifier: GPL-2.0-or-later
"""One cache for all revisions: the same file in two trees is compiled once."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from kernsmith.kernel.compile_cache import cache_environment
from kernsmith.kernel.compiler import through_cache, without_cache, write_compiler

pytestmark = pytest.mark.skipif(not shutil.which("ccache"), reason="there is no ccache")


def _compile(folder: Path, tree: Path, cache: Path) -> bytes:
    output = folder / "out"
    output.mkdir(parents=True)
    (tree / "kernel").mkdir(parents=True)
    (tree / "include").mkdir()
    (tree / "kernel/a.c").write_text("#include <x.h>\nconst char *f(void) { return __FILE__; }\n")
    (tree / "include/x.h").write_text("extern int x;\n")
    write_compiler(folder, tree)
    words = [
        *shlex.split(through_cache(folder, "cc")), "-g", f"-I{tree}/include",
        f"-ffile-prefix-map={output}=.", f"-ffile-prefix-map={tree}/=",
        "-Wp,-MMD,a.d", "-c", "-o", "a.o", f"{tree}/kernel/a.c",
    ]  # fmt: skip
    env = {"CCACHE_DIR": str(cache), "CCACHE_NOHASHDIR": "1", "PATH": "/usr/bin:/bin"}
    subprocess.run(words, cwd=output, env=env, check=True)
    assert (output / "a.d").read_text().split() == [
        "a.o:", "../source/kernel/a.c", "../source/include/x.h"
    ]  # fmt: skip
    return (output / "a.o").read_bytes()


def test_an_object_of_another_tree_comes_from_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "ccache"
    one = _compile(tmp_path / "one", tmp_path / "trees/first", cache)
    other = _compile(tmp_path / "other", tmp_path / "trees/second", cache)
    assert one == other
    assert str(tmp_path).encode() not in one
    told = subprocess.run(
        ["ccache", "--print-stats"], env={"CCACHE_DIR": str(cache)}, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert re.search(r"^direct_cache_hit\t1$", told, re.MULTILINE), told


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("blob.S", '.incbin "blob"\n'),
        ("blob.c", 'asm(".incbin \\"blob\\"");\n'),
    ],
)
def test_what_is_brought_in_by_incbin_is_always_the_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, alone: bool
) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    output, tree = tmp_path / "kernel/out", tmp_path / "tree"
    output.mkdir(parents=True)
    tree.mkdir()
    (tree / name).write_text(text)
    write_compiler(output.parent, tree)
    settings = {key: value for key, value in cache_environment(alone=alone).items() if value}
    words = [*shlex.split(through_cache(output.parent, "cc")), "-Wp,-MMD,a.d", "-c", "-o", "a.o"]
    for blob in (b"the first one", b"another one"):
        (output / "blob").write_bytes(blob)
        subprocess.run(
            [*words, f"{tree}/{name}"], cwd=output, env=os.environ | settings, check=True
        )
        assert blob in (output / "a.o").read_bytes()


def test_the_compiler_alone() -> None:
    assert without_cache("/a/kernels/b/compiler clang-22") == "clang-22"
    assert without_cache("ccache gcc -m64") == "gcc -m64"
    assert without_cache("gcc -m64") == "gcc -m64"
