# SPDX-License-Identifier: GPL-2.0-or-later
"""Ctrl-C while kernels boot: the command is gone at once, and the same command goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine.tcg import QEMU

pytestmark = pytest.mark.kernel

STUDY = """
[source]
use = "debian:7.3"
config = "micro"
options = { AUTOFDO_CLANG = "y" }
[workloads]
use = ["pipe", "fork"]
[design]
layouts = 0
replicates = 2
"""


def test_ctrl_c_ends_running_boots_and_the_study_goes_on(
    micro_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emulator that hangs as long as a file is there; a boot's time limit is 300 s."""
    hanging, booting = tmp_path / "hanging", tmp_path / "booting"
    emulator = tmp_path / "bin" / QEMU
    emulator.parent.mkdir()
    emulator.write_text(
        "#!/bin/sh\n"
        f'case "$*" in --version) ;; *) echo $$ > {booting}; [ -e {hanging} ] && exec sleep 600;; '
        f'esac\nexec {process.find(QEMU)} "$@"\n'
    )
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", str(emulator.parent), prepend=":")
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    ledger = f"sqlite:///{tmp_path}/ledger.sqlite"
    words = [sys.executable, "-m", "kernsmith", "run", str(study), "--ledger", ledger, "--json"]
    hanging.touch()
    command = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not booting.exists() or not booting.read_text():
        assert command.poll() is None, "the study ended before it booted"
        time.sleep(0.05)
    os.kill(command.pid, signal.SIGINT)
    _, said = command.communicate(timeout=60)
    assert command.returncode == 130
    assert b"the same command goes on from here" in said
    assert not Path(f"/proc/{booting.read_text().strip()}").exists()

    hanging.unlink()
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert [run["status"] for run in runs] == ["ok"] * 4
    # Replicates on an exact machine are one trial, which runs once.
    assert len({run["trial"] for run in runs}) == 2
