# SPDX-License-Identifier: GPL-2.0-or-later
"""Oracles on real kernels: a miscompilation that no workload meets is found by a unit test, and its
object by blame.

The twins are two builds of the micro kernel: `make test-all` makes them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernels import ALL
from kernsmith.kernel.artifact import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("optimize")]

# Of the integer square root, the first conditional jump is inverted: it returns what it was given.
STUDY = """
[source]
use = "debian:7.3"
config = "micro"
[workloads]
use = ["pipe"]
[[objects]]
name = "planted"
match = ["lib/math/int_sqrt.o"]
steps = ["swap-comparison=int_sqrt"]
[factors]
objects = ["none", "planted"]
[design]
layouts = 0
"""


def kernsmith(folder: Path, *words: str, expect: int = 0) -> dict[str, Any]:
    """What a command prints as JSON."""
    command = [sys.executable, "-m", "kernsmith", *words, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == expect, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


@pytest.fixture(scope="module")
def folder(micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not os.environ.get(ALL):
        pytest.skip("kernels with unit tests take minutes each, and make test-all builds them")
    folder = tmp_path_factory.mktemp("verify")
    (folder / "study.toml").write_text(STUDY)
    return folder


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, Any]:
    told = kernsmith(folder, "verify", "study.toml", expect=1)
    return {answer["variant"]: answer for answer in told["answers"]}


def test_the_baseline_passes_its_tests(answers: dict[str, Any]) -> None:
    baseline = answers["objects=none"]
    assert not baseline["reason"]
    assert not baseline["new"]
    assert baseline["passed"] > 400


def test_a_miscompiled_function_fails_its_test(answers: dict[str, Any]) -> None:
    planted = answers["objects=planted"]
    assert planted["new"]
    assert all("sqrt" in fault["name"] for fault in planted["new"])


def test_blame_finds_the_object(folder: Path, answers: dict[str, Any]) -> None:
    good, bad = (answers[f"objects={name}"]["kernel"] for name in ("none", "planted"))
    (blamed,) = kernsmith(folder, "blame", "--good", good, "--bad", bad, "--test", "kunit")[
        "blamed"
    ]
    assert blamed["object"] == "lib/math/int_sqrt.o"
    assert "int_sqrt" in blamed["functions"]
