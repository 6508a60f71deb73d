# SPDX-License-Identifier: GPL-2.0-or-later
"""An object that costs more on purpose is found among others on a real kernel, with its share."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernels import ALL
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import objects_of
from kernsmith.kernel.provenance import write_provenance
from planted import copied_objects, recompiled

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("blame")]

SLOWER = "fs/pipe.o"
"""Each of its functions counts how often it is called: what a pipe costs most in is all here."""


def test_an_object_that_costs_more_is_found(micro_kernel: Kernel, tmp_path: Path) -> None:
    if not os.environ.get(ALL):
        pytest.skip("make test-all has it: five links, and a boot and replays of each")
    bad = copied_objects(micro_kernel, tmp_path / "bad")
    for name in objects_of(micro_kernel):
        if name.startswith("fs/"):  # one byte that no linker reads
            with (bad.output / name).open("ab") as file:
                file.write(b"\0")
    recompiled(micro_kernel, SLOWER, bad.output / SLOWER, "count-entries")
    (bad.folder / "vmlinux").write_text("never looked at")
    write_provenance(bad.folder, bad.provenance)
    words = ["--good", micro_kernel.key, "--bad", str(bad.folder), "--test", "pipe"]
    command = [
        sys.executable, "-m", "kernsmith", "blame", *words, "--metric", "kernel_instructions",
        "--top", "1", "--cpu", "skylake", "--layouts", "4", "-o", str(tmp_path / "found"), "--json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (top,) = found["top"]
    assert top["object"] == SLOWER
    assert top["significant"]
    # What is expected of all objects together is what the whole was measured to be.
    assert top["expected"] + found["unchanged"] == pytest.approx(found["whole"]["change"], abs=1e-3)
    assert top["functions"][0]["name"].startswith("anon_pipe_")
    # Instructions do not depend on where functions lie: nothing else differs.
    assert top["change"] == pytest.approx(found["whole"]["change"])
    assert found["together"]["change"] == pytest.approx(found["whole"]["change"])
    assert all(each["change"] is None or abs(each["change"]) < 1e-9 for each in found["others"])
