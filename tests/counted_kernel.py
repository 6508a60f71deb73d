# SPDX-License-Identifier: GPL-2.0-or-later
"""A small kernel with inlined functions, and counts that are of it."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from kernsmith.profile import BranchCounts
from perf_files import TEXT, build_id

HEADER = """
static inline __attribute__((always_inline)) long twice(long n)
{
	if (n < 0)
		n = -n * 3;
	return n * 2 + 7;
}
"""

SOURCE = """
#include "twice.h"
static inline __attribute__((always_inline)) long outer(long n)
{
	long sum = n;
	sum ^= twice(n >> 3);
	return sum;
}

__attribute__((noinline)) long leaf(long n)
{
	return outer(n) / 3;
}

__attribute__((noinline)) long never(long n)
{
	return twice(n) + 1;
}

long _start(long n)
{
	long sum = 0;
	while (n-- > 0) {
		sum += leaf(n) & 15;
		if (n == 12345)
			sum += never(n);
		sum += outer(sum);
	}
	return sum + twice(sum);
}
"""

ASSEMBLY = """
	.globl {name}
	.type {name}, @function
{name}:
	lock incl (%rdi)
	nop
	ret
	.size {name}, . - {name}
	.data
	.long 1
	.section .note.GNU-stack, "", @progbits
"""


def make_counted_kernel(folder: Path, compiler: str = "gcc", *flags: str) -> Path:
    """Its `vmlinux`: kernel/main.c and include/twice.h, and assembly with and without lines."""
    (folder / "kernel").mkdir()
    (folder / "include").mkdir()
    (folder / "kernel/main.c").write_text(SOURCE)
    (folder / "include/twice.h").write_text(HEADER)
    (folder / "kernel/lined.s").write_text(ASSEMBLY.format(name="lined"))
    (folder / "bare.s").write_text(ASSEMBLY.format(name="bare"))
    subprocess.run([compiler, "-c", "-o", "bare.o", "bare.s"], check=True, cwd=folder)
    words = [compiler, "-O2", "-g", "-nostdlib", "-static", "-fno-pie", "-mcmodel=kernel"]
    words += ["-fno-asynchronous-unwind-tables", "-Iinclude"]
    words += [f"-ffile-prefix-map={folder}=.", "-Wl,--build-id=sha1", f"-Wl,-Ttext={TEXT:#x}"]
    words += [*flags, "-o", "vmlinux", "kernel/main.c", "kernel/lined.s", "bare.o"]
    subprocess.run(words, check=True, cwd=folder)
    return folder / "vmlinux"


def functions(vmlinux: Path) -> dict[str, list[int]]:
    """Addresses of the instructions of each function, without what fills the room behind it."""
    words = ["objdump", "-d", "--no-show-raw-insn", "--section=.text", str(vmlinux)]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    fields = [line.split(":\t")[0].strip() for line in told.splitlines() if ":\t" in line]
    everything = [int(field, 16) for field in fields]
    words = ["nm", "--print-size", "--defined-only", str(vmlinux)]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    sized = [line.split() for line in told.splitlines() if len(line.split()) == 4]
    spans = {name: (int(at, 16), int(at, 16) + int(size, 16)) for at, size, _, name in sized}
    return {
        name: [at for at in everything if begin <= at < end]
        for name, (begin, end) in sorted(spans.items(), key=lambda span: span[1])
    }


def random_counts(vmlinux: Path, seed: int) -> BranchCounts:
    """Ranges from instruction to instruction of a function, some within others."""
    draw = random.Random(seed)
    inside = list(functions(vmlinux).values())
    ranges = {}
    for _ in range(draw.randrange(1, 12)):
        at = draw.choice(inside)
        first = draw.randrange(len(at))
        last = draw.randrange(first, len(at))
        ranges[at[first], at[last]] = draw.randrange(1, 1000)
    return BranchCounts(ranges, {}, build_id(vmlinux), ("one", "two"))
