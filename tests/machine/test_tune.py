# SPDX-License-Identifier: GPL-2.0-or-later
"""What is set on a machine before it measures, on trees of files as machines have them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernsmith.machine.remote.scripts import MARK, TUNE

CPUS = "sys/devices/system/cpu"
GOVERNORS = {f"{CPUS}/cpu{n}/cpufreq/scaling_governor": "powersave" for n in (0, 1)}
INTEL, AMD = f"{CPUS}/intel_pstate/no_turbo", f"{CPUS}/cpufreq/boost"


def tuned(root: Path, files: dict[str, str], command_line: str) -> dict[str, str]:
    """What the files hold behind it."""
    for name, text in {**files, "proc/cmdline": command_line}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    (root / CPUS).mkdir(parents=True, exist_ok=True)
    subprocess.run(["sh", "-ec", TUNE.format(mark=f"{MARK}b1", root=root)], check=True)
    return {name: (root / name).read_text().strip() for name in files}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({INTEL: "0", AMD: "1"}, {INTEL: "1", AMD: "1"}),
        ({AMD: "1"}, {AMD: "0"}),
        ({}, {}),
    ],
)
def test_a_measured_kernel_has_a_clock_that_stands(
    tmp_path: Path, files: dict[str, str], expected: dict[str, str]
) -> None:
    found = tuned(tmp_path, {**GOVERNORS, **files}, f"root=/dev/vda1 {MARK}b1")
    assert found == {**dict.fromkeys(GOVERNORS, "performance"), **expected}


def test_the_machines_own_kernel_keeps_its_settings(tmp_path: Path) -> None:
    files = {**GOVERNORS, INTEL: "0"}
    assert tuned(tmp_path, files, "root=/dev/vda1 quiet") == files
    assert tuned(tmp_path, files, f"root=/dev/vda1 {MARK}b2") == files
    assert tuned(tmp_path, {}, f"root=/dev/vda1 {MARK}b1") == {}, "a machine without knobs"
