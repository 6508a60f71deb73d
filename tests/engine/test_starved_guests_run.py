# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests without memory and with a full disk: told, recorded, and the study goes on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernsmith.kernel.artifact import Kernel

pytestmark = pytest.mark.kernel

PROGRAM = """
    #include <fcntl.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    static char block[1 << 20];
    int main(int count, char **words)
    {
        int fd = open("/tmp/data", O_WRONLY | O_CREAT, 0600);
        memset(block, 1, sizeof(block));
        if (strcmp(words[1], "full") == 0) {
            while (write(fd, block, sizeof(block)) > 0)
                ;
            perror("/tmp/data");
            return 1;
        }
        for (;;)
            memcpy(malloc(sizeof(block)), block, sizeof(block));
    }
"""
STUDY = """
[source]
use = "debian:7.3"
config = "micro"
options = { AUTOFDO_CLANG = "y" }
[workloads]
use = ["hungry.toml", "full.toml", "pipe"]
[design]
layouts = 0
"""


def test_what_starves_is_told_and_the_rest_is_measured(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    (tmp_path / "starved.c").write_text(PROGRAM)
    command = ["gcc", "-static", "-w", "-o", str(tmp_path / "starved"), str(tmp_path / "starved.c")]
    subprocess.run(command, check=True)
    for name in ("hungry", "full"):
        table = f'name = "{name}"\nprogram = "starved"\narguments = ["{name}"]\n'
        (tmp_path / f"{name}.toml").write_text(table)
    (tmp_path / "study.toml").write_text(STUDY)
    words = ["run", "study.toml", "--ledger", f"sqlite:///{tmp_path}/ledger.sqlite", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "kernsmith", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert {run["workload"]: run["status"] for run in document["runs"]} == {
        "hungry": "failed", "full": "failed", "pipe": "ok",
    }  # fmt: skip
    hungry, full = sorted(document["failures"], key=lambda each: "full" in each)
    assert (
        "the program was killed by signal 9: the guest had no memory left, and its kernel "
        in hungry
    )
    assert "; the console's last lines: Out of memory: Killed process " in hungry
    assert full.endswith("; the console's last lines: /tmp/data: No space left on device")
