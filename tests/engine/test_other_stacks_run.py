# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of other kinds on real kernels: Propeller behind counters, distributed ThinLTO and full
LTO, and the best order of functions behind counters.

Each costs one or two whole builds of the micro kernel. An ordinary test run takes part in those
that are there; `make test-all` builds them.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from test_study_run import kernsmith

from kernels import ALL
from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.symbols import movable_functions, read_system_map
from kernsmith.study.steps import find_step_kind

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("optimize")]

STACKS = (
    "instrumented+propeller",
    "instrumented+layout",
    "autofdo+thinlto-dist+propeller",
    "autofdo+full-lto+propeller",
)
STUDY = """
[source]
use = "debian:7.3"
config = "micro"
[workloads]
use = ["pipe", "fork", "signal"]
train = ["file", "fork", "pipe", "select", "tcp-stream"]
[factors]
profile = ["none", "{}"]
[design]
layouts = 2
"""


@pytest.fixture(scope="module", params=STACKS)
def stack(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def document(
    stack: str, micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("stack")
    study = folder / "study.toml"
    study.write_text(STUDY.format(stack))
    plan = json.loads(kernsmith(folder, "plan", str(study), "--json").stdout)
    if not os.environ.get(ALL) and not all(build["cached"] for build in plan["builds"]):
        pytest.skip(f"{stack} is not built yet: it takes minutes, and make test-all does it")
    found: dict[str, Any] = json.loads(kernsmith(folder, "run", str(study), "--json").stdout)
    return found


@pytest.fixture(scope="module")
def kernel(stack: str, document: dict[str, Any]) -> Kernel:
    vmlinux = {each["name"]: each["vmlinux"] for each in document["variants"]}
    return named_kernel(vmlinux[f"profile={stack}"])


def test_the_stack_is_built_boots_and_gains(document: dict[str, Any]) -> None:
    assert not document["failures"]
    assert all(run["status"] == "ok" for run in document["runs"])
    (ratio,) = (
        verdict["ratio"]
        for verdict in document["verdicts"]
        if (verdict["metric"], verdict["workload"]) == ("model_cycles", "overall-trained")
    )
    assert ratio < 0.9


def test_neither_compiler_nor_linker_says_a_word(kernel: Kernel) -> None:
    log = (kernel.folder / "build.log").read_text(encoding="utf-8", errors="replace")
    warnings = re.findall(r".*\bwarning\b.*", log, re.IGNORECASE)
    # objtool reads machine code, not profiles; the other is of the kernel's script for LTO.
    known = ("objtool: ", "Unable to reopen jobserver")
    assert [line for line in warnings if not any(words in line for words in known)] == []


def test_the_kernel_is_linked_in_the_order_that_its_last_step_found(
    stack: str, kernel: Kernel
) -> None:
    kind = find_step_kind(stack.rpartition("+")[2])
    assert kind.symbol_order is not None
    symbols = read_system_map(kernel.system_map)
    address = {symbol.name: symbol.address for symbol in symbols}
    movable = set(movable_functions(symbols))
    named = [name for name in kernel.order if name in movable]
    assert len(named) > 100
    assert address[named[0]] < address[named[-1]]
    if not kind.relinks:
        assert sum(name.endswith(".cold") for name in address) > 300


def test_the_profiles_are_files_of_this_stack(stack: str, kernel: Kernel) -> None:
    """Each step that is trained has left a profile, and it is where the build has looked."""
    told = " ".join(kernel.provenance["command"])
    kinds = [find_step_kind(name) for name in stack.split("+")]
    for kind in kinds:
        if kind.trained and kind.compiles:
            files = tuple(f"FILE{suffix}" for suffix in kind.suffixes)
            for variable, _ in kind.make_variables(files):
                (value,) = re.findall(rf"\b{variable}=(\S+)", told)
                assert list(Path(value).parent.glob(f"{Path(value).name}*")), value
