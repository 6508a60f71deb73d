# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole chain on real kernels: one with counters boots and counts, and is compiled again.

It costs two builds of the micro kernel, some minutes each on two cores: one with counters, and the
objects of one with the profile. An ordinary test run takes part in it when they are there; `make
test-all` builds them.
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_study_run import kernsmith

from kernels import ALL
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.machine import Job
from kernsmith.machine.console import read_console
from kernsmith.machine.protocol import OK
from kernsmith.machine.tcg import open_machine

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("optimize")]

TRAINED = ("file", "fork", "pipe", "select", "tcp-stream")
JUDGED = ("pipe", "fork", "signal")
STUDY = f"""
[source]
use = "debian:7.3"
config = "micro"
[workloads]
use = {list(JUDGED)}
train = {list(TRAINED)}
[factors]
profile = ["none", "instrumented"]
[design]
layouts = 4
"""


@pytest.fixture(scope="module")
def document(micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("instrumented")
    study = folder / "study.toml"
    study.write_text(STUDY)
    plan = json.loads(kernsmith(folder, "plan", str(study), "--json").stdout)
    assert [build["variant"] for build in plan["builds"]] == [
        "profile=none", "instrumented", "profile=instrumented"
    ]  # fmt: skip
    if not os.environ.get(ALL) and not all(build["cached"] for build in plan["builds"]):
        pytest.skip("two kernels are not built yet: it takes minutes, and make test-all does it")
    found: dict[str, Any] = json.loads(kernsmith(folder, "run", str(study), "--json").stdout)
    return found


@pytest.fixture(scope="module")
def kernel(document: dict[str, Any]) -> Kernel:
    names = {each["name"]: each["vmlinux"] for each in document["variants"]}
    return named_kernel(names["profile=instrumented"])


def test_counting_makes_the_kernel_faster(document: dict[str, Any]) -> None:
    assert not document["failures"]
    assert all(run["status"] == "ok" for run in document["runs"])
    (ratio,) = (
        verdict["ratio"]
        for verdict in document["verdicts"]
        if (verdict["metric"], verdict["workload"]) == ("model_cycles", "overall-trained")
    )
    assert ratio < 0.95


def test_clang_says_not_a_word_of_the_profile(kernel: Kernel) -> None:
    log = (kernel.folder / "build.log").read_text(encoding="utf-8", errors="replace")
    warnings = re.findall(r".*\bwarning\b.*", log, re.IGNORECASE)
    # What clang puts aside as cold may have an end that nothing leads to.
    assert not [line for line in warnings if not line.endswith("unreachable instruction")]


def test_objects_of_which_nothing_ran_are_the_baselines(
    kernel: Kernel, micro_kernel: Kernel
) -> None:
    _, *objects = told(kernel, "KERNSMITH_PROFILED_OBJECTS").read_text().splitlines()
    assert "kernel/fork.o" in objects
    assert "arch/x86/boot/main.o" not in objects

    def code(one: Kernel, name: str) -> bytes:
        return (one.output / name).read_bytes()

    assert code(kernel, "kernel/fork.o") != code(micro_kernel, "kernel/fork.o")
    idle = "crypto/twofish_generic.o"
    assert idle not in objects
    assert code(kernel, idle) == code(micro_kernel, idle)


def told(kernel: Kernel, variable: str) -> Path:
    """The file that kbuild was told by a variable."""
    words = (word.partition("=") for word in kernel.provenance["command"])
    (value,) = (value for name, _, value in words if name == variable)
    return Path(value)


def test_values_are_in_the_profile(kernel: Kernel) -> None:
    profile = told(kernel, "KERNSMITH_PROFILE")
    wanted = ("--all-functions", "--ic-targets", "--memop-sizes")
    words = (find_toolchain().tool("llvm-profdata"), "show", *wanted)
    shown = subprocess.run([*words, profile], capture_output=True, text=True, check=True).stdout
    seen = re.findall(r"Total number of sites with values: *(\d+)", shown)
    assert len(seen) == 2 and all(int(number) > 20 for number in seen), shown


def test_a_kernel_with_counters_runs_on_two_processors(kernel: Kernel, tmp_path: Path) -> None:
    """Without the tracer, which follows one: that it boots, and does its work."""
    counting = told(kernel, "KERNSMITH_PROFILE").parent.parent
    machine = open_machine("skylake")
    job = Job(load_catalogue().select(["pipe"])[0], tmp_path)
    words = machine.command(counting / "vmlinux", job, machine.guest.path, {})
    words = words[: words.index("-plugin")]
    # Without ACPI: SeaBIOS's table of processors (MP) has one for each socket.
    words[words.index("-smp") + 1] = "2,sockets=2"
    words[words.index("-append") + 1] += " loglevel=7"
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    assert "smp: Brought up 1 node, 2 CPUs" in done.stdout
    said = read_console(done.stdout)
    assert said.verdict("pipe") == (OK, "")


def test_the_kernel_has_no_counters(kernel: Kernel) -> None:
    assert b"__llvm_prf" not in kernel.vmlinux.read_bytes()
