# SPDX-License-Identifier: GPL-2.0-or-later
"""Values in clang's profiles, on a small program: as LLVM's own library writes them."""

import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from kernsmith._native import llvm_raw_profile, seen_values, value_functions
from kernsmith.arch import find_arch
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.study.steps.instrumented import KIND

CLANG = find_toolchain()
# Calls through pointers, copies of many lengths, functions with places of both kinds, of one, and
# of none; places at which nothing was seen.
SOURCE = """
    #include <stdlib.h>
    #include <string.h>
    static int twice(int x) { return 2 * x; }
    static int less(int x) { return x - 1; }
    static int zero(int x) { return x & 0; }
    static int (*volatile const table[])(int) = { twice, less, zero };
    char from[4096], to[4096];
    __attribute__((noinline)) int both(int i)
    {
        memcpy(to, from, i * 7 % 1100);
        int sum = table[i % 3](i) + table[i % 7 == 0](i);
        memset(to, i, i % 20);
        return sum;
    }
    __attribute__((noinline)) int one(int i) { return table[2 * (i & 1)](i); }
    __attribute__((noinline)) int none(int i) { return i ^ 1; }
    __attribute__((noinline)) int never(int i) { return table[i](i); }
    int main(int count, char **words)
    {
        int sum = 0;
        for (int i = 0; i < 1000; i++)
            sum += both(i) + one(i) + none(i);
        return count > 5 ? never(sum) : 0;
    }
"""
# Stands for the machine: what the functions are called with, and the counters at the end.
MACHINE = """
    #include <stdio.h>
    #include <stdlib.h>
    static struct { unsigned long value, record, place, count; } seen[4096];
    static void shown(unsigned long value, void *record, unsigned place)
    {
        for (int i = 0; i < 4096; i++) {
            if (seen[i].count && (seen[i].value != value || seen[i].place != place ||
                                  seen[i].record != (unsigned long)record))
                continue;
            seen[i].value = value, seen[i].place = place;
            seen[i].record = (unsigned long)record, seen[i].count++;
            return;
        }
        abort();
    }
    void __llvm_profile_instrument_target(unsigned long value, void *record, unsigned place)
    {
        shown(value, record, place);
    }
    void __llvm_profile_instrument_memop(unsigned long value, void *record, unsigned place)
    {
        shown(value, record, place);
    }
    extern char __start___llvm_prf_cnts[], __stop___llvm_prf_cnts[];
    __attribute__((destructor)) static void end(void)
    {
        FILE *values = fopen("values", "w"), *counters = fopen("counters", "w");
        fprintf(values, "kernsmith-values 1\\n");
        for (int i = 0; i < 4096 && seen[i].count; i++)
            fprintf(values, "%lx %lu %lx %lu\\n", seen[i].record, seen[i].place, seen[i].value,
                    seen[i].count);
        fclose(values);
        fwrite(__start___llvm_prf_cnts, 1, __stop___llvm_prf_cnts - __start___llvm_prf_cnts,
               counters);
        fclose(counters);
    }
"""


def called(folder: Path, *words: str | Path) -> str:
    env = os.environ | {"LLVM_PROFILE_FILE": str(folder / "library.profraw")}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `image`, and what it has left; `library.profraw` of the program by LLVM's library."""
    folder = tmp_path_factory.mktemp("values")
    (folder / "program.c").write_text(SOURCE)
    (folder / "machine.c").write_text(MACHINE)
    assert KIND.instrument
    variables = dict(KIND.instrument("clang", find_arch().target.returns).variables)
    flags = variables["CFLAGS_GCOV"].split()
    clang = CLANG.compiler.program
    called(folder, clang, "-O2", *flags, "-c", "program.c")
    called(folder, clang, "-O2", "-c", "machine.c")
    called(folder, clang, "-no-pie", "-o", "image", "program.o", "machine.o")
    called(folder, folder / "image")
    called(folder, clang, "-O2", "-fprofile-generate", "-o", "library", "program.c")
    called(folder, folder / "library")
    return folder


def shown(folder: Path, profile: str) -> str:
    words = ("--all-functions", "--counts", "--ic-targets", "--memop-sizes")
    return called(folder, CLANG.tool("llvm-profdata"), "show", *words, profile)


def own(folder: Path) -> bytes:
    seen = seen_values((folder / "values").read_text())
    return llvm_raw_profile(folder / "image", (folder / "counters").read_bytes(), seen)


def test_llvm_shows_the_same_values_as_of_the_file_of_its_own_library(folder: Path) -> None:
    (folder / "own.profraw").write_bytes(own(folder))
    lines = shown(folder, "own.profraw").splitlines()
    assert sorted(lines) == sorted(shown(folder, "library.profraw").splitlines())
    text = "\n".join(lines)
    assert "twice" in text and "less" in text and "513" in text


def test_clang_calls_the_most_frequent_function_by_its_name(folder: Path) -> None:
    (folder / "own.profraw").write_bytes(own(folder))
    called(folder, CLANG.tool("llvm-profdata"), "merge", "-o", "own.profdata", "own.profraw")
    told = ("-O2", "-Wall", "-Werror", "-fprofile-use=own.profdata", "-Rpass=pgo-icall-prom")
    clang = CLANG.compiler.program
    done = subprocess.run(
        [clang, *told, "-c", "-o", "used.o", "program.c"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Promote indirect call to" in done.stderr


def test_values_of_functions_that_there_are_not_are_refused(folder: Path) -> None:
    counters = (folder / "counters").read_bytes()
    seen = seen_values((folder / "values").read_text())
    (record, place, value, count), *others = seen
    for wrong in ((record + 8, place, value, count), (0, place, value, count)):
        with pytest.raises(ValueError, match="has no such function"):
            llvm_raw_profile(folder / "image", counters, [wrong, *others])
    with pytest.raises(ValueError, match="has no such place"):
        llvm_raw_profile(folder / "image", counters, [(record, 100, value, count), *others])


def test_the_functions_that_values_are_shown_to_are_known(folder: Path) -> None:
    names = called(folder, CLANG.tool("llvm-nm"), "image").splitlines()
    places = [int(line.split()[0], 16) for line in names if "__llvm_profile_instrument" in line]
    assert value_functions(folder / "image") == sorted(places)


def test_damaged_files_are_read_or_refused_in_a_sentence(folder: Path) -> None:
    text = (folder / "values").read_text()
    random = Random(1)
    refused = 0
    for _ in range(2000):
        bad = list(text[: random.randrange(len(text) + 1)])
        for _ in range(random.randrange(3)):
            if bad:
                bad[random.randrange(len(bad))] = chr(random.randrange(128))
        try:
            seen_values("".join(bad))
        except ValueError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 100
