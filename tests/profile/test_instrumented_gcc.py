# SPDX-License-Identifier: GPL-2.0-or-later
"""gcc's files of counters, on a small program: as gcc's own library writes them."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from damaged import read_or_refused

from kernsmith._native import counted, counters_span, gcov_files, llvm_raw_profile
from kernsmith.arch import find_arch
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.compile_cache import through_cache, write_compiler
from kernsmith.kernel.toolchain import GCC, find_toolchain, installed_compilers
from kernsmith.profile import find_profile_maker
from kernsmith.profile.counters import Counters, counter_words
from kernsmith.study.steps.instrumented import KIND

USABLE = [
    each for each in installed_compilers() if each.family == GCC and each.version >= KIND.oldest_gcc
]
pytestmark = pytest.mark.skipif(not USABLE, reason="there is no gcc that is new enough")
# Writes its own memory from one address to another when all else is done.
SOURCE = """
    #include <stdlib.h>
    #include <unistd.h>
    int even(int x) { return x % 2 ? 0 : x; }
    static __attribute__((noinline)) int twice(int x) { return x > 90 ? x : 2 * x; }
    int never(int x) { return x + 1; }
    static unsigned long start, end;
    static __attribute__((no_profile_instrument_function)) void out(void)
    {
        if (write(1, (void *)start, end - start) < 0)
            _exit(1);
    }
    int main(int count, char **words)
    {
        int sum = 0;
        start = strtoul(words[1], 0, 0);
        end = strtoul(words[2], 0, 0);
        for (int i = 0; i < 100; i++)
            sum += even(i) + twice(i);
        return atexit(out) || sum == 1;
    }
"""
BUILD_ID = "ab12"


def called(*words: str | Path, cwd: Path) -> bytes:
    done = subprocess.run([str(w) for w in words], capture_output=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def dumped(file: Path) -> list[str]:
    """A file of counters as gcov shows it, without what tells two objects apart."""
    gcov = USABLE[0].program.replace("gcc", "gcov-dump")
    lines = called(gcov, "-l", file, cwd=file.parent).decode().splitlines()
    shown = [line.partition(":")[2].replace(" (all zero)", "") for line in lines]
    shown = [line for line in shown if not re.match("stamp|checksum", line)]
    # Lengths are negative where all counters are zero.
    return [re.sub(r": +-?(\d+):", r": \1:", line) for line in shown]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """A program with counters, and `own.gcda` of a run by gcc's own library."""
    folder = tmp_path_factory.mktemp("counting")
    output, tree = folder / "out", folder / "tree"
    for place in (output, tree):
        (place / "fs").mkdir(parents=True)
    (tree / "fs/ran.c").write_text(SOURCE)
    (tree / "stub.c").write_text("void __gcov_merge_add(void) { }\n")
    write_compiler(folder, tree)
    gcc = USABLE[0].program
    assert KIND.instrument
    flags = dict(KIND.instrument(GCC, find_arch().target.returns).variables)["CFLAGS_GCOV"].split()
    library = [flag for flag in flags if flag != "-fprofile-info-section"]
    called(*compiled(folder, *library), cwd=output)
    called(gcc, "-no-pie", "-fprofile-arcs", "-o", folder / "own", "fs/ran.o", cwd=output)
    called(folder / "own", "0", "0", cwd=output)
    (output / "fs/ran.gcda").rename(folder / "own.gcda")
    called(*compiled(folder, *flags), cwd=output)
    called(gcc, "-no-pie", "-o", folder / "vmlinux", "fs/ran.o", tree / "stub.c", cwd=output)
    return Kernel("0" * 64, folder, {"build_id": BUILD_ID, "variant": {}})


def compiled(folder: Path, *flags: str) -> list[str | Path]:
    """As kbuild compiles an object of a kernel in a folder."""
    compiler = through_cache(folder, USABLE[0].program).split()
    told = ("-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wmissing-profile", *flags)
    return [*compiler, *told, "-c", "-o", "fs/ran.o", folder / "tree/fs/ran.c"]


@pytest.fixture(scope="module")
def counters(kernel: Kernel) -> Counters:
    start, end = counters_span(kernel.vmlinux)
    after = called(kernel.vmlinux, str(start), str(end), cwd=kernel.folder)
    words = counter_words(counted(kernel.vmlinux, bytes(len(after)) + after))
    return Counters(start, words, BUILD_ID, ("program",))


def test_gcov_shows_the_same_as_of_the_file_of_its_own_library(
    kernel: Kernel, counters: Counters, tmp_path: Path
) -> None:
    ((name, content),) = gcov_files(kernel.vmlinux, counters.words.tobytes())
    assert name.endswith("/out/fs/ran.gcda")
    file = tmp_path / "ran.gcda"
    file.write_bytes(content)
    assert dumped(file) == dumped(kernel.folder / "own.gcda")
    assert " 100 91" in "\n".join(dumped(file))


def test_gcc_takes_its_file_through_kbuilds_compiler_without_a_word(
    kernel: Kernel, counters: Counters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = find_toolchain(USABLE[0].name)
    maker = find_profile_maker("instrumented")
    cold, plain, objects = maker.make(counters, kernel, toolchain, tmp_path / "trained")
    words, *names = objects.read_text().splitlines()
    assert (words, names) == ("-fprofile-correction -Wno-missing-profile", ["fs/ran.o"])
    monkeypatch.setenv("KERNSMITH_PROFILED_OBJECTS", str(objects))
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    output = kernel.output

    def section_of(function: str, profile: Path) -> str:
        monkeypatch.setenv("KERNSMITH_PROFILE", str(profile))
        quiet = "-Wno-missing-profile" if profile == plain else "-Wmissing-profile"
        called(*compiled(kernel.folder, quiet), cwd=output)
        listed = called("objdump", "-t", "fs/ran.o", cwd=output).decode()
        (line,) = (line for line in listed.splitlines() if line.endswith(f" {function}"))
        return re.findall(r"\.text\S*", line)[0]

    assert section_of("twice", cold) == section_of("twice", plain) == ".text.hot"
    assert section_of("never", cold) == ".text.unlikely"
    assert section_of("never", plain) == ".text"


def test_counters_that_are_not_gccs_or_none_are_refused(
    kernel: Kernel, counters: Counters, tmp_path: Path
) -> None:
    memory = counters.words.tobytes()
    for call, given, said in (
        (llvm_raw_profile, memory, "its counters are those of gcc, not clang"),
        (gcov_files, memory[8:], "they are of another kernel"),
        (counted, memory, "they are of another kernel"),
    ):
        with pytest.raises(ValueError, match=said):
            call(kernel.vmlinux, given)
    assert gcov_files(kernel.vmlinux, bytes(len(memory))) == []
    maker, toolchain = find_profile_maker("instrumented"), find_toolchain(USABLE[0].name)
    nothing = Counters(counters.start, counters.words * np.uint64(0), BUILD_ID)
    with pytest.raises(UserError, match="nothing was counted"):
        maker.make(nothing, kernel, toolchain, tmp_path / "x")
    with pytest.raises(UserError, match="let kernsmith train"):
        maker.usable((tmp_path / "x",), kernel, toolchain, tmp_path / "y")


def test_damaged_images_are_read_or_refused_in_a_sentence(kernel: Kernel, tmp_path: Path) -> None:
    start, _ = counters_span(kernel.vmlinux)
    # Pointers to functions' counters stand in their records.
    places = (b"/out/fs/ran.gcda", b"B22*"[::-1], start.to_bytes(8, "little"), b".gcov_info")
    assert read_or_refused(kernel.vmlinux, places, gcov_files, tmp_path) > 100
