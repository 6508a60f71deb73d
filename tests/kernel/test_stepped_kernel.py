# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects of a real kernel, compiled anew through steps on their assembly: it boots and works."""

import subprocess
from pathlib import Path

import pytest

from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import Pair
from kernsmith.kernel.object_code import changed_functions
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine
from planted import copied_objects, recompiled

pytestmark = pytest.mark.kernel

OBJECTS = ("fs/pipe.o", "fs/read_write.o")
STEPS = ("pad=7", "no-prefetch", "count-entries")


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
    (some,) = load_catalogue().select(["pipe"])
    ran = run_once(open_machine("skylake"), image, Job(some, tmp_path / "run"))
    assert ran.ok, ran.reason
