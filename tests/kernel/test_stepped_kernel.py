# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects of a real kernel, compiled anew through steps on their assembly: it boots and works."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import Pair
from kernsmith.kernel.object_code import changed_functions
from kernsmith.kernel.taken_objects import read_taken
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine
from planted import copied_objects, recompiled

pytestmark = pytest.mark.kernel

OBJECTS = ("fs/pipe.o", "fs/read_write.o")
STEPS = (
    "pad=7", "no-prefetch", "prefetch=256", "align-loops=32", "count-entries", "align-jumps",
)  # fmt: skip
BY_GCC = ("fs/pipe.o", "mm/slub.o", "kernel/fork.o", "kernel/sched/core.o")
BY_TCC = ("lib/list_sort.o", "lib/cmdline.o")


def test_a_kernel_with_stepped_objects_boots(micro_kernel: Kernel, tmp_path: Path) -> None:
    bad = copied_objects(micro_kernel, tmp_path / "stepped")
    for name in OBJECTS:
        recompiled(micro_kernel, name, bad.output / name, *STEPS)
    pair = Pair(micro_kernel, bad)
    assert set(pair.suspects) == set(OBJECTS)
    changed = changed_functions(micro_kernel.output / "fs/pipe.o", bad.output / "fs/pipe.o")
    assert {"anon_pipe_read", "anon_pipe_write", "pipe_poll"} <= set(changed)
    image = pair.link(OBJECTS, tmp_path / "mixed")
    listed = subprocess.run(
        ["nm", str(image)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "kernsmith_entry.anon_pipe_read" in listed
    assert_pipes(image, tmp_path / "run")


def test_a_kernel_with_objects_of_three_compilers_boots(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    """What TCC cannot compile is the fallback's."""
    bad = copied_objects(micro_kernel, tmp_path / "foreign")
    objects = list(BY_GCC)
    for name in BY_GCC:
        recompiled(micro_kernel, name, bad.output / name, compiler="gcc-12")
    if shutil.which("tcc"):
        objects += BY_TCC
        for name in BY_TCC:
            recompiled(micro_kernel, name, bad.output / name, compiler="tcc", fallback="gcc-12")
        (alone,) = read_taken(bad.output / "lib/list_sort.rules")
        (fallen,) = read_taken(bad.output / "lib/cmdline.rules")
        assert (alone.program, fallen.program) == ("tcc", "gcc-12")
        assert "__builtin_sub_overflow" in fallen.reason
    pair = Pair(micro_kernel, bad)
    assert set(pair.suspects) == set(objects)
    assert_pipes(pair.link(objects, tmp_path / "mixed"), tmp_path / "run")


def assert_pipes(image: Path, folder: Path) -> None:
    """That a kernel boots, and that its pipes do what they shall."""
    (some,) = load_catalogue().select(["pipe"])
    ran = run_once(open_machine("skylake"), image, Job(some, folder))
    assert ran.ok, ran.reason
