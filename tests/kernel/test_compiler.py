# SPDX-License-Identifier: GPL-2.0-or-later
"""The same file in two trees is compiled once, and a compiler is asked nothing twice."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from kernsmith.kernel.compile_cache import (
    cache_environment,
    through_cache,
    without_cache,
    write_compiler,
)

needs_ccache = pytest.mark.skipif(not shutil.which("ccache"), reason="there is no ccache")

# Starts the real compiler, and writes a line each time.
COUNTING = """\
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int log = open(LOG, O_WRONLY | O_APPEND | O_CREAT, 0600);
	if (argc < 1 || write(log, "x", 1) != 1)
		return 3;
	close(log);
	argv[0] = "cc";
	return execvp("cc", argv);
}
"""


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


@needs_ccache
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


@needs_ccache
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
    settings = {key: value for key, value in cache_environment("cc", alone=alone).items() if value}
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


class Kernel:
    """The folder of a kernel, with a compiler that counts how often it is started."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        self.log = folder / "started"
        self.counting = folder / "counting-cc"
        (self.folder / "out").mkdir(parents=True)
        write_compiler(self.folder, folder / "trees" / name)
        if not self.counting.exists():
            build = ["cc", f'-DLOG="{self.log}"', "-x", "c", "-", "-o", str(self.counting)]
            subprocess.run(build, input=COUNTING, text=True, check=True)
            self.log.touch()
        self.environment = {
            "PATH": "/usr/bin:/bin", "CCACHE_DISABLE": "1", "KERNSMITH_PROBES": str(folder / "kept")
        }  # fmt: skip

    def ask(self, *words: str, text: str = "") -> tuple[int, str, str, int]:
        """Exit code, output, error output, and how often the compiler was started for it."""
        before = self.log.stat().st_size
        done = subprocess.run(
            [*shlex.split(through_cache(self.folder, str(self.counting))), *words], input=text,
            cwd=self.folder / "out", env=self.environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        started = self.log.stat().st_size - before
        return done.returncode, done.stdout, done.stderr, started


@pytest.mark.parametrize(
    ("words", "text", "code"),
    [
        (("-Werror", "-march=x86-64-v2", "-c", "-x", "c", "/dev/null", "-o", "a.o"), "", 0),
        (("-Werror", "-march=no-such-cpu", "-c", "-x", "c", "/dev/null", "-o", "a.o"), "", 1),
        (("-E", "-P", "-x", "c", "-"), "__GNUC__\n", 0),
        (("-c", "-x", "assembler", "-o", "/dev/null", "-"), "no such instruction\n", 1),
        (("--version",), "", 0),
    ],
)
def test_a_compiler_is_asked_once(
    tmp_path: Path, words: tuple[str, ...], text: str, code: int
) -> None:
    first = Kernel(tmp_path, "first").ask(*words, text=text)
    other = Kernel(tmp_path, "other")
    again = other.ask(*words, text=text)
    assert first[0] == code
    assert first[:3] == again[:3]
    assert (first[3], again[3]) == (1, 0)
    assert (other.folder / "out/a.o").exists() == ("a.o" in words and code == 0)
    objects = [tmp_path / name / "out/a.o" for name in ("first", "other")]
    if "a.o" in words and code == 0:
        assert objects[0].read_bytes() == objects[1].read_bytes()


def test_paths_of_the_kernel_make_no_other_question(tmp_path: Path) -> None:
    words = ("-c", "-x", "c", "/dev/null", "-o", "/dev/null")
    for name, started in (("first", 1), ("other", 0)):
        kernel = Kernel(tmp_path, name)
        paths = [f"-I{tmp_path}/trees/{name}/include", f"-ffile-prefix-map={kernel.folder}/out=."]
        assert kernel.ask(*paths, *words)[3] == started


@pytest.mark.parametrize(
    "other",
    [
        ("-O2", "-c", "-x", "c", "/dev/null", "-o", "/dev/null"),
        ("-E", "-x", "c", "/dev/null", "-o", "/dev/null"),
        ("-c", "-x", "c", "-", "-o", "/dev/null"),
    ],
)
def test_another_question_is_asked(tmp_path: Path, other: tuple[str, ...]) -> None:
    kernel = Kernel(tmp_path, "one")
    assert kernel.ask("-c", "-x", "c", "/dev/null", "-o", "/dev/null")[3] == 1
    assert kernel.ask(*other)[3] == 1


def test_another_compiler_is_asked(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, "one")
    words = ("-c", "-x", "c", "/dev/null", "-o", "/dev/null")
    assert kernel.ask(*words)[3] == 1
    os.utime(kernel.counting)
    assert kernel.ask(*words)[3] == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-c", "-x", "c", "given.c", "-o", "/dev/null"), ""),
        (("-c", "-include", "given.c", "-x", "c", "/dev/null", "-o", "/dev/null"), ""),
        (("-E", "-"), '#include "given.c"\n'),
        (("-march=native", "-E", "-x", "c", "/dev/null"), ""),
        (("-x", "c", "-", "-o", "linked"), "int main(void) { return 0; }\n"),
    ],
)
def test_what_depends_on_more_is_always_asked(
    tmp_path: Path, words: tuple[str, ...], text: str
) -> None:
    kernel = Kernel(tmp_path, "one")
    (kernel.folder / "out/given.c").write_text("int x;\n")
    for _ in range(2):
        code, *_, started = kernel.ask(*words, text=text)
        assert (code, started) == (0, 1)


@pytest.mark.parametrize("nowhere", ["/dev/full", "missing/a.i"])
def test_a_failure_of_the_host_is_no_answer(tmp_path: Path, nowhere: str) -> None:
    kernel = Kernel(tmp_path, "one")
    words = ("-E", "-P", "-x", "c", "-", "-o")
    code, _, error, started = kernel.ask(*words, nowhere, text="int x;\n")
    assert (code, started) == (1, 1), error
    assert kernel.ask(*words, "a.i", text="int x;\n")[::3] == (0, 1)
    assert (kernel.folder / "out/a.i").read_text() == "int x;\n"


def test_a_damaged_answer_is_no_answer(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, "one")
    words = ("-E", "-P", "-x", "c", "-")
    first = kernel.ask(*words, text="__GNUC__\n")
    (kept,) = (tmp_path / "kept").iterdir()
    whole = kept.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40], whole + b"x", bytes(len(whole)), b"\xff" * 64):
        kept.write_bytes(damaged)
        assert kernel.ask(*words, text="__GNUC__\n") == first


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, "one")
    del kernel.environment["KERNSMITH_PROBES"]
    assert [kernel.ask("--version")[3] for _ in range(2)] == [1, 1]
