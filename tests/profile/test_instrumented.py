# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of counters, on a small program: as the compiler's own library writes them."""

import os
import re
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from damaged import read_or_refused

from kernsmith._native import counted, counters_span, llvm_raw_profile
from kernsmith.arch import find_arch
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.profile import find_profile_maker
from kernsmith.profile.counters import Counters, counter_words
from kernsmith.profile.instrumented import counted_objects, make_profdata
from kernsmith.study.steps.instrumented import KIND

CLANG = find_toolchain()
BUILD_ID = "ab12"
SOURCE = """
    int even(int x) { return x % 2 ? 0 : x; }
    static __attribute__((noinline)) int twice(int x) { return x > 90 ? x : 2 * x; }
    int never(int x) { return x + 1; }
    int main(void)
    {
        int sum = 0;
        for (int i = 0; i < 100; i++)
            sum += even(i) + twice(i);
        return sum == 1;
    }
"""
HEADER = 16 * 8
SECTION = "__llvm_prf_cnts"


def called(*words: str | Path, **environment: str) -> str:
    env = os.environ | environment
    done = subprocess.run(
        [str(w) for w in words], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a program `vmlinux` that has counters, and `default.profraw` of a run of it."""
    folder = tmp_path_factory.mktemp("counting")
    (folder / "program.c").write_text(SOURCE)
    assert KIND.instrument
    flags = dict(KIND.instrument("clang", find_arch().target.returns).variables)[
        "CFLAGS_GCOV"
    ].split()
    image = folder / "vmlinux"
    called(CLANG.compiler.program, "-O2", *flags, "-no-pie", "-o", image, folder / "program.c")
    called(image, LLVM_PROFILE_FILE=str(folder / "default.profraw"))
    return folder


@pytest.fixture(scope="module")
def kernel(folder: Path) -> Kernel:
    return Kernel("0" * 64, folder, {"build_id": BUILD_ID, "variant": {}})


@pytest.fixture(scope="module")
def memory(folder: Path) -> bytes:
    """The counters as the run-time library has written them."""
    raw = (folder / "default.profraw").read_bytes()
    _, _, ids, records, before, number = struct.unpack_from("<6Q", raw)
    start = HEADER + ids + 64 * records + before
    return raw[start : start + 8 * number]


@pytest.fixture(scope="module")
def counters(kernel: Kernel, memory: bytes) -> Counters:
    start, end = counters_span(kernel.vmlinux)
    assert end - start == len(memory)
    return Counters(start, counter_words(memory), BUILD_ID, ("program",))


def write_map(folder: Path, start: int, *inputs: tuple[str, str, int]) -> None:
    """A linker's map of sections of so many bytes: as lld writes it."""
    lines = ["             VMA              LMA     Size Align Out     In      Symbol"]
    for name, section, size in inputs:
        lines.append(f"{start:16x} {start:16x} {size:8x}     8         {name}:({section})")
        start += size
    (folder / "link.map").write_text("\n".join([*lines, ""]))


def shown(profile: Path) -> str:
    return called(CLANG.tool("llvm-profdata"), "show", "--all-functions", "--counts", profile)


def test_llvm_shows_the_same_as_of_the_file_of_its_own_library(
    folder: Path, kernel: Kernel, memory: bytes, tmp_path: Path
) -> None:
    profile = tmp_path / "own.profraw"
    profile.write_bytes(llvm_raw_profile(kernel.vmlinux, memory))
    assert shown(profile) == shown(folder / "default.profraw")
    assert "twice" in shown(profile) and "100" in shown(profile)


def test_what_was_counted_is_the_difference_of_two_looks(kernel: Kernel, memory: bytes) -> None:
    now = counter_words(memory)
    before = now // 3
    difference = counted(kernel.vmlinux, before.tobytes() + now.tobytes())
    assert np.array_equal(counter_words(difference), now - before)


def test_clang_takes_the_profile_without_a_word_and_knows_what_never_ran(
    kernel: Kernel, counters: Counters, folder: Path, tmp_path: Path
) -> None:
    # Counters of functions that were inlined, or never ran, come first.
    ran = int(np.flatnonzero(counters.words)[0])
    cut = 8 * ran, 8 * (len(counters.words) - ran)
    idle, counting = ("vmlinux.a(fs/idle.o)", SECTION, cut[0]), ("fs/ran.o", SECTION, cut[1])
    write_map(folder, counters.start, idle, counting)
    maker = find_profile_maker("instrumented")
    cold, plain, objects = maker.make(counters, kernel, CLANG, tmp_path / "trained")
    words, *names = objects.read_text().splitlines()
    assert names == ["fs/ran.o"]

    def never_ran(*told: str | Path) -> str:
        """What clang makes of the function that never ran, from the section that it is in on."""
        text = tmp_path / "program.s"
        words = ("-O2", "-Wall", "-Werror", *told, "-S", "-o", text, folder / "program.c")
        called(CLANG.compiler.program, *words)
        before, behind = text.read_text().split("\nnever:", 1)
        section = re.findall(r"^\s*\.(?:section\s+)?(\.?text\S*)", before, re.MULTILINE)[-1]
        return f"{section}\n{behind.split('.Lfunc_end')[0]}"

    assert never_ran(*words.split(), f"-fprofile-use={cold}").startswith(".text.unlikely")
    as_without = never_ran(*words.split())
    assert never_ran(*words.split(), f"-fprofile-use={plain}") == as_without
    assert as_without.startswith("text\n")


def test_where_the_map_tells_of_no_object_all_with_counters_take_the_profile(
    kernel: Kernel, counters: Counters, folder: Path
) -> None:
    write_map(folder, counters.start, ("vmlinux.o", SECTION, 8 * len(counters.words)))
    (folder / "out/fs").mkdir(parents=True)
    (folder / "out/fs/.ran.o.cmd").write_text("clang -O2 -fprofile-generate -c -o fs/ran.o x.c")
    (folder / "out/fs/.idle.o.cmd").write_text("clang -O2 -c -o fs/idle.o x.c")
    assert counted_objects(counters, kernel) == ["fs/ran.o"]


def test_counters_of_other_kernels_and_none_are_refused(
    kernel: Kernel, counters: Counters, tmp_path: Path
) -> None:
    def refused(given: Counters) -> str:
        with pytest.raises(UserError) as error:
            make_profdata(given, kernel, CLANG, tmp_path / "x.instrumented")
        return str(error.value)

    assert "are of another kernel: its build id is cd34" in refused(
        replace(counters, build_id="cd34")
    )
    assert "nothing was counted" in refused(replace(counters, words=counters.words * np.uint64(0)))
    assert "bytes of counters" in refused(replace(counters, words=counters.words[1:]))
    assert list(tmp_path.iterdir()) == []


def test_images_without_usable_counters_are_refused_in_a_sentence(
    kernel: Kernel, folder: Path, tmp_path: Path
) -> None:
    def refused(image: Path) -> str:
        with pytest.raises(ValueError) as error:
            counters_span(image)
        return str(error.value)

    plain = tmp_path / "plain"
    called(CLANG.compiler.program, "-o", plain, folder / "program.c")
    assert "-fprofile-generate" in refused(plain)
    assert "cannot be read" in refused(tmp_path / "nothing")
    assert "no usable ELF file" in refused(folder / "program.c")


def test_a_users_profile_is_one_of_llvm_profdata(
    kernel: Kernel, counters: Counters, folder: Path, tmp_path: Path
) -> None:
    write_map(folder, counters.start, ("vmlinux.a(fs/any.o)", ".text", 8))
    maker = find_profile_maker("instrumented")
    given = make_profdata(counters, kernel, CLANG, tmp_path / "x.profdata")
    profile, seen, objects = maker.usable((given,), kernel, CLANG, tmp_path / "given")
    words, *names = objects.read_text().splitlines()
    assert (profile, names) == (given, ["fs/any.o"])
    assert "never" in shown(profile) and "never" not in shown(seen)
    # Another program's control flow is left alone, without a word.
    other = tmp_path / "other.c"
    other.write_text(SOURCE.replace("x + 1", "x > 3 ? x : 2"))
    told = ("-O2", *words.split(), "-Wall", "-Werror", f"-fprofile-use={profile}")
    called(CLANG.compiler.program, *told, "-S", "-o", tmp_path / "other.s", other)
    given.write_text("nothing")
    with pytest.raises(UserError, match="not a usable profile of llvm-profdata"):
        maker.usable((given,), kernel, CLANG, tmp_path / "given")


def test_damaged_images_are_read_or_refused_in_a_sentence(
    kernel: Kernel, folder: Path, tmp_path: Path
) -> None:
    # A record begins with the hashes of a function's name and of its control flow.
    raw = (folder / "default.profraw").read_bytes()
    ids = struct.unpack_from("<3Q", raw)[2]
    places = (b"__llvm_prf_data", b"__llvm_prf_cnts", raw[HEADER + ids :][:16])
    assert read_or_refused(kernel.vmlinux, places, llvm_raw_profile, tmp_path) > 100
